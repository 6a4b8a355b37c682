package step

import (
	"slices"
	"strconv"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

// loop starts a loop or multi-instance: its body, and its first rounds.
func (r *run) loop(t *tok) {
	body := r.open(t.scope, t, token.BodyScope, t.node)
	if !t.node.Loop.Multi {
		body.body = &token.Body{Sequential: true, Next: 1}
		if t.node.Loop.TestBefore && !r.loops(body, body, feel.Context{"loopCounter": feel.NumberOfInt(0)}) {
			r.finishBody(body)
			return
		}
		r.startRound(body, nil)
		return
	}
	items, ok := r.items(t)
	if !ok {
		return
	}
	body.body = &token.Body{Sequential: t.node.Loop.Sequential, Total: int64(len(items)), Next: 1}
	if len(items) == 0 {
		r.finishBody(body)
		return
	}
	if body.body.Sequential {
		body.body.Items = items
		r.startRound(body, items[0])
		return
	}
	for _, item := range items {
		r.startRound(body, item)
	}
}

// items evaluates what a multi-instance runs over: a collection, or nulls for a number.
func (r *run) items(t *tok) (feel.List, bool) {
	l := t.node.Loop
	if l.Collection != nil {
		v := r.eval(l.Collection, t.scope, nil, t.node)
		items, ok := v.(feel.List)
		if !ok {
			r.fail(fault.CollectionInvalid, t.node, "the collection %q is %s, and has to be a list", l.Collection.Source, r.describe(l.Collection, v))
		}
		return items, ok && r.within(t.node, len(items))
	}
	v := r.eval(l.Count, t.scope, nil, t.node)
	count, ok := whole(v)
	if !ok || count < 0 {
		r.fail(fault.CollectionInvalid, t.node, "the cardinality %q is %s, and has to be a whole number", l.Count.Source, r.describe(l.Count, v))
		return nil, false
	}
	if !r.within(t.node, count) {
		return nil, false
	}
	return make(feel.List, count), true
}

func (r *run) within(n *bpmn.Node, count int) bool {
	if count > r.limits.Iterations {
		r.fail(fault.IterationLimit, n, "%d iterations; at most %d run", count, r.limits.Iterations)
		return false
	}
	return true
}

// whole reads a whole number.
func whole(v feel.Value) (int, bool) {
	n, ok := v.(feel.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n.String())
	return i, err == nil
}

// startRound starts the next round of a body.
func (r *run) startRound(body *scope, item feel.Value) {
	l, n := body.node.Loop, body.node
	c := r.open(body, nil, token.IterationScope, n)
	index := body.body.Next
	body.body.Next++
	if l.Declares != "" {
		r.declare(c, l.Declares, nil)
	}
	if l.Item != "" {
		r.declare(c, l.Item, item)
	}
	r.declare(c, "loopCounter", feel.NumberOfInt(index))
	r.spawn(c, n)
}

// roundDone ends a round: its result, the completion condition, what comes next.
func (r *run) roundDone(c *scope) {
	body := c.parent
	b, l := body.body, body.node.Loop
	b.Completed++
	if l.Element != nil {
		index, _ := whole(c.variables["loopCounter"])
		v := r.eval(l.Element, c, nil, body.node)
		if r.storable(l.Output, v) {
			at, _ := slices.BinarySearchFunc(b.Results, int64(index), func(x token.Result, i int64) int { return int(x.Index - i) })
			b.Results = slices.Insert(b.Results, at, token.Result{Index: int64(index), Value: v})
		}
	}
	switch {
	case !l.Multi:
		r.roundAgain(body, c)
	case l.Done != nil && r.truth(l.Done, c, counts(b), body.node):
		r.close(c)
		r.finishBody(body)
	default:
		r.close(c)
		r.roundNext(body)
	}
}

// counts are what a completion condition knows of its multi-instance.
func counts(b *token.Body) feel.Context {
	active := b.Next - 1 - b.Completed - b.Terminated
	out := feel.Context{}
	for name, n := range map[string]int64{"Instances": b.Total, "ActiveInstances": active, "CompletedInstances": b.Completed, "TerminatedInstances": b.Terminated} {
		out["numberOf"+name], out["nrOf"+name] = feel.NumberOfInt(n), feel.NumberOfInt(n)
	}
	return out
}

func (r *run) roundAgain(body, c *scope) {
	again := r.loops(body, c, nil)
	r.close(c)
	if again {
		r.startRound(body, nil)
		return
	}
	r.finishBody(body)
}

// loops says that a standard loop runs once more. Its condition sees in loopCounter how many rounds have run.
func (r *run) loops(body, c *scope, extra feel.Context) bool {
	l, b := body.node.Loop, body.body
	if l.Maximum > 0 && b.Completed >= int64(l.Maximum) {
		return false
	}
	if b.Completed >= int64(r.limits.Iterations) {
		r.fail(fault.IterationLimit, body.node, "the loop has run %d times; at most that many run", b.Completed)
		return false
	}
	return l.Condition == nil || r.holds(l.Condition, c, extra, body.node)
}

func (r *run) roundNext(body *scope) {
	b := body.body
	switch {
	case b.Sequential && b.Next <= b.Total:
		r.startRound(body, b.Items[b.Next-1])
	case b.Completed == b.Total:
		r.finishBody(body)
	}
}

// finishBody ends a loop: the rounds that still run are killed, the results leave, the activity goes on.
func (r *run) finishBody(body *scope) {
	t, l := body.owner, body.node.Loop
	r.disarm(&t.waits)
	if l.Output != "" {
		results := make(feel.List, body.body.Total)
		for _, x := range body.body.Results {
			results[x.Index-1] = x.Value
		}
		r.write(t.scope, l.Output, results)
	}
	if len(body.log) > 0 {
		r.logged(t.scope, token.Entry{Node: t.node.ID, Kind: token.RoundsEntry, Together: !body.body.Sequential, Log: body.log})
	}
	r.close(body)
	t.inner = nil
	r.depart(t)
}
