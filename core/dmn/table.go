package dmn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// hitPolicy says what becomes of the rules that match (DMN 1.5, 8.2.10).
type hitPolicy string

const (
	unique      hitPolicy = "UNIQUE"
	anyRule     hitPolicy = "ANY"
	priority    hitPolicy = "PRIORITY"
	first       hitPolicy = "FIRST"
	collect     hitPolicy = "COLLECT"
	ruleOrder   hitPolicy = "RULE ORDER"
	outputOrder hitPolicy = "OUTPUT ORDER"
)

// HitPolicyError says that the matching rules of a table break its hit policy. Rules count from 1.
type HitPolicyError struct {
	Table  string
	Policy string
	Rules  []int
}

func (e *HitPolicyError) Error() string {
	return fmt.Sprintf("the table %q has hit policy %s, but the rules %v match with different results", e.Table, e.Policy, e.Rules)
}

// Is makes errors.Is(err, fault.DecisionHitPolicy) true.
func (e *HitPolicyError) Is(target error) bool { return target == fault.DecisionHitPolicy }

// table is a decision table.
type table struct {
	id          string
	policy      hitPolicy
	aggregation string
	inputs      []column
	outputs     []column
	rules       []rule
}

// column is one input or output clause.
type column struct {
	name     string
	value    logic            // an input's expression, or an output's default
	typ      feel.Type        // of an output
	allowed  *feel.Expression // nil is no constraint
	priority []logic          // the output values, best first
}

type rule struct {
	tests   []*feel.Expression
	outputs []logic
}

func (r *reader) table(e *element, names []string) logic {
	t := &table{id: e.attr("id"), policy: hitPolicy(e.attr("hitPolicy")), aggregation: e.attr("aggregation")}
	if t.policy == "" {
		t.policy = unique
	}
	if !slices.Contains([]hitPolicy{unique, anyRule, priority, first, collect, ruleOrder, outputOrder}, t.policy) {
		f := r.refuse(fault.DecisionInvalid, e, "the hit policy %s is not known; use one of DMN", t.policy)
		return broken{errors.New(f.String())}
	}
	for _, input := range e.all("input") {
		t.inputs = append(t.inputs, r.input(input, names))
	}
	for _, output := range e.all("output") {
		t.outputs = append(t.outputs, r.output(output, names))
	}
	for _, line := range e.all("rule") {
		if len(line.all("inputEntry")) != len(t.inputs) || len(line.all("outputEntry")) != len(t.outputs) {
			r.refuse(fault.DecisionInvalid, line, "the rule has %d inputs and %d outputs, its table %d and %d; make them agree",
				len(line.all("inputEntry")), len(line.all("outputEntry")), len(t.inputs), len(t.outputs))
			continue
		}
		t.rules = append(t.rules, r.rule(line, names))
	}
	return t
}

func (r *reader) input(e *element, names []string) column {
	var c column
	if expression := e.child("inputExpression"); expression != nil {
		c.name = expression.content("text")
		c.value = r.literal(expression, names)
	} else {
		c.value = literal{nothing}
	}
	c.allowed = r.values(e.child("inputValues"), names)
	return c
}

func (r *reader) output(e *element, names []string) column {
	c := column{name: canonical(e.attr("name")), typ: r.typeOf(e), allowed: r.values(e.child("outputValues"), names)}
	if entry := e.child("defaultOutputEntry"); entry != nil {
		c.value = r.literal(entry, names)
	}
	if values := e.child("outputValues"); values != nil && values.content("text") != "" {
		text := "[" + values.content("text") + "]"
		c.priority = []logic{r.expression(values, func(f feel.Compiler) (*feel.Expression, error) { return f.Compile(text) }, names)}
	}
	return c
}

// values compiles the values that a clause allows; nil when all are.
func (r *reader) values(e *element, names []string) *feel.Expression {
	if e == nil || e.content("text") == "" {
		return nil
	}
	return r.unaryTests(e, names)
}

func (r *reader) rule(e *element, names []string) rule {
	var l rule
	for _, entry := range e.all("inputEntry") {
		test := always
		if entry.content("text") != "" {
			test = r.unaryTests(entry, names)
		}
		l.tests = append(l.tests, test)
	}
	for _, entry := range e.all("outputEntry") {
		l.outputs = append(l.outputs, r.literal(entry, names))
	}
	return l
}

// always is the test that a blank cell is.
var always = func() *feel.Expression {
	e, _ := feel.CompileUnary("-")
	return e
}()

func (t *table) eval(env feel.Env) (feel.Value, error) {
	matched, err := t.match(env)
	if err != nil {
		return nil, err
	}
	if len(matched) == 0 {
		return t.otherwise(env)
	}
	switch t.policy {
	case unique:
		if len(matched) > 1 {
			return nil, t.violated(matched)
		}
		return t.result(env, matched[0])
	case first:
		return t.result(env, matched[0])
	case anyRule:
		return t.agreed(env, matched)
	}
	hits, err := t.hits(env, matched)
	if err != nil {
		return nil, err
	}
	switch t.policy {
	case priority, outputOrder:
		if err := t.prioritise(env, hits); err != nil {
			return nil, err
		}
		if t.policy == priority {
			return t.shape(hits[0]), nil
		}
	}
	return t.collect(env, hits)
}

