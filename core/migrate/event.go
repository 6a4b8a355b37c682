package migrate

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// armNew finds events of the new model that the old one did not have: they are waited for from now on.
func (m *move) armNew() {
	for i := range m.old.Tokens {
		was := &m.old.Tokens[i]
		t := m.tokens[was.ID]
		if t == nil {
			continue
		}
		old, n := m.from.Process.Node(was.Node), m.to.Process.Node(t.Node)
		switch t.State {
		case token.Active:
			if !m.round(was) {
				m.armEach(n.Boundaries, old.Boundaries, step.Arm{Token: t.ID}, "boundary event")
			}
		case token.Gateway:
			m.armEach(targets(n), targets(old), step.Arm{Token: t.ID, Group: true}, "branch")
		}
	}
	for i := range m.old.Scopes {
		c := &m.old.Scopes[i]
		if p := m.scopes[c.ID]; p != nil && owns(c.Kind) && !c.Interrupted && p.running > 0 {
			m.armEach(starts(p.new), starts(p.old), step.Arm{Scope: c.ID}, "event sub-process")
		}
	}
}

// round says that a token is one round of a loop; boundary events belong to the loop.
func (m *move) round(t *token.Token) bool {
	p := m.scopes[t.Scope]
	return p != nil && p.scope.Kind == token.IterationScope && p.scope.Node == t.Node
}

func (m *move) armEach(now, was []*bpmn.Node, at step.Arm, what string) {
	for _, n := range now {
		kind := kindOf(m.to, n)
		if kind == "" || slices.ContainsFunc(was, func(o *bpmn.Node) bool { return m.id(o.ID) == n.ID && kindOf(m.from, o) == kind }) {
			continue
		}
		at.Node = n.ID
		m.arm = append(m.arm, at)
		m.note("the %s %q is new: it is waited for from now on", what, n.ID)
	}
}

func targets(gate *bpmn.Node) []*bpmn.Node {
	var out []*bpmn.Node
	for _, f := range gate.Out {
		out = append(out, f.To)
	}
	return out
}

// owns says that scopes of this kind arm the event sub-processes inside them.
func owns(kind token.ScopeKind) bool {
	return slices.Contains([]token.ScopeKind{token.ProcessScope, token.SubScope, token.TransactionScope, token.AdHocScope, token.EventScope}, kind)
}

func starts(c *bpmn.Scope) []*bpmn.Node {
	var out []*bpmn.Node
	for _, n := range c.Events {
		if n.Inner.Start != nil {
			out = append(out, n.Inner.Start)
		}
	}
	return out
}

// aliases keeps the keys of the instance and of scopes and waits that are still there. Whether a key is unique is said by the new
// model.
func (m *move) aliases() {
	unique := map[string]bool{}
	for _, a := range registered(m.to.Process) {
		unique[a.Name] = unique[a.Name] || a.Unique
	}
	for _, a := range m.old.Aliases {
		if a.Wait != 0 && !slices.ContainsFunc(m.now.Waits, func(w token.Wait) bool { return w.ID == a.Wait }) {
			continue
		}
		if now, declared := unique[a.Name]; declared && a.Wait == 0 {
			a.Unique = now
		}
		m.now.Aliases = append(m.now.Aliases, a)
	}
}

// registered are the keys that a process registers: its own, and those of nodes that do not match messages with them.
func registered(p *bpmn.Process) []bpmn.Alias {
	all := slices.Clone(p.Aliases)
	for _, n := range p.Nodes {
		if n.Source == nil || n.Kind == bpmn.StartEvent {
			all = append(all, n.Aliases...)
		}
	}
	return all
}

// keys are those that the process itself registers now and did not before.
func (m *move) keys() []bpmn.Alias {
	if len(m.old.Scopes) == 0 {
		return nil // it has not begun
	}
	var out []bpmn.Alias
	for _, a := range m.to.Process.Aliases {
		if !slices.ContainsFunc(m.from.Process.Aliases, func(o bpmn.Alias) bool { return o.Name == a.Name && sameExpression(o.Expr, a.Expr) }) {
			out = append(out, a)
			m.note("the key %q is new: it is registered with what the variables say now", a.Name)
		}
	}
	return out
}

// event rewrites the event that a FAILED instance failed at, so that it can happen again.
func (m *move) event() {
	if m.old.Failure == nil {
		return
	}
	failure := *m.old.Failure
	m.now.Failure = &failure
	if n := m.node(failure.Node); n != nil {
		failure.Node = n.ID
	}
	if m.plan.Event == step.DropEvent {
		failure.Event = nil
	}
	if failure.Event == nil {
		return
	}
	ev, err := step.DecodeEvent(failure.Event)
	if err != nil {
		m.violate(fault.MigrateEvent, "", "the event that it failed at cannot be read: %w; drop it", err)
		return
	}
	if !m.happens(&ev) {
		return
	}
	if failure.Event, err = step.EncodeEvent(ev); err != nil {
		m.violate(fault.MigrateEvent, "", "the event that it failed at cannot be kept: %w; drop it", err)
	}
}

// happens says that an event finds in the new model what it is for, and names it.
func (m *move) happens(ev *step.Event) bool {
	switch ev.Kind {
	case step.KindStart, step.KindChildStart:
		return m.begins(ev)
	case step.KindCancel, step.KindSetVariables, step.KindWake:
		return true
	}
	id := token.ID(ev.Wait)
	if id == 0 {
		id = step.WaitOf(m.from, m.old, *ev)
	}
	if !slices.ContainsFunc(m.now.Waits, func(w token.Wait) bool { return w.ID == id }) {
		m.violate(fault.MigrateEvent, "", "it failed at a %s whose wait is not in the new model; map the node, or drop the event", ev.Kind)
		return false
	}
	ev.Wait = ports.WaitID(id)
	return true
}

func (m *move) begins(ev *step.Event) bool {
	p := m.to.Process
	if ev.Node == "" {
		if p.Root.Start == nil && len(p.Root.Roots()) == 0 {
			m.violate(fault.MigrateEvent, "", "it failed when it started, and process %q of the new model has no none start event", p.ID)
			return false
		}
		return true
	}
	n := m.node(ev.Node)
	was := slices.IndexFunc(m.from.Process.Starts, func(s bpmn.Start) bool { return s.Node.ID == ev.Node })
	now := slices.IndexFunc(p.Starts, func(s bpmn.Start) bool { return s.Node == n })
	if n == nil || now < 0 || was >= 0 && m.from.Process.Starts[was].Kind != p.Starts[now].Kind {
		m.violate(fault.MigrateEvent, ev.Node, "it failed when it started at %q, and process %q of the new model does not start so; map the start event, or drop the event", ev.Node, p.ID)
		return false
	}
	ev.Node = n.ID
	return true
}
