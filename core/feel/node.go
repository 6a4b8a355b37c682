package feel

// node is one construct of a compiled expression.
type node interface {
	eval(m *machine, f *frame) Value
}

type (
	literal  struct{ value Value }
	nameNode struct {
		name    string
		builtin *Function // what the name means where nothing else has it; nil is unknown
	}
	listNode    struct{ items []node }
	contextNode struct {
		keys   []string
		values []node
	}
	rangeNode struct {
		low, high             node
		lowClosed, highClosed bool
	}
	operatorRange struct {
		operator string
		end      node
	}
	ifNode   struct{ condition, yes, no node }
	callNode struct {
		callee node
		names  []string // nil when the arguments are positional
		args   []node
	}
	functionNode struct {
		parameters []Parameter
		body       node
	}
	pathNode struct {
		source node
		name   string
	}
	filterNode   struct{ source, condition node }
	instanceNode struct {
		value node
		kind  Type
	}
)

func (n *literal) eval(*machine, *frame) Value { return n.value }

func (n *nameNode) eval(m *machine, f *frame) Value {
	v, _ := n.lookup(m, f)
	return v
}

// lookup answers what the name means: the innermost binding, else a variable of the scope, else a built-in function.
func (n *nameNode) lookup(m *machine, f *frame) (Value, bool) {
	if v, ok := f.lookup(n.name); ok {
		return v, true
	}
	if m.env.Scope != nil {
		if v, ok := m.env.Scope.Lookup(n.name); ok {
			return v, true
		}
	}
	if n.builtin != nil {
		return n.builtin, true
	}
	return nil, false
}

func (n *listNode) eval(m *machine, f *frame) Value {
	list := make(List, len(n.items))
	for i, item := range n.items {
		list[i] = m.eval(item, f)
	}
	return list
}

// eval evaluates the entries in their order; each sees those before it, and a function also those after it.
func (n *contextNode) eval(m *machine, f *frame) Value {
	context := make(Context, len(n.keys))
	inner := &frame{parent: f, scope: context}
	for i, key := range n.keys {
		context[key] = m.eval(n.values[i], inner)
	}
	return context
}

func (n *rangeNode) eval(m *machine, f *frame) Value {
	r := Range{Low: m.eval(n.low, f), High: m.eval(n.high, f), LowClosed: n.lowClosed, HighClosed: n.highClosed}
	if !bounded(r) {
		return nil
	}
	return r.checked()
}

// checked is the range, or null where its ends cannot bound one.
func (r Range) checked() Value {
	if r.Low == nil && r.High == nil {
		return nil
	}
	for _, end := range []Value{r.Low, r.High} {
		if end != nil && !ordered(end) {
			return nil
		}
	}
	if bounded(r) {
		if order, ok := Compare(r.Low, r.High); !ok || order > 0 || r.Low.Kind() != r.High.Kind() {
			return nil
		}
	}
	r.LowClosed = r.LowClosed && r.Low != nil
	r.HighClosed = r.HighClosed && r.High != nil
	return r
}

func (n *operatorRange) eval(m *machine, f *frame) Value {
	end := m.eval(n.end, f)
	switch n.operator {
	case "<", "<=":
		return Range{High: end, HighClosed: n.operator == "<="}.checked()
	case ">", ">=":
		return Range{Low: end, LowClosed: n.operator == ">="}.checked()
	case "=":
		return Range{Low: end, High: end, LowClosed: true, HighClosed: true}.checked()
	}
	return nil // != bounds no interval
}

func (n *ifNode) eval(m *machine, f *frame) Value {
	if m.eval(n.condition, f) == Boolean(true) {
		return m.eval(n.yes, f)
	}
	return m.eval(n.no, f)
}

func (n *callNode) eval(m *machine, f *frame) Value {
	callee := m.eval(n.callee, f)
	args := make([]Value, len(n.args))
	for i, arg := range n.args {
		args[i] = m.eval(arg, f)
	}
	if n.names != nil {
		fn, ok := callee.(*Function)
		if !ok {
			return nil
		}
		if args, ok = fn.arrange(n.names, args); !ok {
			return nil
		}
	}
	return m.call(callee, args)
}

// eval closes over the frames and the scope that the definition stands in.
func (n *functionNode) eval(m *machine, f *frame) Value {
	fn, scope := &Function{parameters: n.parameters}, m.env.Scope
	fn.run = func(m *machine, args []Value) Value {
		m = &machine{env: m.env.In(scope), meter: m.meter}
		args, ok := fn.fit(m, args)
		if !ok {
			return nil
		}
		inner := f
		for i, p := range n.parameters {
			inner = inner.bind(p.Name, args[i])
		}
		return m.eval(n.body, inner)
	}
	return fn
}

func (n *pathNode) eval(m *machine, f *frame) Value {
	return m.path(m.eval(n.source, f), n.name)
}

func (m *machine) path(source Value, name string) Value {
	list, ok := source.(List)
	if !ok {
		return property(source, name)
	}
	m.room(len(list))
	projected := make(List, len(list))
	for i, item := range list {
		projected[i] = m.path(item, name)
	}
	return projected
}

// eval filters by position when the condition is a number, else by its truth. What is no list is a list of one.
func (n *filterNode) eval(m *machine, f *frame) Value {
	source := m.eval(n.source, f)
	list, ok := source.(List)
	if !ok {
		if source == nil {
			return nil
		}
		list = List{source}
	}
	if constant, ok := n.condition.(*literal); ok {
		if number, ok := constant.value.(Number); ok {
			return element(list, number)
		}
	}
	if len(list) == 0 {
		return n.filterEmpty(m, f)
	}
	kept := List{}
	for i, item := range list {
		switch truth := m.eval(n.condition, itemFrame(f, item)).(type) {
		case Number:
			if i == 0 {
				return element(list, truth)
			}
		case Boolean:
			if truth {
				kept = append(kept, item)
			}
		}
	}
	return m.list(kept)
}

func (n *filterNode) filterEmpty(m *machine, f *frame) Value {
	if _, position := m.eval(n.condition, f).(Number); position {
		return nil
	}
	return List{}
}

// itemFrame binds item, and above it the entries of an item that is a context.
func itemFrame(f *frame, item Value) *frame {
	f = f.bind("item", item)
	if context, ok := item.(Context); ok {
		f = &frame{parent: f, scope: context}
	}
	return f
}

// element answers the element at a position that counts from 1, or backwards from -1.
func element(list List, position Number) Value {
	i, ok := position.int()
	switch {
	case !ok:
		return nil
	case i > 0 && i <= len(list):
		return list[i-1]
	case i < 0 && -i <= len(list):
		return list[len(list)+i]
	}
	return nil
}

func (n *instanceNode) eval(m *machine, f *frame) Value {
	value := m.eval(n.value, f)
	m.measure(value)
	return Boolean(n.kind.Contains(value))
}