// match answers the rules whose tests all pass, by index.
func (t *table) match(env feel.Env) ([]int, error) {
	if err := env.Spend(len(t.rules)); err != nil {
		return nil, err
	}
	inputs := make([]feel.Env, len(t.inputs))
	for i, input := range t.inputs {
		v, err := input.value.eval(env)
		if err != nil {
			return nil, err
		}
		inputs[i] = with(env, feel.Context{"?": v})
		if input.allowed != nil && v != nil {
			ok, err := input.allowed.Eval(inputs[i])
			if err != nil {
				return nil, err
			}
			if ok != feel.Boolean(true) {
				return nil, nil
			}
		}
	}
	var matched []int
	for i, rule := range t.rules {
		ok, err := rule.matches(inputs)
		if err != nil {
			return nil, err
		}
		if ok {
			matched = append(matched, i)
		}
		if ok && t.policy == first {
			break
		}
	}
	return matched, nil
}

// matches tells whether all tests pass, each in the environment that holds its input.
func (l rule) matches(inputs []feel.Env) (bool, error) {
	for i, test := range l.tests {
		if test == always {
			continue
		}
		passed, err := test.Eval(inputs[i])
		if err != nil || passed != feel.Boolean(true) {
			return false, err
		}
	}
	return true, nil
}

// otherwise is the result when no rule matches: the default outputs, else an empty collection for a count, else null.
func (t *table) otherwise(env feel.Env) (feel.Value, error) {
	hasDefault := slices.ContainsFunc(t.outputs, func(c column) bool { return c.value != nil })
	if !hasDefault {
		if t.aggregation == "COUNT" {
			return feel.NumberOfInt(0), nil
		}
		return nil, nil
	}
	values := make(feel.List, len(t.outputs))
	for i, output := range t.outputs {
		if output.value == nil {
			continue
		}
		v, err := output.value.eval(env)
		if err != nil {
			return nil, err
		}
		values[i] = output.typ.Coerce(v)
	}
	return t.shape(values), nil
}

// hits evaluates the outputs of rules.
func (t *table) hits(env feel.Env, rules []int) ([]feel.List, error) {
	var hits []feel.List
	for _, i := range rules {
		values, err := evalAll(t.rules[i].outputs, env)
		if err != nil {
			return nil, err
		}
		for c := range values {
			values[c] = t.outputs[c].typ.Coerce(values[c])
		}
		hits = append(hits, values)
	}
	return hits, nil
}

func (t *table) result(env feel.Env, rule int) (feel.Value, error) {
	hits, err := t.hits(env, []int{rule})
	if err != nil {
		return nil, err
	}
	return t.shape(hits[0]), nil
}

// shape is a single output's value, or the context of several.
func (t *table) shape(values feel.List) feel.Value {
	if len(t.outputs) == 1 {
		return values[0]
	}
	context := feel.Context{}
	for i, output := range t.outputs {
		context[output.name] = values[i]
	}
	return context
}

func (t *table) agreed(env feel.Env, rules []int) (feel.Value, error) {
	hits, err := t.hits(env, rules)
	if err != nil {
		return nil, err
	}
	for _, hit := range hits[1:] {
		if equal, ok := feel.Equal(hits[0], hit); !ok || !equal {
			return nil, t.violated(rules)
		}
	}
	return t.shape(hits[0]), nil
}

func (t *table) violated(rules []int) error {
	e := &HitPolicyError{Table: t.id, Policy: string(t.policy)}
	for _, i := range rules {
		e.Rules = append(e.Rules, i+1)
	}
	return e
}

// prioritise orders hits by the place of their outputs among the output values, the first output weighing most.
func (t *table) prioritise(env feel.Env, hits []feel.List) error {
	orders := make([]feel.List, len(t.outputs))
	for i, output := range t.outputs {
		for _, values := range output.priority {
			v, err := values.eval(env)
			if err != nil {
				return err
			}
			orders[i], _ = v.(feel.List)
		}
	}
	rank := func(column int, v feel.Value) int {
		for i, allowed := range orders[column] {
			if equal, ok := feel.Equal(allowed, v); ok && equal {
				return i
			}
		}
		return len(orders[column])
	}
	slices.SortStableFunc(hits, func(a, b feel.List) int {
		for column := range orders {
			if d := rank(column, a[column]) - rank(column, b[column]); d != 0 {
				return d
			}
		}
		return 0
	})
	return nil
}

// aggregators are the built-in functions that a collecting table's aggregation stands for.
var aggregators = map[string]string{"SUM": "sum", "MIN": "min", "MAX": "max", "COUNT": "count"}

func (t *table) collect(env feel.Env, hits []feel.List) (feel.Value, error) {
	results := make(feel.List, len(hits))
	for i, hit := range hits {
		results[i] = t.shape(hit)
	}
	name, ok := aggregators[t.aggregation]
	if !ok || t.policy != collect {
		return results, nil
	}
	return feel.Builtin(name).Invoke(env, nil, []feel.Value{results})
}
