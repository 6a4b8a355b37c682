package bpmn

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cron is a cron expression as modelling tools write it: a second, a minute, an hour, a day of the month, a month, a day of the week, and
// perhaps a year. Its instants are UTC. Where a day of month and a day of week are given, both have to hold. Days of the week have names:
// engines number them differently.
type Cron struct {
	seconds, minutes, hours, months, years set
	days                                   []dayTest
}

// set is numbers from 0 to 63; years count from 2020.
type set uint64

const firstYear, lastYear = 2020, 2083

func (s set) has(n int) bool { return n >= 0 && n < 64 && s&(1<<n) != 0 }

// next is the first number of the set from n on; false: there is none.
func (s set) next(n int) (int, bool) {
	rest := s >> n << n
	return bits.TrailingZeros64(uint64(rest)), n < 64 && rest != 0
}

// dayTest says that a day is one of those that a field means.
type dayTest func(day time.Time) bool

var cronMacros = map[string]string{
	"@yearly": "0 0 0 1 1 *", "@annually": "0 0 0 1 1 *", "@monthly": "0 0 0 1 * *", "@weekly": "0 0 0 * * SUN",
	"@daily": "0 0 0 * * *", "@midnight": "0 0 0 * * *", "@hourly": "0 0 * * * *",
}

var (
	monthNames = []string{"", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

// looksCron says that text was meant to be a cron expression: no interval and no FEEL looks like one.
func looksCron(text string) bool {
	if name, macro := strings.CutPrefix(text, "@"); macro {
		return name != "" && name[0] != '"'
	}
	return len(strings.Fields(text)) >= 5 && strings.IndexFunc(text, func(r rune) bool { return r == '*' || r >= '0' && r <= '9' }) == 0
}

// ParseCron reads a cron expression. One that never comes is an error.
func ParseCron(text string) (Cron, error) {
	if macro, known := cronMacros[strings.ToLower(strings.TrimSpace(text))]; known {
		text = macro
	}
	fields := strings.Fields(strings.ToUpper(text))
	if len(fields) != 6 && len(fields) != 7 {
		return Cron{}, fmt.Errorf("%q is no cron expression: write second, minute, hour, day of month, month and day of week, as 0 0 9 * * MON-FRI", text)
	}
	var c Cron
	var day, weekday dayTest
	var errs [7]error
	c.seconds, errs[0] = cronSet(fields[0], 0, 59, nil)
	c.minutes, errs[1] = cronSet(fields[1], 0, 59, nil)
	c.hours, errs[2] = cronSet(fields[2], 0, 23, nil)
	day, errs[3] = cronDay(fields[3])
	c.months, errs[4] = cronSet(fields[4], 1, 12, monthNames)
	weekday, errs[5] = cronWeekday(fields[5])
	c.years = ^set(0)
	if len(fields) == 7 {
		c.years, errs[6] = cronYears(fields[6])
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Cron{}, fmt.Errorf("cron expression %q: %w", text, err)
	}
	c.days = []dayTest{day, weekday}
	if _, comes := c.Next(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)); !comes {
		return Cron{}, fmt.Errorf("cron expression %q: there is no such day", text)
	}
	return c, nil
}

// Next is the first instant after another; false: there is none until 2083.
func (c Cron) Next(after time.Time) (time.Time, bool) {
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	for ; t.Year() <= lastYear; t = midnightAfter(t) {
		if !c.on(t) {
			continue
		}
		if at, found := c.within(t); found {
			return at, true
		}
	}
	return time.Time{}, false
}

func midnightAfter(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
}

func (c Cron) on(day time.Time) bool {
	return c.years.has(day.Year()-firstYear) && c.months.has(int(day.Month())) && !slices.ContainsFunc(c.days, func(holds dayTest) bool { return !holds(day) })
}

// within is the first time of day from t on, on its day.
func (c Cron) within(t time.Time) (time.Time, bool) {
	minute, second := t.Minute(), t.Second()
	for h, found := c.hours.next(t.Hour()); found; h, found = c.hours.next(h + 1) {
		if h > t.Hour() {
			minute, second = 0, 0
		}
		for m, found := c.minutes.next(minute); found; m, found = c.minutes.next(m + 1) {
			if m > minute {
				second = 0
			}
			if s, found := c.seconds.next(second); found {
				return time.Date(t.Year(), t.Month(), t.Day(), h, m, s, 0, time.UTC), true
			}
			second = 0
		}
		minute, second = 0, 0
	}
	return time.Time{}, false
}

// cronSet reads a field of numbers: *, n, n-m, n/step, names, and lists of them.
func cronSet(field string, low, high int, names []string) (set, error) {
	var all set
	for item := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		from, to, err := cronSpan(span, low, high, names)
		if err != nil {
			return 0, err
		}
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, fmt.Errorf("%q is no step", stepText)
			}
			if from == to {
				to = high
			}
		}
		for n := from; n <= to; n += step {
			all |= 1 << n
		}
	}
	return all, nil
}

