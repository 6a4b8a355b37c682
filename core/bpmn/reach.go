package bpmn

// nodeSet is a set of node indexes.
type nodeSet []uint64

func (s nodeSet) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

func (s nodeSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// reach computes, for each inclusive and complex gateway and each of its incoming flows, the nodes from which that flow is reachable
// without passing the gateway: along sequence flows, links, and from an activity to its boundary events.
func (c *compiler) reach() {
	for _, g := range c.p.Nodes {
		c.p.Gathers = c.p.Gathers || g.Kind == Inclusive || g.Kind == Complex
		if g.Kind != Inclusive && g.Kind != Complex || len(g.In) < 2 {
			continue
		}
		g.reach = make(map[*Flow]nodeSet, len(g.In))
		for _, f := range g.In {
			g.reach[f] = upstream(f, g, len(c.p.Nodes))
		}
	}
}

func upstream(f *Flow, stop *Node, nodes int) nodeSet {
	set := make(nodeSet, (nodes+63)/64)
	work := []*Node{f.From}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if n == stop || set.has(n.Index) {
			continue
		}
		set.add(n.Index)
		for _, in := range n.In {
			work = append(work, in.From)
		}
		if n.Host != nil {
			work = append(work, n.Host)
		}
	}
	return set
}
