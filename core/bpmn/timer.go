package bpmn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Cycle is how a timer repeats: an ISO 8601 repeating interval, R[n]/[start/]period, or a cron expression.
type Cycle struct {
	Repeats int64     // -1: without end
	Start   time.Time // zero: one period after it is armed
	Period  string    // ISO 8601 duration, or a cron expression
}

// ParseCycle reads a repeating interval, or a cron expression. A duration alone repeats without end.
func ParseCycle(text string) (Cycle, error) {
	text = strings.TrimSpace(text)
	c := Cycle{Repeats: -1, Period: text}
	if looksCron(text) {
		_, err := ParseCron(text)
		return c, err
	}
	parts := strings.Split(text, "/")
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
	period, err := ParsePeriod(parts[0])
	if err != nil {
		return Cycle{}, err
	}
	if later, err := period.After(time.Unix(0, 0), 1); err != nil || !later.After(time.Unix(0, 0)) {
		return Cycle{}, fmt.Errorf("%q: the period has to be longer than nothing", text)
	}
	c.Period = parts[0]
	return c, nil
}

// Period is an ISO 8601 duration. Other than FEEL's durations it may have months and days at once, and weeks.
type Period struct {
	Months feel.YearsMonths
	Rest   feel.DaysTime
}

// ParsePeriod reads an ISO 8601 duration, as P1M, P1M10DT2H or P2W.
func ParsePeriod(text string) (Period, error) {
	bad := fmt.Errorf("%q is no ISO 8601 duration: write it as PT10M, P1D or P1M", text)
	body, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	body, found := strings.CutPrefix(body, "P")
	if !found || body == "" {
		return Period{}, bad
	}
	date, clock, timed := strings.Cut(body, "T")
	cut := strings.LastIndexAny(date, "YM") + 1
	months, days := date[:cut], date[cut:]
	if weeks, isWeeks := strings.CutSuffix(days, "W"); isWeeks {
		n, err := strconv.ParseInt(weeks, 10, 32)
		if err != nil || n < 0 || timed {
			return Period{}, bad
		}
		days = strconv.FormatInt(7*n, 10) + "D"
	}
	var p Period
	if timed {
		days += "T" + clock
	}
	for _, part := range []string{months, days} {
		if part == "" {
			continue
		}
		v, err := feel.ParseDuration("P" + part)
		if err != nil {
			return Period{}, bad
		}
		switch v := v.(type) {
		case feel.YearsMonths:
			p.Months = v
		case feel.DaysTime:
			p.Rest = v
		}
	}
	if negative {
		p = Period{-p.Months, feel.DaysTime{Seconds: -p.Rest.Seconds, Nanos: -p.Rest.Nanos}}
	}
	return p, nil
}

// After is an instant and n periods: months first, by the calendar in UTC, then days and time.
func (p Period) After(t time.Time, n int64) (time.Time, error) {
	later, err := feel.AddDuration(t, p.Months*feel.YearsMonths(n))
	if err != nil {
		return time.Time{}, err
	}
	return later.Add(time.Duration(n) * (time.Duration(p.Rest.Seconds)*time.Second + time.Duration(p.Rest.Nanos))), nil
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

// After is the first instant after now of a cycle that was first due at anchor, and its place: the period is added that many times, so
// it never drifts. A zero time is none. Cron expressions have no anchor, and no places.
func (c Cycle) After(anchor, now time.Time) (due time.Time, place int64, err error) {
	if looksCron(c.Period) {
		cron, err := ParseCron(c.Period)
		if err != nil {
			return time.Time{}, 0, err
		}
		due, _ = cron.Next(now)
		return due, 0, nil
	}
	period, err := ParsePeriod(c.Period)
	if err != nil {
		return time.Time{}, 0, err
	}
	if anchor.After(now) {
		return anchor, 0, nil
	}
	low, high := int64(0), int64(1)
	for {
		if due, err = period.After(anchor, high); err != nil || due.After(now) {
			break
		}
		low, high = high, high*2
	}
	for err == nil && high-low > 1 {
		middle := low + (high-low)/2
		at, bad := period.After(anchor, middle)
		if err = bad; at.After(now) {
			due, high = at, middle
		} else {
			low = middle
		}
	}
	return due, high, err
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
		{"timeDuration", &spec.Duration, func(s string) error { _, err := ParsePeriod(s); return err }},
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
	if looksISO(source) || looksCron(source) {
		c.refuse(e, fault.ModelExpression, "%v; correct it, or write = and a FEEL expression", err)
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
