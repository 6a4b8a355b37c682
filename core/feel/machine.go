package feel

import "fmt"

// Bounds on what one source or one evaluation may cost.
const (
	maxSource    = 64 << 10  // bytes of a source
	maxNesting   = 150       // nested constructs of a source, levels of a value
	maxDepth     = 10_000    // constructs that are being evaluated within one another, through all invocations
	maxList      = 100_000   // elements of a list that an evaluation makes
	maxString    = 1 << 20   // bytes of a string that an evaluation makes
	defaultSteps = 1_000_000 // steps of an evaluation
)

// LimitError says which bound an evaluation ran into.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "feel: " + e.Limit }

// meter counts what an evaluation, and all that it calls, has cost.
type meter struct{ steps, depth int }

// Metered answers the same environment with its budget made a common one: all evaluations in it spend from Steps together.
func (e Env) Metered() Env {
	e.meter = newMeter(e.Steps)
	return e
}

// In answers the same environment, with the same budget, and another scope.
func (e Env) In(scope Scope) Env {
	e.Scope = scope
	return e
}

// Spend takes steps from the budget of a metered environment, for work that is done outside of FEEL. The error is a *LimitError.
func (e Env) Spend(steps int) error {
	if e.meter == nil {
		return nil
	}
	if e.meter.steps -= steps; e.meter.steps < 0 {
		return &LimitError{Limit: overspent}
	}
	return nil
}

const overspent = "more steps than its budget allows"

func newMeter(steps int) *meter {
	if steps <= 0 {
		steps = defaultSteps
	}
	return &meter{steps: steps}
}

// machine is one evaluation. A bound that is hit unwinds it by a panic that never leaves this package.
type machine struct {
	env Env
	*meter
}

func newMachine(env Env) *machine {
	if env.meter != nil {
		return &machine{env: env, meter: env.meter}
	}
	alone := &struct { // one allocation for both
		machine machine
		meter   meter
	}{meter: *newMeter(env.Steps)}
	env.meter = &alone.meter
	alone.machine = machine{env: env, meter: env.meter}
	return &alone.machine
}

// unwind carries an error from the depth of an evaluation to its start.
type unwind struct{ err error }

func (m *machine) fail(format string, args ...any) {
	panic(unwind{&LimitError{Limit: fmt.Sprintf(format, args...)}})
}

func (m *machine) recover(result *Value, err *error) {
	switch cause := recover().(type) {
	case nil:
	case unwind:
		*result, *err = nil, cause.err
	default:
		panic(cause)
	}
}

func (m *machine) eval(n node, f *frame) Value {
	m.descend()
	v := n.eval(m, f)
	m.depth--
	return v
}

// descend pays for one construct or invocation, and guards the depth of their recursion.
func (m *machine) descend() {
	m.spend(1)
	if m.depth++; m.depth > maxDepth {
		m.fail("nested more than %d constructs deep", maxDepth)
	}
}

func (m *machine) spend(steps int) {
	if m.steps -= steps; m.steps < 0 {
		m.fail(overspent)
	}
}

// list checks and pays for a list that the evaluation made.
func (m *machine) list(l List) Value {
	m.room(len(l))
	return l
}

// room checks and pays for a list of n elements before it is made.
func (m *machine) room(n int) {
	if n > maxList {
		m.fail("a list of more than %d elements", maxList)
	}
	m.spend(n)
}

// text checks and pays for a string that the evaluation made.
func (m *machine) text(s string) Value {
	m.length(len(s))
	return String(s)
}

func (m *machine) length(n int) {
	if n > maxString {
		m.fail("a string of more than %d bytes", maxString)
	}
	m.spend(n / 64)
}

// measure pays for every part of a value, as often as it is met: lists may hold one another over and over, and what walks such a
// value walks all of it. What nests too deeply fails.
func (m *machine) measure(v Value) { m.walk(v, 0) }

func (m *machine) walk(v Value, depth int) {
	if depth > maxNesting {
		m.fail("a value nested more than %d levels", maxNesting)
	}
	switch v := v.(type) {
	case String:
		m.spend(len(v) / 64)
	case List:
		m.spend(len(v))
		for _, item := range v {
			m.walk(item, depth+1)
		}
	case Context:
		m.spend(len(v))
		for _, item := range v {
			m.walk(item, depth+1)
		}
	case Range:
		m.walk(v.Low, depth+1)
		m.walk(v.High, depth+1)
	}
}

// equal is Equal, paid for.
func (m *machine) equal(a, b Value) (equal, ok bool) {
	m.measure(a)
	return Equal(a, b)
}

// same reports whether two values are equal, where values that cannot be compared are not.
func (m *machine) same(a, b Value) bool {
	equal, ok := m.equal(a, b)
	return ok && equal
}

// call invokes a function. What is no function, or does not take these arguments, gives null.
func (m *machine) call(callee Value, args []Value) Value {
	fn, ok := callee.(*Function)
	if !ok || !fn.takes(len(args)) {
		return nil
	}
	for _, arg := range args {
		switch arg := arg.(type) {
		case String:
			m.spend(len(arg) / 64)
		case List:
			m.spend(len(arg))
		}
	}
	m.descend()
	result := fn.run(m, args)
	m.depth--
	return result
}

// frame is one binding of a local name, or the entries of a context, on top of the frames it was made in.
type frame struct {
	parent *frame
	name   string
	value  Value
	scope  Scope // not nil: entries rather than one binding
}

func (f *frame) bind(name string, value Value) *frame {
	return &frame{parent: f, name: name, value: value}
}

func (f *frame) lookup(name string) (Value, bool) {
	for ; f != nil; f = f.parent {
		if f.scope != nil {
			if v, ok := f.scope.Lookup(name); ok {
				return v, true
			}
		} else if f.name == name {
			return f.value, true
		}
	}
	return nil, false
}
