package migrate

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// token rewrites a token, whose scope has a place.
func (m *move) token(t *token.Token) {
	p := m.scopes[t.Scope]
	if p == nil {
		return // said already
	}
	was, n := m.from.Process.Node(t.Node), m.node(t.Node)
	if was.Kind != bpmn.EventProcess {
		p.running++
	}
	if t.Inner != 0 && m.scopes[t.Inner] == nil {
		return // said of its scope
	}
	switch {
	case n == nil:
		m.known(t.Node)
		return
	case n.Scope != p.new:
		m.violate(fault.MigrateScope, t.Node, "%q stands in another scope of the new model", n.ID)
		return
	case t.State == token.Join && (n.Kind != was.Kind):
		m.violate(fault.MigrateFlow, t.Node, "a token waits to be joined, and %q is a %s now, no %s", n.ID, n.Kind, was.Kind)
		return
	case t.State == token.Gateway && n.Kind != bpmn.EventGate:
		m.violate(fault.MigrateGroup, t.Node, "it waits for one of several events, and %q is a %s now", n.ID, n.Kind)
		return
	case t.State == token.Active && n.Loop != nil && was.Loop == nil:
		m.violate(fault.MigrateScope, t.Node, "%q runs, and has become a loop", n.ID)
		return
	case n.Kind.IsActivity() != was.Kind.IsActivity(), (n.Kind == bpmn.EventProcess) != (was.Kind == bpmn.EventProcess):
		m.violate(fault.MigrateKind, t.Node, "what was a %s is a %s now", was.Kind, n.Kind)
		return
	}
	out := *t
	out.Node, out.Flow = n.ID, ""
	if f := m.flow(t.Flow, n); f != nil {
		out.Flow = f.ID
	}
	if t.State == token.Join && out.Flow == "" {
		m.violate(fault.MigrateFlow, t.Node, "a token waits that came by flow %q, and no one flow into %q of the new model is that flow; map it", t.Flow, n.ID)
		return
	}
	m.now.Tokens = append(m.now.Tokens, out)
	m.tokens[t.ID] = &out
}

// joins looks at gateways that hold tokens: two flows must not become one, and a parallel one asks only when a token arrives.
func (m *move) joins() {
	type gate struct {
		scope token.ID
		node  string
	}
	held := map[gate]map[string]string{} // new flow → old
	for i := range m.old.Tokens {
		t := &m.old.Tokens[i]
		now := m.tokens[t.ID]
		if t.State != token.Join || now == nil {
			continue
		}
		at := gate{t.Scope, now.Node}
		if held[at] == nil {
			held[at] = map[string]string{}
		}
		if was, taken := held[at][now.Flow]; taken && was != t.Flow {
			m.violate(fault.MigrateFlow, t.Node, "tokens wait that came by %q and by %q, and both are flow %q of the new model", was, t.Flow, now.Flow)
			continue
		}
		held[at][now.Flow] = t.Flow
		if n := m.to.Process.Node(now.Node); n.Kind == bpmn.Parallel && len(held[at]) == len(n.In) {
			m.violate(fault.MigrateFlow, t.Node, "every flow into %q of the new model holds a token already, so no token would ever come to release them", n.ID)
		}
	}
}

// wait rewrites a wait. One that its token stands for has to stay what it is; a branch, a boundary event or an event sub-process may
// have gone.
func (m *move) wait(w *token.Wait) {
	p, t := m.scopes[w.Scope], m.tokens[w.Token]
	if p == nil && t == nil {
		return // said already, of what it belongs to
	}
	was, n := m.from.Process.Node(w.Node), m.node(w.Node)
	switch {
	case t == nil:
		m.optional(w, was, n, n != nil && n.Scope.Node != nil && slices.Contains(p.new.Events, n.Scope.Node) && n.Scope.Start == n, "event sub-process")
	case was.Kind == bpmn.BoundaryEvent:
		m.optional(w, was, n, n != nil && n.Host != nil && n.Host.ID == t.Node, "boundary event")
	case w.Group != 0:
		m.optional(w, was, n, n != nil && follows(m.to.Process.Node(t.Node), n), "branch")
	default:
		m.own(w, t, was, m.to.Process.Node(t.Node))
	}
}

func follows(gate, n *bpmn.Node) bool {
	return slices.ContainsFunc(gate.Out, func(f *bpmn.Flow) bool { return f.To == n })
}

// optional keeps a wait whose event has its place in the new model, and drops it otherwise.
func (m *move) optional(w *token.Wait, was, n *bpmn.Node, placed bool, what string) {
	if !placed || kindOf(m.to, n) != w.Kind || m.waits(w.Token, w.Scope, n.ID) {
		m.note("the %s %q is gone: nothing waits for it any more", what, w.Node)
		return
	}
	m.stay(w, was, n)
}

// waits says that something waits for this event already: two of the old model may be one of the new.
func (m *move) waits(t, scope token.ID, node string) bool {
	return slices.ContainsFunc(m.now.Waits, func(w token.Wait) bool { return w.Token == t && w.Scope == scope && w.Node == node })
}

