package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
)

// exclusive takes the first true flow in document order, else the default flow.
func (r *run) exclusive(t *tok) {
	for _, f := range t.node.Out {
		if f != t.node.Default && (f.Condition == nil || r.holds(f.Condition, t.scope, nil, t.node)) {
			r.take(t, []*bpmn.Flow{f})
			return
		}
	}
	switch {
	case t.node.Default != nil:
		r.take(t, []*bpmn.Flow{t.node.Default})
	case len(t.node.Out) == 0:
		r.consume(t)
	default:
		r.noFlow(t)
	}
}

// parallel waits until each incoming flow holds a token of this scope instance, then takes exactly one from each.
func (r *run) parallel(t *tok) {
	t.state = token.Join
	if len(t.node.In) <= 1 {
		r.take(t, t.node.Out)
		return
	}
	held := heldAt(t.scope, t.node)
	if len(held) < len(t.node.In) {
		return
	}
	r.take(r.gather(held), t.node.Out)
}

// heldAt gives the oldest token that each incoming flow of a gateway holds in one scope instance.
func heldAt(c *scope, n *bpmn.Node) map[*bpmn.Flow]*tok {
	held := map[*bpmn.Flow]*tok{}
	for _, t := range c.tokens {
		if !t.dead && t.node == n && t.state == token.Join && held[t.flow] == nil {
			held[t.flow] = t
		}
	}
	return held
}

// gather takes tokens together: the oldest goes on, the others are gone.
func (r *run) gather(held map[*bpmn.Flow]*tok) *tok {
	var first *tok
	for _, t := range held {
		if first == nil || t.id < first.id {
			first = t
		}
	}
	for _, t := range held {
		if t != first {
			r.drop(t)
		}
	}
	return first
}

// inclusive splits at once where it does not join; else it waits for release.
func (r *run) inclusive(t *tok) {
	if len(t.node.In) > 1 {
		t.state = token.Join
		return
	}
	r.split(t, nil)
}

func (r *run) split(t *tok, extra feel.Context) {
	if len(t.node.Out) == 0 {
		r.consume(t)
		return
	}
	if out := r.trueFlows(t, extra); len(out) > 0 {
		r.take(t, out)
		return
	}
	r.noFlow(t)
}

// release looks, with no other work left, for a joining gateway that can fire: complex ones by their conditions, inclusive ones for
// which no more tokens can come. By scope, then document order. It answers whether one fired.
func (r *run) release() bool {
	if !r.g.Gathers {
		return false
	}
	for _, c := range r.scopes {
		if c.dead || c.live == 0 {
			continue
		}
		for _, n := range joinsIn(c) {
			if n.Kind == bpmn.Complex && r.releaseComplex(c, n) || n.Kind == bpmn.Inclusive && r.releaseInclusive(c, n) {
				return true
			}
			if r.failure != nil {
				return false
			}
		}
	}
	return false
}

// joinsIn lists the inclusive and complex gateways of a scope instance that hold something, in document order.
func joinsIn(c *scope) []*bpmn.Node {
	var at []*bpmn.Node
	for _, t := range c.tokens {
		if !t.dead && t.state == token.Join && t.node.Kind != bpmn.Parallel && !slices.Contains(at, t.node) {
			at = append(at, t.node)
		}
	}
	for _, g := range c.gates {
		for _, n := range c.inside.Nodes {
			if n.ID == g.Node && !slices.Contains(at, n) {
				at = append(at, n)
			}
		}
	}
	slices.SortFunc(at, func(a, b *bpmn.Node) int { return a.Index - b.Index })
	return at
}

func (r *run) releaseInclusive(c *scope, n *bpmn.Node) bool {
	held := heldAt(c, n)
	if r.mayCome(c, n, flowsOf(held)) {
		return false
	}
	r.split(r.gather(held), nil)
	return true
}

func flowsOf(held map[*bpmn.Flow]*tok) map[*bpmn.Flow]bool {
	flows := make(map[*bpmn.Flow]bool, len(held))
	for f := range held {
		flows[f] = true
	}
	return flows
}

// mayCome says that some other token of the scope instance can still reach an incoming flow that is not held, and none of those that
// are (OMG issue 15155): a token upstream of a held flow will arrive there, and starts another round. What is being undone has been
// there already.
func (r *run) mayCome(c *scope, n *bpmn.Node, held map[*bpmn.Flow]bool) bool {
	for _, t := range c.tokens {
		if t.dead || t.undo != 0 || t.node == n && t.state == token.Join {
			continue
		}
		open, covered := false, false
		for _, f := range n.In {
			if n.Reaches(f, t.node) {
				open, covered = open || !held[f], covered || held[f]
			}
		}
		if open && !covered {
			return true
		}
	}
	return false
}

// releaseComplex lets a complex gateway do its next thing, if there is one: fire, or take the late tokens and start again.
func (r *run) releaseComplex(c *scope, n *bpmn.Node) bool {
	held := heldAt(c, n)
	at := slices.IndexFunc(c.gates, func(g token.Gate) bool { return g.Node == n.ID })
	if at < 0 {
		return r.fireComplex(c, n, held)
	}
	flows := flowsOf(held)
	for _, id := range c.gates[at].Consumed {
		flows[r.g.Flow(id)] = true
	}
	if r.mayCome(c, n, flows) {
		return false
	}
	c.gates = slices.Delete(c.gates, at, at+1)
	r.resetComplex(c, n, held)
	return true
}

// fireComplex is phase one: the activation condition is true, so one token of each flow is taken.
func (r *run) fireComplex(c *scope, n *bpmn.Node, held map[*bpmn.Flow]*tok) bool {
	if len(held) == 0 || !r.activated(c, n, held) {
		return false
	}
	gate := token.Gate{Node: n.ID}
	for _, f := range n.In {
		if held[f] != nil {
			gate.Consumed = append(gate.Consumed, f.ID)
		}
	}
	c.gates = append(c.gates, gate)
	r.split(r.gather(held), feel.Context{"waitingForStart": feel.Boolean(true)})
	return true
}

func (r *run) activated(c *scope, n *bpmn.Node, held map[*bpmn.Flow]*tok) bool {
	if n.Activation == nil {
		return len(held) == len(n.In)
	}
	counts := feel.Context{"waitingForStart": feel.Boolean(true)}
	for _, name := range []string{"activationCount", "arrivedCount"} {
		counts[name] = feel.NumberOfInt(int64(len(held)))
	}
	counts["expectedCount"] = feel.NumberOfInt(int64(len(n.In)))
	return r.truth(n.Activation, c, counts, n)
}

// resetComplex is phase two: no more tokens can come, so the late ones are taken. Conditions are asked again, with waitingForStart
// false; a flow without one is of phase one alone. It may produce nothing.
func (r *run) resetComplex(c *scope, n *bpmn.Node, held map[*bpmn.Flow]*tok) {
	if len(held) == 0 {
		return
	}
	var out []*bpmn.Flow
	extra := feel.Context{"waitingForStart": feel.Boolean(false)}
	for _, f := range n.Out {
		if f != n.Default && f.Condition != nil && r.holds(f.Condition, c, extra, n) {
			out = append(out, f)
		}
	}
	r.take(r.gather(held), out)
}
