package dmn

import (
	"fmt"
	"maps"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Evaluate decides: the value of a decision, or of a decision service, by id or name. The scope of env holds the inputs by name; a
// name that is no element of the model is visible to all decisions. All that the decision requires shares one budget. Errors are
// an *EvaluationError around a *HitPolicyError, a *feel.LimitError, or what Read found.
func (m *Model) Evaluate(decision string, env feel.Env) (feel.Value, error) {
	n := m.find(decision, kindDecision, kindService)
	if n == nil {
		return nil, fault.ModelDecisionUnknown.With("%s holds no decision %q", m.File, decision)
	}
	e := evaluation{env: env.Metered(), input: env.Scope, values: map[*node]feel.Value{}}
	if n.kind == kindService {
		return e.service(n)
	}
	return e.value(n)
}

// evaluation is one run over the requirements graph. Each node is evaluated once.
type evaluation struct {
	env    feel.Env
	input  feel.Scope
	values map[*node]feel.Value
}

// value answers what a node is to those who require it: a value, or for knowledge models and services a function.
func (e *evaluation) value(n *node) (feel.Value, error) {
	if v, ok := e.values[n]; ok {
		return v, nil
	}
	if err := e.env.Spend(1); err != nil {
		return nil, err
	}
	v, err := e.compute(n)
	if err != nil {
		return nil, err
	}
	e.values[n] = v
	return v, nil
}

func (e *evaluation) compute(n *node) (feel.Value, error) {
	switch n.kind {
	case kindInput:
		return e.inputValue(n), nil
	case kindKnowledge:
		return e.knowledge(n)
	case kindService:
		return e.function(n), nil
	}
	if n.logic == nil {
		return e.inputValue(n), nil
	}
	names, err := e.required(n)
	if err != nil {
		return nil, err
	}
	v, err := n.logic.eval(e.env.In(layer{names, e.undeclared(n)}))
	if err != nil {
		return nil, &EvaluationError{Decision: n.name, Err: err}
	}
	return n.typ.Coerce(v), nil
}

func (e *evaluation) inputValue(n *node) feel.Value {
	if e.input == nil {
		return nil
	}
	v, _ := e.input.Lookup(n.name)
	return n.typ.Coerce(v)
}

// required binds the names of what a node requires, those of an import within a context.
func (e *evaluation) required(n *node) (feel.Context, error) {
	names := feel.Context{}
	for _, q := range n.requires {
		v, err := e.value(q.node)
		if err != nil {
			return nil, err
		}
		if q.prefix == "" {
			for alias, value := range q.node.aliases(v) {
				if _, taken := names[alias]; !taken {
					names[alias] = value
				}
			}
			names[q.node.name] = v
			continue
		}
		imported, ok := names[q.prefix].(feel.Context)
		if !ok {
			imported = feel.Context{}
			names[q.prefix] = imported
		}
		imported[q.node.name] = v
	}
	return names, nil
}

// undeclared is the scope of inputs that no element of the model declares. Tools draw decisions that read them.
func (e *evaluation) undeclared(n *node) feel.Scope { return undeclared{e.input, n.model} }

type undeclared struct {
	scope feel.Scope
	model *Model
}

func (u undeclared) Lookup(name string) (feel.Value, bool) {
	if u.scope == nil {
		return nil, false
	}
	for _, n := range u.model.nodes {
		if n.name == name {
			return nil, false
		}
	}
	return u.scope.Lookup(name)
}

// knowledge makes the function of a knowledge model. It may invoke itself.
func (e *evaluation) knowledge(n *node) (feel.Value, error) {
	if n.logic == nil {
		return nil, nil
	}
	names := feel.Context{}
	fn := closure(n.name, n.parameters, n.result, n.logic, names)
	names[n.name] = fn
	e.values[n] = fn
	required, err := e.required(n)
	if err != nil {
		return nil, err
	}
	maps.Copy(names, required)
	return fn, nil
}

// function makes the function of a decision service.
func (e *evaluation) function(n *node) *feel.Function {
	return feel.NewFunction(n.name, n.parameters, n.typ, func(env feel.Env, args []feel.Value) (feel.Value, error) {
		inner := evaluation{env: env, values: map[*node]feel.Value{}}
		for i, input := range n.inputs {
			inner.values[input] = args[i]
		}
		return inner.outputs(n)
	})
}

// service evaluates a decision service with the inputs that it was called with.
func (e *evaluation) service(n *node) (feel.Value, error) {
	inner := evaluation{env: e.env, values: map[*node]feel.Value{}}
	for _, input := range n.inputs {
		inner.values[input] = e.inputValue(input)
	}
	v, err := inner.outputs(n)
	return n.typ.Coerce(v), err
}

// outputs are one output decision's value, or the context of several.
func (e *evaluation) outputs(n *node) (feel.Value, error) {
	if len(n.outputs) == 0 {
		return nil, &EvaluationError{Decision: n.name, Err: fmt.Errorf("the service has no output")}
	}
	results := feel.Context{}
	for _, output := range n.outputs {
		v, err := e.value(output)
		if err != nil {
			return nil, err
		}
		if len(n.outputs) == 1 {
			return v, nil
		}
		results[output.name] = v
	}
	return results, nil
}
