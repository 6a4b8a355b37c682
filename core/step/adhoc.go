package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

// adHoc starts an ad-hoc sub-process: the elements of its collection, else all nodes without incoming flow; sequentially one at a
// time.
func (r *run) adHoc(t *tok) {
	c := t.inner
	for _, name := range c.inside.Objects {
		r.declare(c, name, nil)
	}
	r.armEventProcesses(c)
	start := r.adHocElements(t)
	if t.node.AdHoc.Sequential {
		for _, n := range start {
			c.toStart = append(c.toStart, n.ID)
		}
		start = nil
		r.startNext(c)
	}
	for _, n := range start {
		r.spawn(c, n)
	}
	if c.live == 0 {
		r.finish(t, nil)
	}
}

func (r *run) adHocElements(t *tok) []*bpmn.Node {
	x := t.node.AdHoc.Elements
	if x == nil {
		return t.inner.inside.Roots()
	}
	v := r.eval(x, t.inner, nil, t.node)
	ids, ok := v.(feel.List)
	if !ok {
		r.fail(fault.CollectionInvalid, t.node, "the elements %q are %s, and have to be a list of ids", x.Source, r.describe(x, v))
		return nil
	}
	var start []*bpmn.Node
	for _, id := range ids {
		text, _ := id.(feel.String)
		n := r.g.Node(string(text))
		if n == nil || n.Scope != t.inner.inside {
			r.fail(fault.CollectionInvalid, t.node, "%q is no element of %q", feel.Text(id), t.node.ID)
			return nil
		}
		start = append(start, n)
	}
	return start
}

// startNext starts the next element of a sequential ad-hoc sub-process; false: there is none.
func (r *run) startNext(c *scope) bool {
	if len(c.toStart) == 0 {
		return false
	}
	n := r.g.Node(c.toStart[0])
	c.toStart = slices.Clone(c.toStart[1:])
	r.spawn(c, n)
	return true
}

// leaveAdHoc takes a token out of an activity inside an ad-hoc sub-process, asking its completion condition. True: the rest is
// killed, or left to end, and no more is started, not even what follows the activity.
func (r *run) leaveAdHoc(t *tok) {
	c := t.scope
	spec := c.node.AdHoc
	if spec.Done == nil || !r.truth(spec.Done, c, nil, c.node) {
		r.leave(t)
		return
	}
	c.toStart = nil
	if !spec.LetEnd {
		r.killOthers(c, t)
	}
	r.consume(t)
}

// isAdHoc says that a token stands directly inside an ad-hoc sub-process.
func (t *tok) isAdHoc() bool { return t.scope.kind == token.AdHocScope }
