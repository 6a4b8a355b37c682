package step

import (
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// call starts a child instance, by delivery, and waits for it.
func (r *run) call(t *tok) {
	id, found := r.callee(t)
	if !found {
		return
	}
	if r.p.Processes[id] == nil && id != r.g.ID {
		r.fail(fault.CallTargetUnknown, t.node, "the archive has no process %q to call", id)
		return
	}
	parent := r.parentOf(t)
	if parent.Depth > r.limits.Calls {
		r.fail(fault.CallLimit, t.node, "processes call one another more than %d deep", r.limits.Calls)
		return
	}
	w := r.await(ports.WaitCall, t.node, t, nil)
	w.Child, parent.Wait = r.derive(), ports.WaitID(w.ID)
	m := r.delivery(ports.KindChildStart, w.Child, 0, Event{Kind: KindChildStart, Process: id, Payload: r.passed(t), Parent: parent})
	m.Event = ChildStart(r.ref.Tenant, w.Child).Event
	r.effects.deliveries = append(r.effects.deliveries, m)
}

// ChildStart names the delivery that starts a called instance.
func ChildStart(tenant string, child ports.InstanceID) ports.InboxRef {
	key := ports.NewKey(tenant, ports.DeliveryChannel, "child-start", child.String())
	return ports.InboxRef{Tenant: tenant, Channel: ports.DeliveryChannel, Event: key}
}

// callee chooses the process to call; a dispatch may match nothing.
func (r *run) callee(t *tok) (string, bool) {
	call := t.node.Call
	for _, k := range call.Cases {
		if r.holds(k.When, t.local(), nil, t.node) {
			return k.Process, true
		}
	}
	if call.Process != nil {
		id := r.text(call.Process, t.local(), nil, t.node)
		if id == "" {
			r.fail(fault.CallTargetUnknown, t.node, "the called process of %q is null", t.node.ID)
		}
		return id, id != ""
	}
	if call.OnNoMatch == "skip" {
		r.finish(t, nil)
	} else {
		r.raise(t, &Event{Code: string(fault.DispatchNoMatch), Message: "no case of the dispatch is true"})
	}
	return "", false
}

// passed is what the child gets: all that is visible, or the mapped inputs alone.
func (r *run) passed(t *tok) feel.Context {
	if t.node.Call.AllIn {
		return visible(t.local())
	}
	return maps.Clone(r.taken(t))
}

// parentOf is what the child has to know: who called, which errors some caller would catch, and which variables it wants back.
func (r *run) parentOf(t *tok) *Parent {
	p := &Parent{Parent: ports.Parent{Instance: r.ref.ID, Root: r.ref.ID}, Depth: 1}
	if up := r.head.Parent; up != nil {
		p.Root, p.Depth, p.CatchAny, p.Catches = up.Root, up.Depth+1, up.CatchAny, slices.Clone(up.Catches)
	}
	for _, n := range r.g.Nodes {
		if n.Event == nil || n.Event.Kind != bpmn.Error || n.Kind == bpmn.EndEvent {
			continue
		}
		if n.Event.Code == nil {
			p.CatchAny = p.CatchAny || r.search(bpmn.Error, "", t) != nil
		} else if code := n.Event.Code.Literal; r.search(bpmn.Error, code, t) != nil {
			p.Catches = append(p.Catches, code)
		}
	}
	slices.Sort(p.Catches)
	p.Catches = slices.Compact(p.Catches)
	p.WantAll = len(t.node.Outputs) == 0 || t.node.Call.AllOut
	for _, m := range t.node.Outputs {
		if m.Expr != nil {
			p.Wants = append(p.Wants, m.Expr.Names()...)
		}
	}
	slices.Sort(p.Wants)
	p.Wants = slices.Compact(p.Wants)
	return p
}

// childDone takes a child's result.
func (r *run) childDone(w *wait, ev *Event) {
	t := w.token
	if t.node.Call.AllOut && len(t.node.Outputs) > 0 {
		r.merge(ev.Payload, "result", func(name string, v feel.Value) { r.write(t.scope, name, v) })
	}
	r.finish(t, ev.Payload)
}

// childEscalated lets an escalation of a child happen at the call: caught, or passed on outward.
func (r *run) childEscalated(w *wait, ev *Event) {
	t := w.token
	r.note("escalation "+ev.Code, t.node, t.id)
	if c := r.search(bpmn.Escalation, ev.Code, t); c != nil {
		r.handle(c, ev)
	} else if r.head.Parent != nil {
		r.report(ports.KindChildEscalation, ev)
	}
}

// cancelCalled tells a called child that nobody waits for it any more. A child that has not started yet never does.
func (r *run) cancelCalled(w *wait) {
	if w.Child.IsZero() {
		return
	}
	before := len(r.effects.deliveries)
	r.effects.deliveries = slices.DeleteFunc(r.effects.deliveries, func(m ports.Message) bool {
		return m.Kind == ports.KindChildStart && m.Target == w.Child
	})
	if len(r.effects.deliveries) < before {
		return // it was to start in this very step
	}
	r.effects.void = append(r.effects.void, ChildStart(r.ref.Tenant, w.Child))
	r.deliver(ports.KindChildCancel, w.Child, 0, Event{Kind: KindCancel})
}

// report tells the caller.
func (r *run) report(kind ports.MessageKind, ev *Event) {
	p := r.head.Parent
	r.deliver(kind, p.Instance, ports.WaitID(p.Wait), Event{
		Kind: EventKind(kind), Code: ev.Code, Message: ev.Message, Payload: ev.Payload,
	})
}

// reportDone gives the caller the variables it wants.
func (r *run) reportDone() {
	p := r.head.Parent
	if p == nil {
		return
	}
	result := feel.Context{}
	for name, v := range r.root.variables {
		if !r.transient(name) && (p.WantAll || slices.Contains(p.Wants, name)) {
			result[name] = v
		}
	}
	r.report(ports.KindChildDone, &Event{Payload: result})
}
