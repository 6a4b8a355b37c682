package step

import (
	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
)

// caught are the kinds of events that a wait stands for.
var caught = map[bpmn.EventKind]ports.WaitKind{
	bpmn.Message: ports.WaitMessage, bpmn.Signal: ports.WaitSignal, bpmn.Timer: ports.WaitTimer, bpmn.Conditional: token.Condition,
}

// watch arms a wait for the event of a node, owned by a token, or by a scope for its event sub-process.
func (r *run) watch(n *bpmn.Node, t *tok, c *scope) *wait {
	kind := caught[n.Event.Kind]
	if kind == "" {
		return nil // errors, escalations, cancels and compensations come from inside: they are searched for, not waited for
	}
	w := r.await(kind, n, t, c)
	switch kind {
	case ports.WaitMessage:
		r.watchMessage(w)
	case ports.WaitSignal:
		w.Name = r.text(n.Event.Name, w.home(), nil, n)
	case ports.WaitTimer:
		r.watchTimer(w)
	case token.Condition:
		r.fresh, r.conditional = append(r.fresh, w), r.conditional+1
	}
	return w
}

// await makes a wait.
func (r *run) await(kind ports.WaitKind, n *bpmn.Node, t *tok, c *scope) *wait {
	w := &wait{Wait: token.Wait{ID: r.id(), Node: n.ID, Kind: kind}, token: t, scope: c, node: n}
	if t != nil {
		w.Token = t.id
		t.waits = append(t.waits, w)
	} else {
		w.Scope = c.id
		c.waits = append(c.waits, w)
	}
	r.waits = append(r.waits, w)
	return w
}

// arm arms the boundary events of an activity.
func (r *run) arm(t *tok) {
	for _, b := range t.node.Boundaries {
		r.watch(b, t, nil)
	}
}

// armEventProcesses arms the event sub-processes of a scope.
func (r *run) armEventProcesses(c *scope) {
	for _, n := range c.inside.Events {
		if n.Inner.Start != nil && n.Inner.Start.Event != nil {
			r.watch(n.Inner.Start, nil, c)
		}
	}
}

// catch parks a token at a catch event.
func (r *run) catch(t *tok) {
	if t.node.Event.Kind == bpmn.Link {
		r.leave(t)
		return
	}
	t.state = token.Catch
	r.watch(t.node, t, nil)
}

// eventGate arms all targets of an event gateway as one group.
func (r *run) eventGate(t *tok) {
	t.state = token.Gateway
	for _, f := range t.node.Out {
		if w := r.watch(f.To, t, nil); w != nil {
			w.Group = t.id
		}
	}
}

// fire lets the event of a wait happen: at a catch event, an event gateway, a receiving task, a boundary or an event sub-process.
func (r *run) fire(w *wait, ev *Event) {
	switch {
	case erring(w.node, ev):
		r.invalid(w, ev)
	case w.token == nil:
		r.fireEventProcess(w.scope, w.node, w, ev)
	case w.node.Kind == bpmn.BoundaryEvent:
		r.fireBoundary(w.token, w.node, w, ev)
	case w.Group != 0:
		t := w.token
		r.disarm(&t.waits)
		t.node, t.flow, t.state = w.node, flowBetween(t.node, w.node), 0
		r.arrive(t, ev)
	default:
		r.disarm(&w.token.waits)
		r.arrive(w.token, ev)
	}
}

func flowBetween(from, to *bpmn.Node) *bpmn.Flow {
	for _, f := range from.Out {
		if f.To == to {
			return f
		}
	}
	return nil
}

// arrive lets a token go on from the event that it waited for.
func (r *run) arrive(t *tok, ev *Event) {
	if !t.node.Kind.IsActivity() {
		r.received(t.node, t.scope, ev)
		r.depart(t)
		return
	}
	result := r.brought(t.node, ev)
	if t.node.Source != nil && len(t.node.Outputs) == 0 {
		r.merge(result, "payload", func(name string, v feel.Value) { r.assign(t.scope, name, v) })
		result = nil
	}
	r.finish(t, result)
}

