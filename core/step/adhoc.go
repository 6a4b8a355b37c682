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
	if spec := t.node.AdHoc; spec.Output != "" {
		r.declare(c, spec.Output, feel.List{})
		if spec.Declares != "" {
			r.declare(c, spec.Declares, nil)
		}
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
		r.finishAdHoc(t)
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
	c, last := t.scope, len(t.node.Out) == 0
	if last {
		r.gives(c)
	}
	spec := c.node.AdHoc
	switch {
	case spec.Done != nil && r.truth(spec.Done, c, nil, c.node):
		c.toStart = nil
		if !spec.LetEnd {
			r.killOthers(c, t)
		}
		r.consume(t)
	case last:
		r.consume(t)
	default:
		r.leave(t)
	}
}

// gives adds what a path of an ad-hoc sub-process gives, at its end, to the output collection. A variable that is all of the output
// element starts anew for the next path.
func (r *run) gives(c *scope) {
	spec := c.node.AdHoc
	if spec.Element == nil {
		return
	}
	before, _ := c.variables[spec.Output].(feel.List)
	r.declare(c, spec.Output, append(slices.Clone(before), r.eval(spec.Element, c, nil, c.node)))
	if spec.Declares != "" {
		r.declare(c, spec.Declares, nil)
	}
}

// finishAdHoc ends an ad-hoc sub-process; its output collection goes to the scope around it.
func (r *run) finishAdHoc(t *tok) {
	if name := t.node.AdHoc.Output; name != "" {
		r.write(t.scope, name, t.inner.variables[name])
	}
	r.finish(t, nil)
}

// isAdHoc says that a token stands directly inside an ad-hoc sub-process.
func (t *tok) isAdHoc() bool { return t.scope.kind == token.AdHocScope }