// own keeps the wait that a token stands for.
func (m *move) own(w *token.Wait, t *token.Token, was, n *bpmn.Node) {
	switch {
	case w.Kind == ports.WaitRetry:
		m.retry(w, t, was, n)
		return
	case w.Kind == ports.WaitTimer && was.Kind.IsActivity(): // how long a call over a channel may take
		if n.Timeout == nil {
			m.note("the call of %q has no time limit any more", w.Node)
			return
		}
		m.stay(w, was, n)
		return
	case kindOf(m.to, n) != w.Kind, !w.Child.IsZero() != (n.Call != nil):
		m.violate(fault.MigrateKind, w.Node, "it waits for a %s, and %q of the new model waits for %s", says(w.Kind, was), n.ID, waitsFor(m.to, n))
		return
	case slices.Contains(m.facts.Starting, w.Child):
		m.violate(fault.MigrateStarting, w.Node, "the process that %q calls has not started yet, and starts by the old revision; send it again", w.Node)
		return
	}
	if w.Kind == ports.WaitTask && m.retopic(w, was, n) {
		return
	}
	m.stay(w, was, n)
}

func says(kind ports.WaitKind, n *bpmn.Node) string {
	if n.Call != nil {
		return "called process"
	}
	return string(kind)
}

func waitsFor(p *step.Program, n *bpmn.Node) string {
	kind := kindOf(p, n)
	if kind == "" {
		return "nothing"
	}
	return "a " + says(kind, n)
}

// retopic says that a task cannot get the topic it has in the new model: a worker has it, or has completed it.
func (m *move) retopic(w *token.Wait, was, n *bpmn.Node) bool {
	old, now := topic(was.Task), topic(n.Task)
	switch {
	case sameText(old, now):
		return false
	case slices.Contains(m.facts.Locked, w.Task):
		m.violate(fault.MigrateLocked, w.Node, "a worker has the task %s, and its topic changes; wait until it is given back", w.Task)
		return true
	case slices.Contains(m.facts.Ending, w.Task):
		m.violate(fault.MigrateEnding, w.Node, "the task %s has been completed, and the completion is on its way; send it again", w.Task)
		return true
	}
	return false
}

// topic is what a task's topic is made from: over a pull channel, the channel's name.
func topic(t *bpmn.Task) *bpmn.Text {
	if t.How == bpmn.Channel {
		return &bpmn.Text{Literal: t.Channel}
	}
	return t.Topic
}

// retry keeps the pause before another attempt of a call.
func (m *move) retry(w *token.Wait, t *token.Token, was, n *bpmn.Node) {
	if n.Retry == nil || kindOf(m.to, n) != ports.WaitCall || n.Call != nil {
		m.violate(fault.MigrateRetry, w.Node, "it pauses before another attempt, and %q of the new model makes one attempt alone; give it its q:retry back", n.ID)
		return
	}
	m.stay(w, was, n)
	if t.Tries >= int64(n.Retry.MaxAttempts) {
		m.note("%q has made %d attempts, and the new model allows %d: it is due at once", w.Node, t.Tries, n.Retry.MaxAttempts)
		m.again = append(m.again, w.ID)
	}
}

// stay takes a wait into the new snapshot, to be computed anew where the model says something else than it did.
func (m *move) stay(w *token.Wait, was, n *bpmn.Node) {
	out := *w
	out.Node = n.ID
	m.now.Waits = append(m.now.Waits, out)
	if !m.same(w, was, n) {
		m.again = append(m.again, w.ID)
	}
}

// same says that what a wait was computed from is as it was.
func (m *move) same(w *token.Wait, was, n *bpmn.Node) bool {
	switch w.Kind {
	case ports.WaitMessage:
		if was.Source != nil || n.Source != nil {
			return was.Source != nil && n.Source != nil && was.Source.Channel == n.Source.Channel
		}
		return sameText(was.Event.Name, n.Event.Name) && sameExpression(was.Event.Key, n.Event.Key)
	case ports.WaitSignal:
		return sameText(was.Event.Name, n.Event.Name)
	case ports.WaitTimer:
		return !m.plan.RecomputeTimers
	case ports.WaitTask:
		return sameText(topic(was.Task), topic(n.Task)) &&
			slices.EqualFunc(was.Task.Headers, n.Task.Headers, func(a, b bpmn.Header) bool { return a.Name == b.Name && sameText(a.Value, b.Value) })
	case token.Condition:
		return sameExpression(was.Event.Condition, n.Event.Condition)
	}
	return true
}

func sameText(a, b *bpmn.Text) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Literal == b.Literal && sameExpression(a.Expr, b.Expr)
}

func sameExpression(a, b *bpmn.Expression) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Source == b.Source
}

// groups refuses an event gateway of which no branch is left.
func (m *move) groups() {
	for i := range m.old.Tokens {
		t := &m.old.Tokens[i]
		if t.State != token.Gateway || m.tokens[t.ID] == nil {
			continue
		}
		if !slices.ContainsFunc(m.now.Waits, func(w token.Wait) bool { return w.Group == t.ID }) {
			m.violate(fault.MigrateGroup, t.Node, "it waits for one of several events, and %q of the new model waits for none of them; map one", m.tokens[t.ID].Node)
		}
	}
}

// kindOf is what a token at a node waits for by itself, as core/step arms it; empty: nothing.
func kindOf(p *step.Program, n *bpmn.Node) ports.WaitKind {
	switch {
	case n == nil:
		return ""
	case n.Call != nil:
		return ports.WaitCall
	case n.Task != nil:
		return workOf(p, n)
	case n.Event != nil && (n.Kind == bpmn.CatchEvent || n.Kind == bpmn.BoundaryEvent || n.Kind == bpmn.StartEvent):
		return step.WaitsFor(n.Event)
	}
	return ""
}

func workOf(p *step.Program, n *bpmn.Node) ports.WaitKind {
	switch n.Task.How {
	case bpmn.Wait:
		return ports.WaitMessage
	case bpmn.External:
		return ports.WaitTask
	case bpmn.Channel:
		return p.Calls(n)
	}
	return ""
}