// fireBoundary leaves an activity by a boundary event. Interrupting, it kills the activity; else the activity stays. The wait is nil
// for events that were thrown inside.
func (r *run) fireBoundary(t *tok, b *bpmn.Node, w *wait, ev *Event) {
	out := r.spawn(t.scope, b)
	if b.Interrupting {
		r.kill(t)
	} else if w != nil {
		r.again(w)
	}
	r.received(b, out.scope, ev)
}

// fireEventProcess starts an event sub-process in its scope. Interrupting, it kills all else in the scope and disarms the scope's
// event sub-processes; the boundaries of the scope's activity stay armed.
func (r *run) fireEventProcess(c *scope, start *bpmn.Node, w *wait, ev *Event) {
	n := start.Scope.Node
	owner := r.place(c, n)
	owner.state = token.Active
	if start.Interrupting {
		c.interrupted = true
		r.killOthers(c, owner)
	} else if w != nil {
		r.again(w)
	}
	inner := r.open(c, owner, token.EventScope, n)
	for _, name := range inner.inside.Objects {
		r.declare(inner, name, nil)
	}
	r.inputs(owner)
	r.receivedIn(start, inner, ev)
	r.armEventProcesses(inner)
	r.spawn(inner, start)
}

// again re-arms what fires more than once. Messages and signals stay as they are, a timer by its cycle.
func (r *run) again(w *wait) {
	if w.Kind != ports.WaitTimer {
		return
	}
	next := r.nextOf(w)
	r.unwait(w)
	if next == nil {
		return
	}
	x := r.await(ports.WaitTimer, w.node, w.token, w.scope)
	x.Due, x.Anchor, x.Period, x.Fired, x.Left = next.Due, next.Anchor, next.Period, next.Fired, next.Left
}

// received writes what an event brings: by the outputs of its node, or the one variable of q:source into the flow scope itself, or
// as it is from the flow scope outward.
func (r *run) received(n *bpmn.Node, c *scope, ev *Event) {
	write := func(name string, v feel.Value) { r.write(c, name, v) }
	if n != nil && n.Source != nil && len(n.Outputs) == 0 {
		write = func(name string, v feel.Value) { r.assign(c, name, v) }
	}
	r.bring(n, ev, c, write)
}

// receivedIn writes what an event brings into the scope of its event sub-process.
func (r *run) receivedIn(n *bpmn.Node, c *scope, ev *Event) {
	r.bring(n, ev, c, func(name string, v feel.Value) { r.assign(c, name, v) })
}

func (r *run) bring(n *bpmn.Node, ev *Event, c *scope, write func(name string, v feel.Value)) {
	if ev == nil {
		ev = &Event{} // a timer or condition brings nothing, and may map outputs all the same
	}
	brought := r.brought(n, ev)
	if n == nil || len(n.Outputs) == 0 {
		r.merge(brought, "payload", write)
		return
	}
	extra, isContext := brought.(feel.Context)
	if !isContext && brought != nil {
		extra = feel.Context{"payload": brought}
	}
	for _, m := range n.Outputs {
		write(m.Target, r.value(m, c, extra, n))
	}
}

// brought is what an event gives: its payload under the name of q:source, or as it is; of an error or escalation the code, the
// message and the data.
func (r *run) brought(n *bpmn.Node, ev *Event) feel.Value {
	if n != nil && n.Source != nil {
		out := feel.Context{n.Source.Name: ev.Payload}
		if n.Source.OnValidation == "route" {
			out[violations] = wrongs(ev)
		}
		return out
	}
	if ev.Code == "" || n == nil || n.Event == nil || n.Event.Kind != bpmn.Error && n.Event.Kind != bpmn.Escalation {
		return ev.Payload
	}
	out := feel.Context{"code": feel.String(ev.Code), "message": feel.String(ev.Message), "data": ev.Payload}
	if n.Event.CodeTo != "" {
		out[n.Event.CodeTo] = feel.String(ev.Code)
	}
	if n.Event.MessageTo != "" {
		out[n.Event.MessageTo] = feel.String(ev.Message)
	}
	return out
}
