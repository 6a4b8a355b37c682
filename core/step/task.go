package step

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// work does what a task is for: at once, or by waiting for somebody.
func (r *run) work(t *tok) {
	n := t.node
	switch n.Task.How {
	case bpmn.Pass:
		r.finish(t, nil)
	case bpmn.Wait:
		r.watch(n, t, nil)
	case bpmn.External:
		r.external(t)
	case bpmn.Channel:
		r.callChannel(t)
	case bpmn.Emit:
		r.send(n.Send, t)
		r.finish(t, nil)
	case bpmn.Script:
		r.finish(t, named(n.Task.Result, r.eval(n.Task.Script, t.local(), nil, n)))
	case bpmn.Decision:
		r.decide(t)
	case bpmn.Template:
		extra := feel.Context{}
		for _, m := range n.Task.Params {
			extra[m.Target] = r.value(m, t.local(), extra, n)
		}
		body := r.render(n.Task.Template, t.local(), extra, n)
		r.finish(t, named(n.Task.Result, feel.String(body)))
	}
}

// named puts a result under the name of its result variable, when there is one.
func named(name string, v feel.Value) feel.Value {
	if name == "" {
		return v
	}
	return feel.Context{name: v}
}

func (r *run) decide(t *tok) {
	n := t.node
	id := r.text(n.Task.Decision, t.local(), nil, n)
	if r.p.Decisions == nil {
		r.fail(fault.DecisionFailed, n, "the archive has no decision %q", id)
		return
	}
	v, err := r.p.Decisions.Decide(id, feel.Env{Scope: visible(t.local()), Now: r.at, Steps: r.limits.Budget})
	if err != nil {
		r.fail(fault.DecisionFailed, n, "decision %q: %w", id, err)
		return
	}
	if n.Task.Rows != "" {
		if v, err = fromRows(n.Task.Rows, r.p.Decisions.Rows(id, v)); err != nil {
			r.fail(fault.DecisionFailed, n, "decision %q: %w", id, err)
			return
		}
	}
	r.finish(t, named(n.Task.Result, v))
}

// fromRows brings the rows of a decision's result into the form that a task wants.
func fromRows(as bpmn.RowsAs, rows feel.List) (feel.Value, error) {
	single := as == bpmn.SingleEntry || as == bpmn.SingleResult
	switch {
	case as == bpmn.ResultList:
		return rows, nil
	case single && len(rows) == 0:
		return nil, nil
	case single && len(rows) > 1:
		return nil, fmt.Errorf("%d rules match, and %s takes one", len(rows), as)
	case as == bpmn.SingleResult:
		return rows[0], nil
	}
	entries := feel.List{}
	for _, row := range rows {
		outputs, _ := row.(feel.Context)
		if len(outputs) > 1 {
			return nil, fmt.Errorf("it has %d outputs, and %s takes one", len(outputs), as)
		}
		for _, v := range outputs {
			entries = append(entries, v)
		}
	}
	if as == bpmn.CollectEntries {
		return entries, nil
	}
	for _, v := range entries {
		return v, nil
	}
	return nil, nil
}

// external parks a task for a worker.
func (r *run) external(t *tok) {
	n := t.node
	w := r.await(ports.WaitTask, n, t, nil)
	w.Task = r.derive()
	w.Retries, w.Trace = int64(r.limits.TaskRetries), r.trace
	r.label(w)
	if n.Task.How == bpmn.External && n.Task.Retries != nil {
		budget, err := strconv.ParseInt(r.text(n.Task.Retries, t.local(), nil, n), 10, 32)
		if err != nil || budget < 1 {
			r.fail(fault.ExpressionFailed, n, "the retries of %q are no whole number above 0", n.ID)
		}
		w.Retries = budget
	}
}

