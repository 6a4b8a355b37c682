package feel

// The operators of three-valued logic, and the tests.
type (
	andNode     struct{ left, right node }
	orNode      struct{ left, right node }
	compareNode struct {
		operator    string
		left, right node
	}
	betweenNode struct{ value, low, high node }
	inNode      struct {
		value node
		tests []node
	}
	unaryNode struct {
		negated bool
		tests   []node
	}
	operatorTest struct {
		operator string
		end      node
	}
	valueTest struct {
		value      node
		readsInput bool
	}
)

func (n *andNode) eval(m *machine, f *frame) Value {
	left := m.eval(n.left, f)
	if left == Boolean(false) {
		return left
	}
	right := m.eval(n.right, f)
	if right == Boolean(false) {
		return right
	}
	if left == Boolean(true) && right == Boolean(true) {
		return left
	}
	return nil
}

func (n *orNode) eval(m *machine, f *frame) Value {
	left := m.eval(n.left, f)
	if left == Boolean(true) {
		return left
	}
	right := m.eval(n.right, f)
	if right == Boolean(true) {
		return right
	}
	if left == Boolean(false) && right == Boolean(false) {
		return left
	}
	return nil
}

func (n *compareNode) eval(m *machine, f *frame) Value {
	return m.compare(n.operator, m.eval(n.left, f), m.eval(n.right, f))
}

// compare answers a Boolean, or null where the operands cannot be compared.
func (m *machine) compare(operator string, a, b Value) Value {
	if operator == "=" || operator == "!=" {
		equal, ok := m.equal(a, b)
		if !ok {
			return nil
		}
		return Boolean(equal == (operator == "="))
	}
	order, ok := Compare(a, b)
	if !ok {
		return nil
	}
	switch operator {
	case "<":
		return Boolean(order < 0)
	case "<=":
		return Boolean(order <= 0)
	case ">":
		return Boolean(order > 0)
	default:
		return Boolean(order >= 0)
	}
}

func (n *betweenNode) eval(m *machine, f *frame) Value {
	value := m.eval(n.value, f)
	low, ok := Compare(value, m.eval(n.low, f))
	high, both := Compare(value, m.eval(n.high, f))
	if !ok || !both {
		return nil
	}
	return Boolean(low >= 0 && high <= 0)
}

func (n *inNode) eval(m *machine, f *frame) Value {
	return m.any(n.tests, f.bind(inputName, m.eval(n.value, f)))
}

func (n *unaryNode) eval(m *machine, f *frame) Value {
	passed := m.any(n.tests, f)
	if truth, ok := passed.(Boolean); ok && n.negated {
		return !truth
	}
	return passed
}

// any is the disjunction of tests: true when one is true, null when none is and one is null.
func (m *machine) any(tests []node, f *frame) Value {
	var result Value = Boolean(false)
	for _, test := range tests {
		switch m.eval(test, f) {
		case Boolean(true):
			return Boolean(true)
		case nil:
			result = nil
		}
	}
	return result
}

func (m *machine) input(f *frame) Value {
	if v, ok := f.lookup(inputName); ok {
		return v
	}
	if m.env.Scope == nil {
		return nil
	}
	v, _ := m.env.Scope.Lookup(inputName)
	return v
}

func (n *operatorTest) eval(m *machine, f *frame) Value {
	return m.compare(n.operator, m.input(f), m.eval(n.end, f))
}

// eval is the last rows of DMN 1.5, table 55: a condition on the input, or a value, list or range that holds it.
func (n *valueTest) eval(m *machine, f *frame) Value {
	value := m.eval(n.value, f)
	if truth, ok := value.(Boolean); ok && n.readsInput {
		return truth
	}
	if _, isRange := n.value.(*rangeNode); isRange && value == nil {
		return nil
	}
	return m.holds(value, m.input(f))
}

// holds reports whether an input is the value, is in the range, or is one of a list's values or in one of its ranges.
func (m *machine) holds(value, input Value) Value {
	switch value := value.(type) {
	case Range:
		return value.includes(input)
	case List:
		if m.same(value, input) {
			return Boolean(true)
		}
		var result Value = Boolean(false)
		for _, item := range value {
			var held Value
			if _, nested := item.(List); nested {
				held = m.compare("=", item, input)
			} else {
				held = m.holds(item, input)
			}
			if held == Boolean(true) {
				return held
			}
		}
		return result
	}
	return m.compare("=", input, value)
}

// includes answers whether a value lies in the range, null where it cannot be compared with its ends.
func (r Range) includes(v Value) Value {
	if r.Low != nil {
		order, ok := Compare(v, r.Low)
		if !ok {
			return nil
		}
		if order < 0 || order == 0 && !r.LowClosed {
			return Boolean(false)
		}
	}
	if r.High != nil {
		order, ok := Compare(v, r.High)
		if !ok {
			return nil
		}
		if order > 0 || order == 0 && !r.HighClosed {
			return Boolean(false)
		}
	}
	return Boolean(true)
}
