package dmn

import (
	"fmt"
	"slices"

	"github.com/sutra-engine/sutra/core/feel"
)

// logic is one boxed expression. It reads the scope of its environment.
type logic interface {
	eval(env feel.Env) (feel.Value, error)
}

// layer is a scope of names over another scope.
type layer struct {
	names  feel.Context
	parent feel.Scope
}

func (l layer) Lookup(name string) (feel.Value, bool) {
	if v, ok := l.names[name]; ok {
		return v, true
	}
	if l.parent == nil {
		return nil, false
	}
	return l.parent.Lookup(name)
}

func with(env feel.Env, names feel.Context) feel.Env { return env.In(layer{names, env.Scope}) }

type (
	// broken is an expression that was refused; evaluating it gives what was said of it.
	broken struct{ err error }
	// literal is a literal expression.
	literal struct{ expression *feel.Expression }
	// typed coerces what another expression gives.
	typed struct {
		logic logic
		typ   feel.Type
	}
	// entries is a boxed context; an entry without name is its result.
	entries struct {
		names  []string
		values []logic
	}
	list     struct{ items []logic }
	relation struct {
		columns []string
		rows    [][]logic
	}
	invocation struct {
		callee logic
		names  []string
		args   []logic
	}
	definition struct {
		parameters []feel.Parameter
		body       logic
	}
	conditional struct{ condition, yes, no logic }
	filter      struct{ list, match logic }
	iteration   struct {
		kind     string // for, some or every
		variable string
		domain   logic
		body     logic
	}
)

func (l broken) eval(feel.Env) (feel.Value, error) { return nil, l.err }

func (l literal) eval(env feel.Env) (feel.Value, error) { return l.expression.Eval(env) }

func (l typed) eval(env feel.Env) (feel.Value, error) {
	v, err := l.logic.eval(env)
	return l.typ.Coerce(v), err
}

func (l entries) eval(env feel.Env) (feel.Value, error) {
	result := feel.Context{}
	env = with(env, result)
	for i, value := range l.values {
		v, err := value.eval(env)
		if err != nil || l.names[i] == "" {
			return v, err
		}
		result[l.names[i]] = v
	}
	return result, nil
}

func (l list) eval(env feel.Env) (feel.Value, error) { return evalAll(l.items, env) }

func evalAll(items []logic, env feel.Env) (feel.List, error) {
	values := make(feel.List, len(items))
	for i, item := range items {
		var err error
		if values[i], err = item.eval(env); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (l relation) eval(env feel.Env) (feel.Value, error) {
	rows := make(feel.List, len(l.rows))
	for i, row := range l.rows {
		values, err := evalAll(row, env)
		if err != nil {
			return nil, err
		}
		context := feel.Context{}
		for c, v := range values {
			context[l.columns[c]] = v
		}
		rows[i] = context
	}
	return rows, nil
}

func (l invocation) eval(env feel.Env) (feel.Value, error) {
	callee, err := l.callee.eval(env)
	if err != nil {
		return nil, err
	}
	args, err := evalAll(l.args, env)
	if err != nil {
		return nil, err
	}
	fn, ok := callee.(*feel.Function)
	if !ok {
		return nil, nil
	}
	return fn.Invoke(env, l.names, args)
}

// eval closes over the scope that the definition stands in.
func (l definition) eval(env feel.Env) (feel.Value, error) {
	return closure("", l.parameters, feel.Type{}, l.body, env.Scope), nil
}

// closure makes a function of a body that sees its parameters over a scope.
func closure(name string, parameters []feel.Parameter, result feel.Type, body logic, scope feel.Scope) *feel.Function {
	return feel.NewFunction(name, parameters, result, func(env feel.Env, args []feel.Value) (feel.Value, error) {
		names := feel.Context{}
		for i, p := range parameters {
			names[p.Name] = args[i]
		}
		return body.eval(env.In(layer{names, scope}))
	})
}

func (l conditional) eval(env feel.Env) (feel.Value, error) {
	condition, err := l.condition.eval(env)
	if err != nil {
		return nil, err
	}
	switch condition {
	case feel.Boolean(true):
		return l.yes.eval(env)
	case feel.Boolean(false):
		return l.no.eval(env)
	}
	return nil, nil
}

func (l filter) eval(env feel.Env) (feel.Value, error) {
	items, ok, err := elements(l.list, env)
	if err != nil || !ok {
		return nil, err
	}
	kept := feel.List{}
	for _, item := range items {
		names := feel.Context{"item": item}
		inner := with(env, names)
		if context, ok := item.(feel.Context); ok {
			inner = with(inner, context)
		}
		match, err := l.match.eval(inner)
		if err != nil {
			return nil, err
		}
		truth, ok := match.(feel.Boolean)
		if !ok {
			return nil, nil
		}
		if truth {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// elements evaluates what is iterated over: a list, or one value as a list of one; null is nothing to iterate over.
func elements(domain logic, env feel.Env) (feel.List, bool, error) {
	v, err := domain.eval(env)
	if err != nil || v == nil {
		return nil, false, err
	}
	if items, ok := v.(feel.List); ok {
		return items, true, nil
	}
	return feel.List{v}, true, nil
}

func (l iteration) eval(env feel.Env) (feel.Value, error) {
	items, ok, err := elements(l.domain, env)
	if err != nil || !ok {
		return nil, err
	}
	results := feel.List{}
	for _, item := range items {
		names := feel.Context{l.variable: item}
		if l.kind == "for" {
			names["partial"] = slices.Clip(results)
		}
		v, err := l.body.eval(with(env, names))
		if err != nil {
			return nil, err
		}
		results = append(results, v)
	}
	return l.combine(results), nil
}

// combine is the list of results of for, their conjunction for every, their disjunction for some; null when one is not boolean.
func (l iteration) combine(results feel.List) feel.Value {
	if l.kind == "for" {
		return results
	}
	decisive := feel.Boolean(l.kind == "some")
	combined := !decisive
	for _, v := range results {
		truth, ok := v.(feel.Boolean)
		if !ok {
			return nil
		}
		if truth == decisive {
			combined = decisive
		}
	}
	return combined
}

// EvaluationError says which decision an evaluation failed in.
type EvaluationError struct {
	Decision string
	Err      error
}

func (e *EvaluationError) Error() string { return fmt.Sprintf("decision %q: %v", e.Decision, e.Err) }

// Unwrap answers the cause.
func (e *EvaluationError) Unwrap() error { return e.Err }
