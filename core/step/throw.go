package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// throw lets a throw or end event happen.
func (r *run) throw(t *tok) {
	n := t.node
	if len(n.Inputs) > 0 && t.inner == nil {
		r.open(t.scope, t, token.ActivityScope, n)
		r.inputs(t)
	}
	if n.Reply != nil {
		r.reply(n.Reply, t.local(), n)
	}
	if n.Task == nil && len(n.Outputs) > 0 {
		r.outputs(t, nil)
	}
	if n.Event == nil || n.Event.Kind == bpmn.Message || n.Event.Kind == bpmn.Link {
		r.throwMessage(t)
		return
	}
	ev := &Event{Code: r.text(n.Event.Code, t.local(), nil, n), Message: r.text(n.Event.Says, t.local(), nil, n), Payload: r.inputsOf(t)}
	switch n.Event.Kind {
	case bpmn.Signal:
		r.signal(t, ev)
	case bpmn.Error:
		r.raise(t, ev)
	case bpmn.Escalation:
		r.escalate(t, ev)
	case bpmn.Compensation:
		r.compensate(t)
	case bpmn.Cancel:
		r.cancelTransaction(t)
	case bpmn.Terminate:
		r.killOthers(t.scope, t)
		r.leave(t)
	default:
		r.fail(fault.Internal, n, "a %s event cannot be thrown", n.Event.Kind)
	}
}

// throwMessage sends, or hands the event to a worker; one without a message only passes.
func (r *run) throwMessage(t *tok) {
	if t.node.Task != nil {
		t.state = token.Active
		r.external(t)
		return
	}
	if t.node.Send != nil {
		r.send(t.node.Send, t)
	}
	r.leave(t)
}

// inputsOf is what an event or call takes along: its mapped inputs, or nothing.
func (r *run) inputsOf(t *tok) feel.Value {
	if t.inner == nil || len(t.node.Inputs) == 0 {
		return nil
	}
	return t.inner.variables
}

// catcher is what catches an error or escalation: a boundary event of an activity's token, or an event sub-process of a scope.
type catcher struct {
	node  *bpmn.Node // the boundary event, or the start event of the event sub-process
	token *tok
	scope *scope
}

// search looks outward from a token for what catches a code: the boundary of the activity itself, then for each scope its event
// sub-processes and the boundary of its activity; an exact code before one that catches all. Never the handler it comes from, nor an
// event sub-process of an interrupted scope.
func (r *run) search(kind bpmn.EventKind, code string, t *tok) *catcher {
	if t.node.Kind.IsActivity() && !t.round() {
		if b := matching(t.node.Boundaries, kind, code); b != nil {
			return &catcher{node: b, token: t}
		}
	}
	for c := t.scope; c != nil; {
		if found := r.searchScope(kind, code, c, t); found != nil {
			return found
		}
		t = c.owner
		if t == nil { // an iteration belongs to its body's token
			if c = c.parent; c == nil {
				return nil
			}
			continue
		}
		c = t.scope
		if throw := r.throwOf(t); throw != nil {
			t, c = throw, throw.scope
		}
	}
	return nil
}

func (r *run) searchScope(kind bpmn.EventKind, code string, c *scope, from *tok) *catcher {
	if c.inside != nil && !c.interrupted {
		var starts []*bpmn.Node
		for _, n := range c.inside.Events {
			if n != from.node {
				starts = append(starts, n.Inner.Start)
			}
		}
		if s := matching(starts, kind, code); s != nil {
			return &catcher{node: s, scope: c}
		}
	}
	if t := c.owner; t != nil && t.undo == 0 && !t.round() {
		if b := matching(t.node.Boundaries, kind, code); b != nil {
			return &catcher{node: b, token: t}
		}
	}
	return nil
}

// throwOf is the event that waits for the compensation of which t is a handler: errors of the handler are thrown there.
func (r *run) throwOf(t *tok) *tok {
	for t != nil && t.undo != 0 {
		at := slices.IndexFunc(r.undoing, func(u *token.Undoing) bool { return u.ID == t.undo })
		if at < 0 {
			return nil
		}
		t = r.tokenByID(r.undoing[at].Token)
		if t != nil && t.state == token.Throw {
			return t
		}
	}
	return nil
}

func matching(catchers []*bpmn.Node, kind bpmn.EventKind, code string) *bpmn.Node {
	var all *bpmn.Node
	for _, n := range catchers {
		if n == nil || n.Event == nil || n.Event.Kind != kind {
			continue
		}
		if n.Event.Code == nil {
			all = n
		} else if n.Event.Code.Literal == code {
			return n
		}
	}
	return all
}

// handle lets a catcher take what was thrown.
func (r *run) handle(c *catcher, ev *Event) {
	if c.token != nil {
		r.fireBoundary(c.token, c.node, nil, ev)
	} else {
		r.fireEventProcess(c.scope, c.node, nil, ev)
	}
}

// raise throws a BPMN error at a token. Nobody catches it: a child reports it when some caller would catch it, else the instance is
// FAILED in place.
func (r *run) raise(t *tok, ev *Event) {
	r.note("error "+ev.Code, t.node, t.id)
	if c := r.search(bpmn.Error, ev.Code, t); c != nil {
		r.handle(c, ev)
		return
	}
	if p := r.head.Parent; p != nil && (p.CatchAny || slices.Contains(p.Catches, ev.Code)) {
		r.report(ports.KindChildError, ev)
		r.end(ports.Errored)
		return
	}
	r.fail(fault.ErrorUncaught, t.node, "nothing catches the error %q%s", ev.Code, because(ev.Message))
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// escalate throws an escalation. A thrower that is not interrupted goes on at once.
func (r *run) escalate(t *tok, ev *Event) {
	r.note("escalation "+ev.Code, t.node, t.id)
	if c := r.search(bpmn.Escalation, ev.Code, t); c != nil {
		r.handle(c, ev)
	} else if r.head.Parent != nil {
		r.report(ports.KindChildEscalation, ev)
	}
	if !t.dead {
		r.leave(t)
	}
}

// signal serves the waits of this instance that were armed before the throw, in this very step, and leaves the rest to a fan-out.
func (r *run) signal(t *tok, ev *Event) {
	name := r.text(t.node.Event.Name, t.local(), nil, t.node)
	r.broadcast(name, ev.Payload)
	for _, w := range slices.Clone(r.waits) {
		if !w.dead && w.Kind == ports.WaitSignal && w.Name == name {
			r.fire(w, ev)
		}
	}
	if !t.dead {
		r.leave(t)
	}
}
