package step

import (
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
		at, err := after(r.at, string(text))
		if err != nil {
			return r.badTimer(n, err)
		}
		return instant(at)
	}
	at, err := feel.AddDuration(r.at, v)
	if err != nil {
		return r.badTimer(n, err)
	}
	return instant(at)
}

// after is an instant and an ISO 8601 duration.
func after(t time.Time, duration string) (time.Time, error) {
	period, err := bpmn.ParsePeriod(duration)
	if err != nil {
		return time.Time{}, err
	}
	return period.After(t, 1)
}

func (r *run) watchCycle(w *wait, t *bpmn.Text) {
	v := r.timerValue(t, w.home(), w.node)
	switch v.(type) {
	case feel.DaysTime, feel.YearsMonths:
		v = feel.String(feel.Text(v))
	}
	text, _ := v.(feel.String)
	c, err := bpmn.ParseCycle(string(text))
	if err != nil {
		r.badTimer(w.node, err)
		return
	}
	due, left, err := c.First(r.at)
	if err != nil {
		r.badTimer(w.node, err)
		return
	}
	if due.IsZero() {
		r.unwait(w)
		return
	}
	anchor := c.Anchor
	if anchor.IsZero() {
		anchor = due
	}
	w.Due, w.Anchor, w.Period, w.Left = instant(due), instant(anchor), c.Period, left
}

// nextOf is the wait that a fired timer leaves behind; nil: it fires no more. The next time is the first one plus n periods, so a
// cycle never drifts; those that are overdue by then coalesce.
func (r *run) nextOf(w *wait) *wait {
	if w.Period == "" || w.Left == 1 {
		return nil
	}
	now := r.at
	if w.Due.After(now) {
		now = w.Due
	}
	due, place, err := bpmn.Cycle{Period: w.Period}.After(w.Anchor, now)
	if err != nil {
		r.badTimer(w.node, err)
	}
	if due.IsZero() {
		return nil
	}
	next := &wait{Wait: w.Wait}
	next.Due, next.Fired = instant(due), max(place, w.Fired+1)
	if next.Left > 0 {
		next.Left--
	}
	return next
}
