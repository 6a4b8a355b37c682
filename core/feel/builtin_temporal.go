package feel

import (
	"time"
)

// temporals are the functions of DMN 1.5, 10.3.4.7 and 10.3.4.10.
var temporals = definitions{
	"now()":   func(m *machine, _ []Value) Value { return DateTimeOf(m.env.Now) },
	"today()": func(m *machine, _ []Value) Value { return dateOf(m.env.Now.UTC()) },
	"is(value1?, value2?)": func(m *machine, args []Value) Value {
		return Boolean(m.identical(argument(args, 0), argument(args, 1)))
	},
	"day of year(date)":                   calendar(func(t time.Time) Value { return numberOf(int64(t.YearDay())) }),
	"day of week(date)":                   calendar(func(t time.Time) Value { return String(t.Weekday().String()) }),
	"month of year(date)":                 calendar(func(t time.Time) Value { return String(t.Month().String()) }),
	"week of year(date)":                  calendar(weekOfYear),
	"years and months duration(from, to)": yearsAndMonths,
}

func calendar(read func(time.Time) Value) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		dt, ok := asDateTime(single(args[0]))
		if !ok {
			return nil
		}
		return read(dt.Date.start())
	}
}

func weekOfYear(t time.Time) Value {
	_, week := t.ISOWeek()
	return numberOf(int64(week))
}

func yearsAndMonths(_ *machine, args []Value) Value {
	from, ok := asDateTime(single(args[0]))
	to, both := asDateTime(single(args[1]))
	if !ok || !both {
		return nil
	}
	return monthsBetween(from.Date, to.Date)
}

// identical is the same element of the semantic domain: of one kind, and for times the same zone too.
func (m *machine) identical(a, b Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a.Kind() != b.Kind() {
		return false
	}
	switch x := a.(type) {
	case Time:
		y, _ := b.(Time)
		return x == y
	case DateTime:
		y, _ := b.(DateTime)
		return x == y
	}
	return m.same(a, b)
}
