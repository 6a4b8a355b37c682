package feel

type (
	arithmeticNode struct {
		operator    string
		left, right node
	}
	negateNode struct{ operand node }
)

func (n *arithmeticNode) eval(m *machine, f *frame) Value {
	left, right := m.eval(n.left, f), m.eval(n.right, f)
	if left == nil || right == nil {
		return nil
	}
	if a, ok := left.(Number); ok {
		if b, ok := right.(Number); ok {
			m.weigh(a, b)
		}
	}
	switch n.operator {
	case "+":
		return m.add(left, right)
	case "-":
		return subtract(left, right)
	case "*":
		return multiply(left, right)
	case "/":
		return divide(left, right)
	}
	base, ok := left.(Number)
	exponent, isNumber := right.(Number)
	if !ok || !isNumber {
		return nil
	}
	m.spend(stepsOfPower)
	return base.power(exponent)
}

func (m *machine) add(a, b Value) Value {
	switch a := a.(type) {
	case Number:
		if b, ok := b.(Number); ok {
			m.weigh(a, b)
			return a.add(b)
		}
	case String:
		if b, ok := b.(String); ok {
			m.length(len(a) + len(b))
			return a + b
		}
	case DaysTime, YearsMonths:
		switch b.(type) {
		case Date, Time, DateTime:
			return shift(b, a, 1)
		}
		return addDurations(a, b, 1)
	case Date, Time, DateTime:
		return shift(a, b, 1)
	}
	return nil
}

func subtract(a, b Value) Value {
	switch a := a.(type) {
	case Number:
		if b, ok := b.(Number); ok {
			return a.subtract(b)
		}
	case DaysTime, YearsMonths:
		return addDurations(a, b, -1)
	case Date, Time, DateTime:
		switch b.(type) {
		case DaysTime, YearsMonths:
			return shift(a, b, -1)
		}
		return difference(a, b)
	}
	return nil
}

func multiply(a, b Value) Value {
	if _, ok := a.(Number); !ok {
		a, b = b, a
	}
	factor, ok := a.(Number)
	if !ok {
		return nil
	}
	switch b := b.(type) {
	case Number:
		return factor.multiply(b)
	case DaysTime:
		return daysTimeOf(b.number().multiply(factor))
	case YearsMonths:
		return monthsOf(numberOf(int64(b)).multiply(factor))
	}
	return nil
}

func divide(a, b Value) Value {
	switch a := a.(type) {
	case Number:
		if b, ok := b.(Number); ok {
			return a.divide(b)
		}
	case DaysTime:
		switch b := b.(type) {
		case Number:
			return daysTimeOf(a.number().divide(b))
		case DaysTime:
			return a.number().divide(b.number())
		}
	case YearsMonths:
		switch b := b.(type) {
		case Number:
			return monthsOf(numberOf(int64(a)).divide(b))
		case YearsMonths:
			return numberOf(int64(a)).divide(numberOf(int64(b)))
		}
	}
	return nil
}

func (n *negateNode) eval(m *machine, f *frame) Value {
	switch operand := m.eval(n.operand, f).(type) {
	case Number:
		return operand.negate()
	case DaysTime:
		return DaysTime{Seconds: -operand.Seconds, Nanos: -operand.Nanos}
	case YearsMonths:
		return -operand
	}
	return nil
}
