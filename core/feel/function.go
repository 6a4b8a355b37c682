package feel

import "slices"

// Parameter is one formal parameter of a function. The zero Type takes anything.
type Parameter struct {
	Name string
	Type Type
}

// Function is a function value: built in, defined in an expression, or given by a caller. Two are equal when they are the same.
type Function struct {
	name       string
	parameters []Parameter
	optional   int  // how many of the last parameters may be left out
	variadic   bool // the last parameter takes any number of arguments
	result     Type
	run        func(m *machine, args []Value) Value
	overloads  [][]string // names of the parameters of further signatures
}

// Kind is KindFunction.
func (*Function) Kind() Kind { return KindFunction }

// Name answers the name of a built-in or given function; a defined one has none.
func (f *Function) Name() string { return f.name }

// NewFunction makes a function of Go code. call runs with the environment, and so the budget, of the invocation; its error ends
// the evaluation and is what Eval answers.
func NewFunction(name string, parameters []Parameter, result Type, call func(env Env, args []Value) (Value, error)) *Function {
	f := &Function{name: name, parameters: parameters, result: result}
	f.run = func(m *machine, args []Value) Value {
		args, ok := f.fit(m, args)
		if !ok {
			return nil
		}
		v, err := call(m.env, args)
		if err != nil {
			panic(unwind{err})
		}
		return result.Coerce(v)
	}
	return f
}

// Builtin answers the built-in function of a name, or nil.
func Builtin(name string) *Function { return builtins[name] }

// Invoke calls the function, by names when there are any. Arguments that it does not take give null.
func (f *Function) Invoke(env Env, names []string, args []Value) (result Value, err error) {
	m := newMachine(env)
	defer m.recover(&result, &err)
	if len(names) > 0 {
		var ok bool
		if args, ok = f.arrange(names, args); !ok {
			return nil, nil
		}
	}
	return m.call(f, args), nil
}

func (f *Function) takes(count int) bool {
	if f.variadic {
		return count >= len(f.parameters)-f.optional
	}
	if count <= len(f.parameters) && count >= len(f.parameters)-f.optional {
		return true
	}
	return slices.ContainsFunc(f.overloads, func(names []string) bool { return len(names) == count })
}

// fit coerces arguments to the types of the parameters; one that does not fit fails the invocation (DMN 1.5, 10.3.2.13.3).
func (f *Function) fit(m *machine, args []Value) ([]Value, bool) {
	fitted := slices.Clone(args)
	for i, p := range f.parameters {
		if p.Type.Kind != "" {
			m.measure(args[i])
		}
		fitted[i] = p.Type.Coerce(args[i])
		if fitted[i] == nil && args[i] != nil {
			return nil, false
		}
	}
	return fitted, true
}

// arrange puts named arguments in the order of the parameters. What is left out in the middle is null.
func (f *Function) arrange(names []string, args []Value) ([]Value, bool) {
	signature := make([]string, len(f.parameters))
	for i, p := range f.parameters {
		signature[i] = p.Name
	}
	if ordered, ok := arrange(signature, len(signature)-f.optional, names, args); ok {
		return ordered, true
	}
	for _, overload := range f.overloads {
		if ordered, ok := arrange(overload, len(overload), names, args); ok {
			return ordered, true
		}
	}
	return nil, false
}

func arrange(signature []string, required int, names []string, args []Value) ([]Value, bool) {
	ordered := make([]Value, len(signature))
	given := make([]bool, len(signature))
	last := required
	for i, name := range names {
		at := slices.Index(signature, name)
		if at < 0 || given[at] {
			return nil, false
		}
		ordered[at], given[at] = args[i], true
		last = max(last, at+1)
	}
	return ordered[:last], !slices.Contains(given[:required], false)
}
