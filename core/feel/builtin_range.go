package feel

// intervals are the functions of DMN 1.5, 10.3.4.11: relations of points and ranges.
var intervals = definitions{
	"before(point1, point2)":          relation(before),
	"after(point1, point2)":           relation(func(a, b Range) Value { return before(b, a) }),
	"meets(range1, range2)":           rangesOnly(meets),
	"met by(range1, range2)":          rangesOnly(func(a, b Range) Value { return meets(b, a) }),
	"overlaps(range1, range2)":        rangesOnly(overlaps),
	"overlaps before(range1, range2)": rangesOnly(overlapsBefore),
	"overlaps after(range1, range2)":  rangesOnly(overlapsAfter),
	"finishes(point, range)":          relation(finishes),
	"finished by(range, point)":       relation(func(a, b Range) Value { return finishes(b, a) }),
	"includes(range, point)":          relation(contains),
	"during(point, range)":            relation(func(a, b Range) Value { return contains(b, a) }),
	"starts(point, range)":            relation(starts),
	"started by(range, point)":        relation(func(a, b Range) Value { return starts(b, a) }),
	"coincides(point1, point2)":       relation(coincides),
}

// relation lifts a relation of ranges to points too: a point is the range of it alone.
func relation(run func(a, b Range) Value) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		a, ok := asRange(single(args[0]))
		b, both := asRange(single(args[1]))
		if !ok || !both {
			return nil
		}
		return run(a, b)
	}
}

func rangesOnly(run func(a, b Range) Value) func(*machine, []Value) Value {
	return func(_ *machine, args []Value) Value {
		a, ok := as[Range](args[0])
		b, both := as[Range](args[1])
		if !ok || !both || !bounded(a) || !bounded(b) {
			return nil
		}
		return run(a, b)
	}
}

func asRange(v Value) (Range, bool) {
	if r, ok := v.(Range); ok {
		return r, bounded(r)
	}
	return Range{Low: v, High: v, LowClosed: true, HighClosed: true}, v != nil && ordered(v)
}

func bounded(r Range) bool { return r.Low != nil && r.High != nil }

// truth is a condition on comparisons, or null when one of them could not be made.
func truth(compared, holds bool) Value {
	if !compared {
		return nil
	}
	return Boolean(holds)
}

func before(a, b Range) Value {
	order, ok := Compare(a.High, b.Low)
	return truth(ok, order < 0 || order == 0 && (!a.HighClosed || !b.LowClosed))
}

func meets(a, b Range) Value {
	order, ok := Compare(a.High, b.Low)
	return truth(ok, order == 0 && a.HighClosed && b.LowClosed)
}

func overlaps(a, b Range) Value {
	first, ok := Compare(a.High, b.Low)
	second, both := Compare(a.Low, b.High)
	return truth(ok && both, (first > 0 || first == 0 && a.HighClosed && b.LowClosed) &&
		(second < 0 || second == 0 && a.LowClosed && b.HighClosed))
}

// lower orders the starts of two ranges: a closed end comes before an open one of the same value.
func lower(a, b Range) (int, bool) {
	order, ok := Compare(a.Low, b.Low)
	if order == 0 && a.LowClosed != b.LowClosed {
		if a.LowClosed {
			return -1, ok
		}
		return 1, ok
	}
	return order, ok
}

// upper orders the ends of two ranges: an open end comes before a closed one of the same value.
func upper(a, b Range) (int, bool) {
	order, ok := Compare(a.High, b.High)
	if order == 0 && a.HighClosed != b.HighClosed {
		if a.HighClosed {
			return 1, ok
		}
		return -1, ok
	}
	return order, ok
}

func overlapsBefore(a, b Range) Value {
	start, ok := lower(a, b)
	end, both := upper(a, b)
	touch, reach := overlaps(a, b).(Boolean)
	return truth(ok && both && reach, start < 0 && end <= 0 && bool(touch))
}

func overlapsAfter(a, b Range) Value {
	start, ok := lower(a, b)
	end, both := upper(a, b)
	touch, reach := overlaps(a, b).(Boolean)
	return truth(ok && both && reach, start > 0 && end >= 0 && bool(touch))
}

func finishes(a, b Range) Value {
	end, ok := upper(a, b)
	start, both := lower(a, b)
	return truth(ok && both, end == 0 && start >= 0)
}

func starts(a, b Range) Value {
	start, ok := lower(a, b)
	end, both := upper(a, b)
	return truth(ok && both, start == 0 && end <= 0)
}

func contains(a, b Range) Value {
	start, ok := lower(a, b)
	end, both := upper(a, b)
	return truth(ok && both, start <= 0 && end >= 0)
}

func coincides(a, b Range) Value {
	start, ok := lower(a, b)
	end, both := upper(a, b)
	return truth(ok && both, start == 0 && end == 0)
}
