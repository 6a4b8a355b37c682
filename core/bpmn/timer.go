package bpmn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Cycle is how a timer repeats: an ISO 8601 repeating interval, or a cron expression.
type Cycle struct {
	Repeats int64     // -1: without end
	Anchor  time.Time // from where the times are counted; zero: from where it is armed, of which the first is one period away
	Period  string    // ISO 8601 duration, or a cron expression; negative: counted back from the anchor, which is the last time
}

// ParseCycle reads a repeating interval, R[n]/ and a period, a start and a period, a period and an end, or a start and an end; or a cron
// expression. A duration alone repeats without end.
func ParseCycle(text string) (Cycle, error) {
	text = strings.TrimSpace(text)
	c := Cycle{Repeats: -1, Period: text}
	if looksCron(text) {
		_, err := ParseCron(text)
		return c, err
	}
	interval := text
	if head, rest, found := strings.Cut(text, "/"); found && strings.HasPrefix(head, "R") {
		if count := head[1:]; count != "" {
			n, err := strconv.ParseInt(count, 10, 32)
			if err != nil || n < 0 {
				return Cycle{}, fmt.Errorf("%q: the number of repeats is not a whole number", text)
			}
			c.Repeats = n
		}
		interval = rest
	}
	if err := c.interval(interval); err != nil {
		return Cycle{}, err
	}
	period, err := ParsePeriod(strings.TrimPrefix(c.Period, "-"))
	if err != nil {
		return Cycle{}, err
	}
	if later, err := period.After(time.Unix(0, 0), 1); err != nil || !later.After(time.Unix(0, 0)) {
		return Cycle{}, fmt.Errorf("%q: the period has to be longer than nothing", text)
	}
	return c, nil
}

// interval reads what repeats.
func (c *Cycle) interval(text string) error {
	first, second := cutInterval(text)
	var err error
	switch {
	case strings.HasPrefix(first, "-"):
		return fmt.Errorf("%q: the period has to be longer than nothing", text)
	case second == "":
		c.Period = first
	case strings.HasPrefix(first, "P"):
		c.Period = "-" + first
		c.Anchor, err = ParseInstant(second)
	default:
		if c.Anchor, err = ParseInstant(first); err != nil {
			return err
		}
		if c.Period = second; !strings.HasPrefix(second, "P") {
			var end time.Time
			end, err = ParseInstant(second)
			between := end.Sub(c.Anchor)
			if err == nil && between <= 0 {
				return fmt.Errorf("%q: the end has to be after the start", text)
			}
			c.Period = feel.Text(feel.DaysTime{Seconds: int64(between / time.Second), Nanos: int32(between % time.Second)})
		}
	}
	return err
}

// cutInterval cuts an interval between its two parts: zones of time may have slashes of their own.
func cutInterval(text string) (first, second string) {
	for at := len(text) - 1; at > 0; at-- {
		if text[at] == '/' && looksISO(text[at+1:]) {
			return text[:at], text[at+1:]
		}
	}
	return text, ""
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
	const second = int64(time.Second)
	whole, nanos := n/second*int64(p.Rest.Nanos), n%second*int64(p.Rest.Nanos) // a time.Duration would end after 292 years
	return time.Unix(later.Unix()+n*p.Rest.Seconds+whole+nanos/second, int64(later.Nanosecond())+nanos%second).UTC(), nil
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

// First is when a cycle comes first, armed at now, and how often in all, -1 without end. Times that an anchor puts before now are over. A
// zero time: it never comes.
func (c Cycle) First(now time.Time) (due time.Time, left int64, err error) {
	if c.Repeats == 0 {
		return time.Time{}, 0, nil
	}
	if c.Anchor.IsZero() {
		due, _, err = c.After(now, now)
		return due, c.Repeats, err
	}
	due, place, err := c.After(c.Anchor, now)
	if err != nil || due.IsZero() {
		return time.Time{}, 0, err
	}
	if !c.back() {
		if c.Repeats < 0 {
			return due, -1, nil
		}
		if left = c.Repeats - place; left <= 0 {
			return time.Time{}, 0, nil
		}
		return due, left, nil
	}
	if left = 1 - place; c.Repeats > 0 && left > c.Repeats {
		left = c.Repeats
		due, err = c.at(c.Anchor, 1-left)
	}
	return due, left, err
}

func (c Cycle) back() bool { return strings.HasPrefix(c.Period, "-") }

// at is the time of a place, which for a cycle that is counted back are 0 and those before it.
func (c Cycle) at(anchor time.Time, place int64) (time.Time, error) {
	period, err := ParsePeriod(c.Period)
	if err != nil {
		return time.Time{}, err
	}
	if c.back() {
		place = -place
	}
	return period.After(anchor, place)
}

// After is the first instant after now of a cycle that is counted from an anchor, and its place: the period is added that many times, so
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
	if c.back() {
		return c.before(anchor, now)
	}
	if anchor.After(now) {
		return anchor, 0, nil
	}
	low, high := int64(0), int64(1)
	for {
		if due, err = c.at(anchor, high); err != nil || due.After(now) {
			break
		}
		low, high = high, high*2
	}
	for err == nil && high-low > 1 {
		middle := low + (high-low)/2
		at, bad := c.at(anchor, middle)
		if err = bad; at.After(now) {
			due, high = at, middle
		} else {
			low = middle
		}
	}
	return due, high, err
}

// before is the first instant after now of a cycle that is counted back from its end.
func (c Cycle) before(end, now time.Time) (due time.Time, place int64, err error) {
	if !end.After(now) {
		return time.Time{}, 0, nil
	}
	low, high := int64(0), int64(1) // low is after now, high is not
	for {
		at, err := c.at(end, -high)
		if err != nil {
			return time.Time{}, 0, err
		}
		if !at.After(now) {
			break
		}
		low, high = high, high*2
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		at, err := c.at(end, -middle)
		if err != nil {
			return time.Time{}, 0, err
		}
		if at.After(now) {
			low = middle
		} else {
			high = middle
		}
	}
	due, err = c.at(end, -low)
	return due, -low, err
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
