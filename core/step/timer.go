package step

import (
	"sort"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// watchTimer computes when a timer is due, once: a past date fires through its row, never at once.
func (r *run) watchTimer(w *wait) {
	spec := w.node.Event.Timer
	switch {
	case spec.Date != nil:
		w.Due = r.dueDate(spec.Date, w)
	case spec.Duration != nil:
		w.Due = r.dueAfter(spec.Duration, w.home(), w.node)
	default:
		r.watchCycle(w, spec.Cycle)
	}
}

func (r *run) timerValue(t *bpmn.Text, c *scope, n *bpmn.Node) feel.Value {
	if t.Expr == nil {
		return feel.String(t.Literal)
	}
	return r.eval(t.Expr, c, nil, n)
}

func (r *run) badTimer(n *bpmn.Node, err error) time.Time {
	r.fail(fault.TimerInvalid, n, "the timer of %q cannot be computed: %w", n.ID, err)
	return time.Time{}
}

func (r *run) dueDate(t *bpmn.Text, w *wait) time.Time {
	v := r.timerValue(t, w.home(), w.node)
	var text string
	switch v := v.(type) {
	case feel.DateTime:
		return instant(v.Instant())
	case feel.String:
		text = string(v)
	default:
		text = feel.Text(v)
	}
	at, err := bpmn.ParseInstant(text)
	if err != nil {
		return r.badTimer(w.node, err)
	}
	return instant(at)
}

func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// dueAfter is the step's time and a duration; months and years are added in UTC.
func (r *run) dueAfter(t *bpmn.Text, c *scope, n *bpmn.Node) time.Time {
	v := r.timerValue(t, c, n)
	if text, ok := v.(feel.String); ok {
		parsed, err := feel.ParseDuration(string(text))
		if err != nil {
			return r.badTimer(n, err)
		}
		v = parsed
	}
	at, err := feel.AddDuration(r.at, v)
	if err != nil {
		return r.badTimer(n, err)
	}
	return instant(at)
}

func (r *run) watchCycle(w *wait, t *bpmn.Text) {
	v := r.timerValue(t, w.home(), w.node)
	if _, ok := v.(feel.DaysTime); ok {
		v = feel.String(feel.Text(v))
	}
	text, _ := v.(feel.String)
	c, err := bpmn.ParseCycle(string(text))
	if err != nil {
		r.badTimer(w.node, err)
		return
	}
	first := c.Start
	if first.IsZero() {
		if first, err = c.Nth(r.at, 1); err != nil {
			r.badTimer(w.node, err)
			return
		}
	}
	if c.Repeats == 0 {
		r.unwait(w)
		return
	}
	w.Due, w.Anchor, w.Period, w.Left = instant(first), instant(first), c.Period, c.Repeats
}

// nextOf is the wait that a fired timer leaves behind; nil: it fires no more. The next time is the first one plus n periods, so a
// cycle never drifts; those that are overdue by then coalesce.
func (r *run) nextOf(w *wait) *wait {
	if w.Period == "" || w.Left == 1 {
		return nil
	}
	c := bpmn.Cycle{Period: w.Period}
	due := func(n int64) time.Time {
		at, err := c.Nth(w.Anchor, n)
		if err != nil {
			r.badTimer(w.node, err)
		}
		return at
	}
	span := int64(1)
	for !due(w.Fired+span).After(r.at) && r.failure == nil {
		span *= 2
	}
	skip := sort.Search(int(span), func(i int) bool { return due(w.Fired + int64(i) + 1).After(r.at) })
	next := &wait{Wait: w.Wait}
	next.Fired = w.Fired + int64(skip) + 1
	next.Due = instant(due(next.Fired))
	if next.Left > 0 {
		next.Left--
	}
	return next
}