// label computes what a task says of itself to workers: its topic and headers. What the model says literally is not stored.
func (r *run) label(w *wait) {
	t, task := w.token, w.node.Task
	w.Topic, w.Headers = "", nil
	if task.How == bpmn.Channel {
		w.Topic = task.Channel
		return
	}
	if task.Topic.Expr != nil {
		w.Topic = r.text(task.Topic, t.local(), nil, w.node)
	}
	for _, h := range task.Headers {
		if h.Value.Expr == nil {
			continue
		}
		if w.Headers == nil {
			w.Headers = feel.Context{}
		}
		v := r.eval(h.Value.Expr, t.local(), nil, w.node)
		if r.storable(h.Name, v) {
			w.Headers[h.Name] = v
		}
	}
}

// taskDone ends an external task. A task over a pull channel may name its result.
func (r *run) taskDone(w *wait, ev *Event) {
	t := w.token
	if t.node.Task.Result != "" {
		r.finish(t, named(t.node.Task.Result, ev.Payload))
		return
	}
	r.finish(t, ev.Payload)
}

// callChannel makes one attempt of a call over a channel.
func (r *run) callChannel(t *tok) {
	n := t.node
	ch, known := r.p.Channels[n.Task.Channel]
	if !known {
		r.fail(fault.ChannelUnknown, n, "there is no channel %q; add it to channels.yaml", n.Task.Channel)
		return
	}
	switch ch.Transport {
	case channel.Pull:
		r.external(t)
		return
	case channel.Local:
		r.throwLocal(ch.Name, r.taken(t), nil)
		r.finish(t, nil)
		return
	}
	t.tries++
	w := r.await(ports.WaitCall, n, t, nil)
	w.Attempt = t.tries
	if n.Timeout != nil {
		limit := r.await(ports.WaitTimer, n, t, nil)
		limit.Due = r.dueAfter(n.Timeout, t.local(), n)
	}
	body, err := feel.ToJSON(r.taken(t))
	if err != nil {
		r.fail(fault.ValueNotStorable, n, "the call's body: %w", err)
		return
	}
	e := ports.Emission{Destination: "channel:" + ch.Name, ContentType: "application/json", Body: body, Wait: ports.WaitID(w.ID), Attempt: int(w.Attempt)}
	for _, h := range n.Task.Headers {
		e.Headers = append(e.Headers, ports.Header{Name: h.Name, Value: r.text(h.Value, t.local(), nil, n)})
	}
	r.emit(e, n)
}

// taken is what a call or emission takes along: its mapped inputs, else all that is visible.
func (r *run) taken(t *tok) feel.Context {
	if t.inner != nil && len(t.node.Inputs) > 0 {
		return t.inner.variables
	}
	return visible(t.local())
}

// callFailed ends an attempt: another one after a while, or a BPMN error.
func (r *run) callFailed(t *tok, ev *Event) {
	for _, w := range slices.Clone(t.waits) {
		if w.node == t.node {
			r.unwait(w)
		}
	}
	retry := t.node.Retry
	if retry != nil && t.tries < int64(retry.MaxAttempts) && !final(retry, ev) {
		w := r.await(ports.WaitRetry, t.node, t, nil)
		w.Attempt, w.Due = t.tries, instant(r.at.Add(pause(retry, t.tries)))
		r.note("retry", t.node, t.id)
		return
	}
	if retry != nil && retry.MaxAttempts > 1 && !final(retry, ev) {
		ev = &Event{Code: string(fault.CallExhausted), Message: ev.Code + because(ev.Message), Payload: ev.Payload}
	}
	r.raise(t, ev)
}

// final says that a failure is not worth another attempt.
func final(retry *bpmn.Retry, ev *Event) bool {
	return slices.Contains(retry.NonRetryable, ev.Code) || ev.Status != 0 && slices.Contains(retry.NonRetryable, strconv.Itoa(ev.Status))
}

func pause(retry *bpmn.Retry, tries int64) time.Duration {
	d := float64(retry.Initial) * math.Pow(retry.Coefficient, float64(tries-1))
	return time.Duration(min(d, float64(retry.Max)))
}

// attemptOf finds the channel call that a timer or retry wait belongs to; nil: it is another kind of timer.
func attemptOf(w *wait) *tok {
	if w.token != nil && w.token.node == w.node && w.token.state == token.Active && w.node.Task != nil && w.node.Task.How == bpmn.Channel {
		return w.token
	}
	return nil
}
