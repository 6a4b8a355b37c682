package step

import (
	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
)

// round says that a token is one iteration of a loop or multi-instance, not the activity as a whole.
func (t *tok) round() bool { return t.scope.kind == token.IterationScope && t.scope.node == t.node }

// activate lets a token into an activity: the whole of a loop, or one run.
func (r *run) activate(t *tok) {
	t.state = token.Active
	if t.node.Loop != nil && !t.round() {
		r.arm(t)
		r.loop(t)
		return
	}
	r.begin(t)
}

// scopeKind is the scope that an activity opens for itself; 0: none.
func scopeKind(n *bpmn.Node) token.ScopeKind {
	switch n.Kind {
	case bpmn.SubProcess:
		return token.SubScope
	case bpmn.Transaction:
		return token.TransactionScope
	case bpmn.AdHoc:
		return token.AdHocScope
	case bpmn.EventProcess:
		return token.EventScope
	}
	if len(n.Inputs) > 0 {
		return token.ActivityScope
	}
	return 0
}

// begin starts one run of an activity: inputs, boundaries, work.
func (r *run) begin(t *tok) {
	if kind := scopeKind(t.node); kind != 0 {
		r.open(t.scope, t, kind, t.node)
		r.inputs(t)
	}
	r.registerFor(t)
	if !t.round() {
		r.arm(t)
	}
	switch t.node.Kind {
	case bpmn.SubProcess, bpmn.Transaction:
		r.populate(t.inner)
	case bpmn.AdHoc:
		r.adHoc(t)
	case bpmn.CallActivity:
		r.call(t)
	default:
		r.work(t)
	}
}

// inputs maps into the activity's own scope, each mapping seeing those before it.
func (r *run) inputs(t *tok) {
	for _, m := range t.node.Inputs {
		r.assign(t.inner, m.Target, r.value(m, t.inner, nil, t.node))
	}
}

// outputs lets the result of an activity or event leave it. With any mapping only mapped values leave; without, the result is
// merged. Values are written from the flow scope outward; those of an iteration stay in it.
func (r *run) outputs(t *tok, result feel.Value) {
	write := func(name string, v feel.Value) { r.write(t.scope, name, v) }
	if len(t.node.Outputs) == 0 {
		r.merge(result, "result", write)
		return
	}
	extra, isContext := result.(feel.Context)
	if !isContext && result != nil {
		extra = feel.Context{"result": result}
	}
	for _, m := range t.node.Outputs {
		v := r.value(m, t.local(), extra, t.node)
		if t.round() {
			r.assign(t.scope, m.Target, v)
		} else {
			write(m.Target, v)
		}
	}
}

// finish ends one run of an activity with its result, and lets its token go on.
func (r *run) finish(t *tok, result feel.Value) {
	r.disarm(&t.waits)
	r.outputs(t, result)
	r.registerFor(t)
	if t.node.Reply != nil {
		r.reply(t.node.Reply, t.local(), t.node)
	}
	r.logDone(t)
	if t.inner != nil {
		r.close(t.inner)
		t.inner = nil
	}
	r.depart(t)
}

// registerFor makes the aliases of an activity as soon as they have a value: when it begins, or with its result. Those of an activity
// with q:source match messages and register nothing.
func (r *run) registerFor(t *tok) {
	if t.node.Source == nil {
		r.register(t.node.Aliases, t.local(), t.scope, nil)
	}
}

// depart takes a token that has done its work out of its node.
func (r *run) depart(t *tok) {
	r.note("left", t.node, t.id)
	t.state = 0
	switch {
	case t.round():
		r.consume(t)
	case t.node.Kind.IsActivity() && t.isAdHoc():
		r.leaveAdHoc(t)
	default:
		r.leave(t)
	}
}
