package feel

import "cmp"

// Equal compares two values by DMN 1.5, table 42. ok is false where they are of kinds that cannot be compared, which FEEL
// answers with null; null itself equals null and nothing else.
func Equal(a, b Value) (equal, ok bool) {
	if a == nil || b == nil {
		return a == nil && b == nil, true
	}
	switch x := a.(type) {
	case List:
		if y, ok := b.(List); ok {
			return equalLists(x, y), true
		}
		return false, false
	case Context:
		if y, ok := b.(Context); ok {
			return equalContexts(x, y), true
		}
		return false, false
	case Range:
		if y, ok := b.(Range); ok {
			low, _ := Equal(x.Low, y.Low)
			high, _ := Equal(x.High, y.High)
			return low && high && x.LowClosed == y.LowClosed && x.HighClosed == y.HighClosed, true
		}
		return false, false
	case *Function:
		y, ok := b.(*Function)
		return x == y, ok
	case Boolean:
		y, ok := b.(Boolean)
		return x == y, ok
	}
	order, ok := Compare(a, b)
	return ok && order == 0, ok
}

func equalLists(a, b List) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if equal, _ := Equal(a[i], b[i]); !equal {
			return false
		}
	}
	return true
}

func equalContexts(a, b Context) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		other, ok := b[key]
		if equal, _ := Equal(value, other); !ok || !equal {
			return false
		}
	}
	return true
}

// ordered reports whether values of this kind have an order.
func ordered(v Value) bool {
	_, ok := Compare(v, v)
	return ok
}

// Compare orders two values of one ordered kind. ok is false for all others: null, kinds without an order, two kinds.
func Compare(a, b Value) (order int, ok bool) {
	switch a := a.(type) {
	case Number:
		if b, ok := b.(Number); ok {
			return a.Decimal.Cmp(b.Decimal), true
		}
	case String:
		if b, ok := b.(String); ok {
			return cmp.Compare(a, b), true
		}
	case Date:
		switch b := b.(type) {
		case Date:
			return cmp.Or(cmp.Compare(a.Year, b.Year), cmp.Compare(a.Month, b.Month), cmp.Compare(a.Day, b.Day)), true
		case DateTime:
			return a.midnight().compare(b)
		}
	case DateTime:
		switch b := b.(type) {
		case DateTime:
			return a.compare(b)
		case Date:
			return a.compare(b.midnight())
		}
	case Time:
		if b, ok := b.(Time); ok {
			return a.compare(b)
		}
	case DaysTime:
		if b, ok := b.(DaysTime); ok {
			return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Nanos, b.Nanos)), true
		}
	case YearsMonths:
		if b, ok := b.(YearsMonths); ok {
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}
