package migrate

import (
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

// place is a scope instance in both models.
type place struct {
	scope    *token.Scope // as it was
	old, new *bpmn.Scope  // the parts of the graphs that its tokens stand in
	running  int          // tokens outside event sub-processes
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// id is the new name of an old one.
func (m *move) id(old string) string {
	if id, mapped := m.plan.Nodes[old]; mapped {
		return id
	}
	return old
}

// node finds what an old node is in the new model; nil: nothing.
func (m *move) node(old string) *bpmn.Node { return m.to.Process.Node(m.id(old)) }

// known is node, and a violation when there is none.
func (m *move) known(old string) *bpmn.Node {
	n := m.node(old)
	if n == nil {
		m.violate(fault.MigrateNode, old, "it stands at %q, and process %q of the new revision has no %q; map it to a node that waits for the same", old, m.to.Process.ID, m.id(old))
	}
	return n
}

// flow finds what an old sequence flow is in the new model: by the mapping, by its id, or as the one flow between the same nodes.
func (m *move) flow(old string, into *bpmn.Node) *bpmn.Flow {
	if f := m.to.Process.Flow(m.id(old)); f != nil && f.To == into {
		return f
	}
	was := m.from.Process.Flow(old)
	if was == nil {
		return nil
	}
	var found *bpmn.Flow
	for _, f := range into.In {
		if f.From.ID != m.id(was.From.ID) {
			continue
		}
		if found != nil {
			return nil
		}
		found = f
	}
	return found
}

// scope rewrites a scope instance. Parents come before their children.
func (m *move) scope(c *token.Scope) {
	if c.Kind == token.ProcessScope {
		p := &place{scope: c, old: m.from.Process.Root, new: m.to.Process.Root}
		m.scopes[c.ID] = p
		m.keep(c, p, "")
		return
	}
	parent := m.scopes[c.Parent]
	if parent == nil {
		return // said already
	}
	was, n := m.from.Process.Node(c.Node), m.known(c.Node)
	if n == nil {
		return
	}
	if n.Scope != parent.new {
		m.violate(fault.MigrateScope, c.Node, "%q stands in another scope of the new model; what runs inside it cannot be moved there", n.ID)
		return
	}
	if why := changed(c, was, n); why != "" {
		m.violate(fault.MigrateScope, c.Node, "%s", why)
		return
	}
	p := &place{scope: c, old: inside(c.Kind, was, parent.old), new: inside(c.Kind, n, parent.new)}
	m.scopes[c.ID] = p
	m.keep(c, p, n.ID)
}

// inside is where the tokens of a scope instance stand: a sub-process's inside; a round's token stands at the activity itself.
func inside(kind token.ScopeKind, n *bpmn.Node, around *bpmn.Scope) *bpmn.Scope {
	switch kind {
	case token.SubScope, token.TransactionScope, token.AdHocScope, token.EventScope:
		return n.Inner
	}
	return around
}

// changed says why a scope instance of one node cannot become one of another; empty: it can.
func changed(c *token.Scope, was, n *bpmn.Node) string {
	switch {
	case n.Kind != was.Kind && (c.Kind == token.SubScope || c.Kind == token.TransactionScope || c.Kind == token.AdHocScope || c.Kind == token.EventScope):
		return "what was a " + string(was.Kind) + " is a " + string(n.Kind) + " now"
	case c.Kind == token.EventScope && n.Inner.Start.Interrupting != was.Inner.Start.Interrupting:
		return "the event sub-process runs, and interrupts now where it did not, or the other way round"
	case c.Kind == token.AdHocScope && n.AdHoc.Sequential != was.AdHoc.Sequential:
		return "the ad-hoc sub-process runs, and its order has changed between sequential and parallel"
	case c.Kind != token.BodyScope && c.Kind != token.IterationScope:
		return ""
	case n.Loop == nil || n.Loop.Multi != was.Loop.Multi || n.Loop.Sequential != was.Loop.Sequential:
		return "its loop runs, and is of another kind in the new model"
	}
	return ""
}

// keep takes a scope into the new snapshot.
func (m *move) keep(c *token.Scope, p *place, node string) {
	out := *c
	out.Node = node
	out.Log = m.log(c.Log, p.new, "")
	out.Gates, out.ToStart = nil, nil
	for _, g := range c.Gates {
		m.gate(&out, p, g)
	}
	for _, id := range c.ToStart {
		n := m.node(id)
		if n == nil || n.Scope != p.new {
			m.violate(fault.MigrateScope, id, "%q is still to be started, and is no element of the ad-hoc sub-process in the new model", id)
			continue
		}
		out.ToStart = append(out.ToStart, n.ID)
	}
	m.now.Scopes = append(m.now.Scopes, out)
}

// gate rewrites a complex gateway that has fired and waits for the late tokens.
func (m *move) gate(into *token.Scope, p *place, g token.Gate) {
	n := m.known(g.Node)
	if n == nil {
		return
	}
	if n.Kind != bpmn.Complex || n.Scope != p.new {
		m.violate(fault.MigrateFlow, g.Node, "the gateway has fired and waits for late tokens; %q is no complex gateway of the same scope", n.ID)
		return
	}
	out := token.Gate{Node: n.ID}
	for _, id := range g.Consumed {
		f := m.flow(id, n)
		if f == nil || slices.Contains(out.Consumed, f.ID) {
			m.violate(fault.MigrateFlow, g.Node, "the token of flow %q was taken, and no one flow into %q of the new model is that flow; map it", id, n.ID)
			continue
		}
		out.Consumed = append(out.Consumed, f.ID)
	}
	into.Gates = append(into.Gates, out)
}

// log rewrites what has been completed and could be undone. around is where the activities stand; of is the entry that a nested log
// belongs to.
func (m *move) log(entries []token.Entry, around *bpmn.Scope, of string) []token.Entry {
	var out []token.Entry
	for _, e := range entries {
		n := m.node(e.Node)
		if !undoable(e, n, around, m.id(of)) {
			if m.plan.DropCompensation {
				m.note("what %q did can no longer be undone: it is forgotten", e.Node)
			} else {
				m.violate(fault.MigrateUndo, e.Node, "%q has completed, and in the new model nothing can undo it; give it its handler back, or drop the compensation", e.Node)
			}
			continue
		}
		within := around
		if e.Kind == token.NestedEntry {
			within = n.Inner
		}
		kept := e
		kept.Node, kept.Log = n.ID, m.log(e.Log, within, e.Node)
		out = append(out, kept)
	}
	return out
}

func undoable(e token.Entry, n *bpmn.Node, around *bpmn.Scope, of string) bool {
	if n == nil || n.Scope != around && n.ID != of { // a sub-process's own handler is in its nested log
		return false
	}
	switch e.Kind {
	case token.HandlerEntry:
		return n.Compensation != nil
	case token.NestedEntry:
		return n.Inner != nil
	}
	return n.Loop != nil
}