func cronSpan(span string, low, high int, names []string) (from, to int, err error) {
	if span == "*" || span == "?" {
		return low, high, nil
	}
	first, last, isSpan := strings.Cut(span, "-")
	if from, err = cronNumber(first, low, high, names); err != nil {
		return 0, 0, err
	}
	to = from
	if isSpan {
		to, err = cronNumber(last, low, high, names)
	}
	if err == nil && to < from {
		err = fmt.Errorf("%q runs backwards", span)
	}
	return from, to, err
}

func cronNumber(text string, low, high int, names []string) (int, error) {
	if n := slices.Index(names, text); n >= 0 && text != "" {
		return n, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is no number from %d to %d", text, low, high)
	}
	return n, nil
}

func cronYears(field string) (set, error) {
	if field == "*" || field == "?" {
		return ^set(0), nil
	}
	var all set
	for item := range strings.SplitSeq(field, ",") {
		from, to, err := cronSpan(item, firstYear, lastYear, nil)
		if err != nil {
			return 0, err
		}
		for n := from; n <= to; n++ {
			all |= 1 << (n - firstYear)
		}
	}
	return all, nil
}

// cronDay reads a day of month: numbers, L (the last day), L-n, nW (the working day nearest to it), LW.
func cronDay(field string) (dayTest, error) {
	last := func(t time.Time) int { return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }
	if rest, found := strings.CutPrefix(field, "L-"); found {
		before, err := cronNumber(rest, 0, 30, nil)
		return func(t time.Time) bool { return t.Day() == last(t)-before }, err
	}
	switch number, working := strings.CutSuffix(field, "W"); {
	case field == "L":
		return func(t time.Time) bool { return t.Day() == last(t) }, nil
	case field == "LW":
		return func(t time.Time) bool { return t.Day() == workingDay(t, last(t)) }, nil
	case working:
		n, err := cronNumber(number, 1, 31, nil)
		return func(t time.Time) bool { return n <= last(t) && t.Day() == workingDay(t, n) }, err
	}
	days, err := cronSet(field, 1, 31, nil)
	return func(t time.Time) bool { return days.has(t.Day()) }, err
}

// workingDay is the day from Monday to Friday nearest to a day, in its month.
func workingDay(month time.Time, day int) int {
	t := time.Date(month.Year(), month.Month(), day, 0, 0, 0, 0, time.UTC)
	move := map[time.Weekday]int{time.Saturday: -1, time.Sunday: 1}[t.Weekday()]
	switch moved := t.AddDate(0, 0, move); {
	case moved.Month() == t.Month():
		return moved.Day()
	case move < 0:
		return day + 2
	}
	return day - 2
}

// cronWeekday reads a day of week: names, NAME#n (the n-th of the month), NAMEL (the last of the month).
func cronWeekday(field string) (dayTest, error) {
	if strings.ContainsAny(field, "01234567") && !strings.ContainsAny(field, "#/") {
		return nil, fmt.Errorf("the day of week %q is a number, which engines count from different days; write its name, as MON", field)
	}
	name, place, nth := strings.Cut(field, "#")
	if nth {
		day, n := slices.Index(dayNames, name), 0
		n, err := cronNumber(place, 1, 5, nil)
		if day < 0 {
			err = fmt.Errorf("%q is no day of week; write its name, as MON#2", field)
		}
		return func(t time.Time) bool { return int(t.Weekday()) == day && (t.Day()+6)/7 == n }, err
	}
	if name, final := strings.CutSuffix(field, "L"); final && slices.Contains(dayNames, name) {
		day := slices.Index(dayNames, name)
		return func(t time.Time) bool {
			return int(t.Weekday()) == day && t.AddDate(0, 0, 7).Month() != t.Month()
		}, nil
	}
	days, err := cronSet(field, 0, 6, dayNames)
	return func(t time.Time) bool { return days.has(int(t.Weekday())) }, err
}
