package dmn

import (
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/feel"
)

// Model is one file of decisions, compiled. It is immutable and may be used by many goroutines at once.
type Model struct {
	File      string
	Name      string
	Namespace string
	Imports   []Import

	nodes []*node // in document order
	types map[string]feel.Type
	names []string // of the parts of all types, for reading paths
}

// Import is another model that this one refers to, by the name that its parts have here.
type Import struct {
	Name      string
	Namespace string
	model     *Model // nil when it is no decision model, or was not given
}

// kind says what a node of the requirements graph is.
type kind string

const (
	kindInput     kind = "inputData"
	kindDecision  kind = "decision"
	kindKnowledge kind = "businessKnowledgeModel"
	kindService   kind = "decisionService"
)

// node is one element of the requirements graph.
type node struct {
	kind     kind
	id, name string
	model    *Model
	source   *element
	typ      feel.Type
	requires []requirement
	logic    logic // of a decision, or the body of a knowledge model; nil when there is none
	loose    bool  // a decision without variable, as the tools of Camunda draw them

	parameters []feel.Parameter // of a knowledge model or a service
	result     feel.Type        // of a knowledge model's body

	outputs, inputs []*node // of a service; inputs in the order of its parameters
}

// aliases are the names beside its own by which a decision without variable is read: its id, as Camunda 8 has it, and the names of
// its table's outputs, as Camunda 7 has it. The standard gives such a decision no name at all.
func (n *node) aliases(value feel.Value) feel.Context {
	if !n.loose {
		return nil
	}
	aliases := feel.Context{}
	t, ok := n.logic.(*table)
	if ok && len(t.outputs) == 1 && t.outputs[0].name != "" {
		aliases[t.outputs[0].name] = value
	} else if context, isContext := value.(feel.Context); ok && isContext {
		maps.Copy(aliases, context)
	}
	if n.id != "" {
		aliases[n.id] = value
	}
	return aliases
}

// requirement is a node that another one may read, under a name that an import may stand before.
type requirement struct {
	node   *node
	prefix string
}

// Decisions answers the names of the decisions, in document order.
func (m *Model) Decisions() []string { return m.named(kindDecision) }

// Services answers the names of the decision services, in document order.
func (m *Model) Services() []string { return m.named(kindService) }

func (m *Model) named(kind kind) []string {
	var names []string
	for _, n := range m.nodes {
		if n.kind == kind {
			names = append(names, n.name)
		}
	}
	return names
}

// find answers the node of an id, else of a name.
func (m *Model) find(key string, kinds ...kind) *node {
	for _, matches := range []func(*node) bool{
		func(n *node) bool { return n.id == key },
		func(n *node) bool { return n.name == key },
	} {
		i := slices.IndexFunc(m.nodes, func(n *node) bool { return slices.Contains(kinds, n.kind) && matches(n) })
		if i >= 0 {
			return m.nodes[i]
		}
	}
	return nil
}
