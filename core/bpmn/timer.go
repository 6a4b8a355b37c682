package bpmn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Cycle is an ISO 8601 repeating interval: R[n]/[start/]period.
type Cycle struct {
	Repeats int64     // -1: without end
	Start   time.Time // zero: one period after it is armed
	Period  string    // ISO 8601 duration
}

// ParseCycle reads a repeating interval. A duration alone repeats without end.
func ParseCycle(text string) (Cycle, error) {
	c := Cycle{Repeats: -1}
	parts := strings.Split(strings.TrimSpace(text), "/")
	if count, repeats := strings.CutPrefix(parts[0], "R"); repeats {
		if count != "" {
			n, err := strconv.ParseInt(count, 10, 32)
			if err != nil || n < 0 {
				return Cycle{}, fmt.Errorf("%q: the number of repeats is not a whole number", text)
			}
			c.Repeats = n
		}
		parts = parts[1:]
	}
	if len(parts) == 2 {
		start, err := ParseInstant(parts[0])
		if err != nil {
			return Cycle{}, err
		}
		c.Start, parts = start, parts[1:]
	}
	if len(parts) != 1 {
		return Cycle{}, fmt.Errorf("%q is no repeating interval: write R[n]/[start/]period, as R3/PT10M", text)
	}
	period, err := feel.ParseDuration(parts[0])
	if err != nil {
		return Cycle{}, err
	}
	if later, err := feel.AddDuration(time.Unix(0, 0), period); err != nil || !later.After(time.Unix(0, 0)) {
		return Cycle{}, fmt.Errorf("%q: the period has to be longer than nothing", text)
	}
	c.Period = parts[0]
	return c, nil
}

// ParseInstant reads an ISO 8601 date and time, or date. Without a zone it is UTC.
func ParseInstant(text string) (time.Time, error) {
	if dt, err := feel.ParseDateTime(strings.TrimSpace(text)); err == nil {
		return dt.Instant().UTC(), nil
	}
	d, err := feel.ParseDate(strings.TrimSpace(text))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no ISO 8601 date and time", text)
	}
	return time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC), nil
}

// Nth is the n-th instant of a cycle that was first due at anchor: the period is added n times, so it never drifts.
func (c Cycle) Nth(anchor time.Time, n int64) (time.Time, error) {
	period, err := feel.ParseDuration(c.Period)
	if err != nil {
		return time.Time{}, err
	}
	switch p := period.(type) {
	case feel.DaysTime:
		return anchor.Add(time.Duration(n) * (time.Duration(p.Seconds)*time.Second + time.Duration(p.Nanos))), nil
	case feel.YearsMonths:
		return feel.AddDuration(anchor, feel.YearsMonths(int64(p)*n))
	}
	return time.Time{}, fmt.Errorf("%q is no period", c.Period)
}

// timer reads a timer event definition.
func (c *compiler) timer(e *element) *TimerSpec {
	spec := &TimerSpec{}
	count := 0
	for _, part := range []struct {
		name  string
		into  **Text
		valid func(string) error
	}{
		{"timeDate", &spec.Date, func(s string) error { _, err := ParseInstant(s); return err }},
		{"timeDuration", &spec.Duration, func(s string) error { _, err := feel.ParseDuration(s); return err }},
		{"timeCycle", &spec.Cycle, func(s string) error { _, err := ParseCycle(s); return err }},
	} {
		if at := e.child(part.name); at != nil {
			count++
			*part.into = c.timerText(at, part.valid)
		}
	}
	if count != 1 {
		c.refuse(e, fault.ModelEventMisplaced, "it needs exactly one of timeDate, timeDuration and timeCycle; it has %d", count)
	}
	return spec
}

// timerText reads ISO 8601 text, or else a FEEL expression for it.
func (c *compiler) timerText(e *element, valid func(string) error) *Text {
	source := e.content()
	if source == "" {
		c.refuse(e, fault.ModelExpression, "it is empty; write ISO 8601, or = and a FEEL expression")
		return nil
	}
	err := valid(source)
	if err == nil {
		if e.name == "timeDate" && !zoned(source) {
			c.warn(e, fault.ModelExpression, "the date %q has no zone and is read as UTC; add Z or an offset", source)
		}
		return &Text{Literal: source}
	}
	if looksISO(source) {
		c.refuse(e, fault.ModelExpression, "%v; write ISO 8601, or = and a FEEL expression", err)
		return nil
	}
	if x := c.expression(e, source); x != nil {
		return &Text{Expr: x}
	}
	return nil
}

// looksISO says that text was meant to be ISO 8601, so that its mistakes are not taken for FEEL.
func looksISO(text string) bool {
	text = strings.TrimPrefix(text, "-")
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		return text != ""
	}
	return len(text) > 1 && (text[0] == 'P' || text[0] == 'R') && (text[1] >= '0' && text[1] <= '9' || text[1] == 'T' || text[1] == '/')
}

func zoned(text string) bool {
	_, clock, timed := strings.Cut(text, "T")
	return timed && strings.ContainsAny(clock, "Z+-@")
}
