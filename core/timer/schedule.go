// Package timer counts the fires of timer start events. Calendar durations add in UTC; a date without a zone is UTC. It fires nothing.
package timer

import (
	"errors"
	"fmt"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// First is when a timer start event fires first, armed at now, and how often in all (-1 without end). A date that has passed is never
// armed: ok is false, so that deploying a package again does not start what has been started.
func First(spec *bpmn.TimerSpec, now time.Time) (due time.Time, left int, ok bool, err error) {
	switch {
	case spec == nil:
		return time.Time{}, 0, false, errors.New("there is no such timer start event")
	case spec.Date != nil:
		text, err := text(spec.Date, now)
		if err != nil {
			return time.Time{}, 0, false, err
		}
		due, err = bpmn.ParseInstant(text)
		return due, 1, due.After(now), err
	case spec.Duration != nil:
		text, err := text(spec.Duration, now)
		if err != nil {
			return time.Time{}, 0, false, err
		}
		d, err := bpmn.ParsePeriod(text)
		if err != nil {
			return time.Time{}, 0, false, err
		}
		due, err = d.After(now, 1)
		return due, 1, true, err
	}
	c, err := cycle(spec, now)
	if err != nil {
		return time.Time{}, 0, false, err
	}
	due, count, err := c.First(now)
	return due, int(count), !due.IsZero(), err
}

// Next is the fire after the one that is due, and how many are left with it: zero time and zero left when that was the last. Fires that
// were missed are over; they are made up by the one that is due, not by a burst.
func Next(spec *bpmn.TimerSpec, s ports.Schedule, now time.Time) (time.Time, int, error) {
	if spec == nil || spec.Cycle == nil {
		return time.Time{}, 0, nil
	}
	c, err := cycle(spec, s.Due)
	if err != nil {
		return time.Time{}, 0, err
	}
	if s.Due.After(now) {
		now = s.Due
	}
	if !c.Anchor.IsZero() {
		s.Anchor = c.Anchor
	}
	_, before, err := c.After(s.Anchor, s.Due.Add(-time.Microsecond))
	if err != nil {
		return time.Time{}, 0, err
	}
	due, passed, err := c.After(s.Anchor, now)
	if err != nil {
		return time.Time{}, 0, err
	}
	left := remaining(int64(s.Left), passed-before)
	if left == 0 || due.IsZero() {
		return time.Time{}, 0, nil
	}
	return due, left, nil
}

func remaining(repeats, gone int64) int {
	if repeats < 0 {
		return -1
	}
	return int(max(0, repeats-gone))
}

func cycle(spec *bpmn.TimerSpec, now time.Time) (bpmn.Cycle, error) {
	source, err := text(spec.Cycle, now)
	if err != nil {
		return bpmn.Cycle{}, err
	}
	return bpmn.ParseCycle(source)
}

// text is the timer's definition; an expression sees no variables, since there is no instance yet.
func text(t *bpmn.Text, now time.Time) (string, error) {
	if t.Expr == nil {
		return t.Literal, nil
	}
	v, err := t.Expr.Eval(feel.Env{Scope: feel.Context{}, Now: now})
	if err != nil {
		return "", err
	}
	if v == nil {
		return "", fmt.Errorf("the timer's expression %q gives null", t.Expr.Source)
	}
	return feel.Text(v), nil
}
