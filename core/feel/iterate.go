package feel

import "slices"

// iterator is one "name in domain" of for, some and every; end is the upper end of domain..end.
type iterator struct {
	name   string
	domain node
	end    node
}

type (
	forNode struct {
		iterators []iterator
		body      node
	}
	quantifiedNode struct {
		every     bool
		iterators []iterator
		condition node
	}
)

func (n *forNode) eval(m *machine, f *frame) Value {
	results := List{}
	partial := &frame{parent: f, name: "partial", value: results}
	ok := m.iterate(n.iterators, partial, func(inner *frame) bool {
		m.room(1)
		if len(results) == maxList {
			m.fail("a list of more than %d elements", maxList)
		}
		results = append(results, m.eval(n.body, inner))
		partial.value = slices.Clip(results)
		return true
	})
	if !ok {
		return nil
	}
	return results
}

// eval is the conjunction or disjunction of the conditions: null when none decides and one is not boolean.
func (n *quantifiedNode) eval(m *machine, f *frame) Value {
	var result Value = Boolean(n.every)
	ok := m.iterate(n.iterators, f, func(inner *frame) bool {
		truth, isBoolean := m.eval(n.condition, inner).(Boolean)
		if !isBoolean {
			result = nil
			return true
		}
		if bool(truth) != n.every {
			result = truth
			return false
		}
		return true
	})
	if !ok {
		return nil
	}
	return result
}

// iterate visits the product of the domains, the last one fastest, until visit answers false. It answers false where a domain is
// nothing to iterate over. A later domain may read the names before it.
func (m *machine) iterate(iterators []iterator, f *frame, visit func(*frame) bool) bool {
	stopped := false
	var walk func(rest []iterator, f *frame) bool
	walk = func(rest []iterator, f *frame) bool {
		if len(rest) == 0 {
			stopped = !visit(f)
			return true
		}
		domain, ok := m.domain(rest[0], f)
		if !ok {
			return false
		}
		for i := 0; i < domain.length && !stopped; i++ {
			m.spend(1)
			if !walk(rest[1:], f.bind(rest[0].name, domain.at(i))) {
				return false
			}
		}
		return true
	}
	return walk(iterators, f)
}

// domain is what an iterator runs over, made element by element.
type domain struct {
	length int
	at     func(i int) Value
}

func (m *machine) domain(it iterator, f *frame) (domain, bool) {
	value := m.eval(it.domain, f)
	if it.end != nil {
		return m.interval(value, m.eval(it.end, f))
	}
	switch value := value.(type) {
	case nil:
		return domain{}, false
	case List:
		return domain{len(value), func(i int) Value { return value[i] }}, true
	case Range:
		return m.elements(value)
	}
	return domain{1, func(int) Value { return value }}, true
}

// elements are the whole numbers or the days of a range with two ends.
func (m *machine) elements(r Range) (domain, bool) {
	if r.Low == nil || r.High == nil {
		return domain{}, false
	}
	all, ok := m.interval(r.Low, r.High)
	if !ok {
		return domain{}, false
	}
	at, first := all.at, 0
	if !r.LowClosed {
		first = 1
	}
	last := all.length
	if !r.HighClosed {
		last--
	}
	return domain{max(last-first, 0), func(i int) Value { return at(first + i) }}, true
}

// interval runs from one whole number or day to another, upwards or downwards.
func (m *machine) interval(from, to Value) (domain, bool) {
	var first, last int
	var element func(int) Value
	switch from := from.(type) {
	case Number:
		to, ok := to.(Number)
		if !ok {
			return domain{}, false
		}
		var isInt bool
		if first, ok = from.int(); !ok {
			return domain{}, false
		}
		if last, isInt = to.int(); !isInt {
			return domain{}, false
		}
		element = func(i int) Value { return numberOf(int64(i)) }
	case Date:
		to, ok := to.(Date)
		if !ok {
			return domain{}, false
		}
		first, last = from.days(), to.days()
		element = func(i int) Value { return dateOfDays(i) }
	default:
		return domain{}, false
	}
	length, step := last-first+1, 1
	if last < first {
		length, step = first-last+1, -1
	}
	if length > maxList || length < 0 {
		m.fail("an iteration over more than %d elements", maxList)
	}
	return domain{length, func(i int) Value { return element(first + i*step) }}, true
}
