package dmn

import (
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Library is all models of a package, in the order of their files. A decision is found by id, else by name; of several, the first.
type Library []*Model

// Knows reports whether a decision or decision service can be asked for.
func (l Library) Knows(decision string) bool { return l.holder(decision) != nil }

// Decisions answers the names of the decisions of all models.
func (l Library) Decisions() []string {
	var names []string
	for _, m := range l {
		names = append(names, m.Decisions()...)
	}
	return names
}

// Decide evaluates a decision or decision service of any of the models, as Model.Evaluate does.
func (l Library) Decide(decision string, env feel.Env) (feel.Value, error) {
	m := l.holder(decision)
	if m == nil {
		return nil, fault.ModelDecisionUnknown.With("the package holds no decision %q", decision)
	}
	return m.Evaluate(decision, env)
}

// Rows are the value of a decision as rows, one for each rule of its table that made it: contexts of the outputs by name. An output
// without a name, and the value of what is no table, have the decision's. Null has no rows.
func (l Library) Rows(decision string, value feel.Value) feel.List {
	var t *table
	name := decision
	if m := l.holder(decision); m != nil {
		n := m.find(decision, kindDecision, kindService)
		t, _ = n.logic.(*table)
		name = n.name
	}
	items, many := value.(feel.List)
	switch {
	case value == nil:
		return feel.List{}
	case t == nil || !many || !t.lists():
		items = feel.List{value}
	}
	if t != nil && len(t.outputs) > 1 {
		return items
	}
	if t != nil && len(t.outputs) == 1 && t.outputs[0].name != "" {
		name = t.outputs[0].name
	}
	rows := make(feel.List, len(items))
	for i, item := range items {
		rows[i] = feel.Context{name: item}
	}
	return rows
}

// lists says that the table answers a list, with an item for each rule that matches.
func (t *table) lists() bool {
	return t.policy == ruleOrder || t.policy == outputOrder || t.policy == collect && t.aggregation == ""
}

// holder answers the model that has a decision of that id, else of that name, else nil.
func (l Library) holder(decision string) *Model {
	var named *Model
	for _, m := range l {
		switch n := m.find(decision, kindDecision, kindService); {
		case n == nil:
		case n.id == decision:
			return m
		case named == nil:
			named = m
		}
	}
	return named
}
