package bpmn

import (
	"slices"

	"github.com/sutra-engine/sutra/ports/fault"
)

// link is a link event definition: the two halves of a pair refer to each other's definitions, or have the same name in one scope.
type link struct {
	id      string
	targets []string // a throw event: the definition it leads to
	sources []string // a catch event: the definitions that lead to it
}

func linkOf(n *Node, at *element) link {
	l := link{id: at.id()}
	if n.Kind == ThrowEvent {
		l.targets = references(at.each("target"))
	} else {
		l.sources = references(at.each("source"))
	}
	return l
}

func references(elements []*element) []string {
	var ids []string
	for _, e := range elements {
		ids = append(ids, local(e.content()))
	}
	return ids
}

// linkEvents turns pairs of link events into edges.
func (c *compiler) linkEvents() {
	catches, thrown := c.linkNodes(CatchEvent), map[*Node]bool{}
	for i, n := range catches {
		for _, other := range catches[:i] {
			if n.Scope == other.Scope && linkName(n) == linkName(other) {
				c.refuse(c.elements[n], fault.ModelLinkUnknown, "the link %q is caught twice in one scope; keep one", linkName(n))
			}
		}
	}
	throws := c.linkNodes(ThrowEvent)
	for _, n := range throws {
		to := c.linkTarget(n, catches)
		if to == nil || to.Scope != n.Scope {
			c.refuse(c.elements[n], fault.ModelLinkUnknown, "nothing catches the link %q in this scope; add a link catch event, or correct its target", linkName(n))
			continue
		}
		thrown[to] = true
		c.flow(n.ID, n, to)
	}
	for _, n := range catches {
		if !thrown[n] {
			c.refuse(c.elements[n], fault.ModelLinkUnknown, "nothing throws the link %q in this scope; add a link throw event", linkName(n))
		}
		for _, id := range c.links[n].sources {
			if !slices.ContainsFunc(throws, func(from *Node) bool { return c.links[from].id == id }) {
				c.refuse(c.elements[n], fault.ModelLinkUnknown, "its source %q is no link throw event; correct or remove it", id)
			}
		}
	}
}

func linkName(n *Node) string { return n.Event.Name.Literal }

func (c *compiler) linkNodes(kind Kind) []*Node {
	var out []*Node
	for _, n := range c.p.Nodes {
		if n.Kind == kind && n.Event != nil && n.Event.Kind == Link {
			out = append(out, n)
		}
	}
	return out
}

// linkTarget finds what a link throw event leads to: the catch event that it refers to, else the one that refers to it, else the one of
// its name; nil: there is none.
func (c *compiler) linkTarget(n *Node, catches []*Node) *Node {
	from := c.links[n]
	if len(from.targets) > 0 {
		at := slices.IndexFunc(catches, func(to *Node) bool { return c.links[to].id == from.targets[0] })
		if at < 0 {
			return nil
		}
		return catches[at]
	}
	for _, to := range catches {
		if from.id != "" && slices.Contains(c.links[to].sources, from.id) {
			return to
		}
	}
	for _, to := range catches {
		if to.Scope == n.Scope && linkName(to) == linkName(n) {
			return to
		}
	}
	return nil
}
