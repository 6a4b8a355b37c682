package dmn

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// compile compiles a node's logic, in the scope of what it requires.
func (r *reader) compile(n *node) {
	var names []string
	for _, q := range n.requires {
		if q.prefix != "" {
			names = append(names, q.prefix)
		}
		names = append(names, q.node.name)
		if q.node.loose {
			names = append(names, q.node.id)
			names = append(names, outputNames(q.node.source)...)
		}
	}
	switch n.kind {
	case kindDecision:
		if e := expressionOf(n.source); e != nil {
			n.logic = r.logic(e, names)
		}
	case kindKnowledge:
		body := n.source.child("encapsulatedLogic")
		if body == nil {
			return
		}
		n.parameters = r.parameters(body)
		n.result = r.typeOf(body)
		n.logic = r.body(body, n.parameters, append(names, n.name))
	}
}

// outputNames answers the names of the outputs of a decision's table.
func outputNames(decision *element) []string {
	t := decision.child("decisionTable")
	if t == nil {
		return nil
	}
	var names []string
	for _, output := range t.all("output") {
		names = append(names, canonical(output.attr("name")))
	}
	return names
}

// expressionOf answers the child that is a boxed expression, or nil.
func expressionOf(e *element) *element {
	i := slices.IndexFunc(e.children, func(c *element) bool {
		switch c.name {
		case "literalExpression", "decisionTable", "context", "invocation", "list", "relation", "functionDefinition", "conditional", "filter",
			"for", "some", "every":
			return true
		}
		return false
	})
	if i < 0 {
		return nil
	}
	return e.children[i]
}

func (r *reader) parameters(e *element) []feel.Parameter {
	var parameters []feel.Parameter
	for _, p := range e.all("formalParameter") {
		parameters = append(parameters, feel.Parameter{Name: canonical(p.attr("name")), Type: r.typeOf(p)})
	}
	return parameters
}

// body compiles the body of a function. External functions are refused.
func (r *reader) body(e *element, parameters []feel.Parameter, names []string) logic {
	if kind := e.attr("kind"); kind != "" && kind != "FEEL" && kind != "F" {
		f := r.refuse(fault.ModelLanguage, e, "functions of kind %s are not called; say it in FEEL", kind)
		return broken{errors.New(f.String())}
	}
	for _, p := range parameters {
		names = append(names, p.Name)
	}
	return r.child(e, names)
}

// child compiles the expression within an element.
func (r *reader) child(e *element, names []string) logic {
	if e == nil {
		return literal{nothing}
	}
	expression := expressionOf(e)
	if expression == nil {
		return literal{nothing}
	}
	return r.logic(expression, names)
}

// nothing is what an absent expression gives.
var nothing = func() *feel.Expression {
	e, _ := feel.Compile("null")
	return e
}()

// logic compiles a boxed expression, with the type it is declared to have.
func (r *reader) logic(e *element, names []string) logic {
	l := r.boxed(e, names)
	if e.attr("typeRef") == "" || e.name == "functionDefinition" {
		return l
	}
	return typed{l, r.typeOf(e)}
}

func (r *reader) boxed(e *element, names []string) logic {
	switch e.name {
	case "literalExpression":
		return r.literal(e, names)
	case "decisionTable":
		return r.table(e, names)
	case "context":
		return r.context(e, names)
	case "invocation":
		return r.invocation(e, names)
	case "list":
		l := list{}
		for _, c := range e.children {
			if isExpression(c) {
				l.items = append(l.items, r.logic(c, names))
			}
		}
		return l
	case "relation":
		return r.relation(e, names)
	case "functionDefinition":
		parameters := r.parameters(e)
		return definition{parameters, r.body(e, parameters, names)}
	case "conditional":
		return conditional{r.child(e.child("if"), names), r.child(e.child("then"), names), r.child(e.child("else"), names)}
	case "filter":
		return filter{r.child(e.child("in"), names), r.child(e.child("match"), append(slices.Clip(names), "item"))}
	}
	return r.iteration(e, names)
}

func isExpression(e *element) bool { return expressionOf(&element{children: []*element{e}}) != nil }

func (r *reader) iteration(e *element, names []string) logic {
	body := e.child("return")
	if e.name != "for" {
		body = e.child("satisfies")
	}
	variable := canonical(e.attr("iteratorVariable"))
	return iteration{e.name, variable, r.child(e.child("in"), names), r.child(body, append(slices.Clip(names), variable, "partial"))}
}

func (r *reader) context(e *element, names []string) logic {
	var l entries
	names = slices.Clip(names)
	for _, entry := range e.all("contextEntry") {
		name, typ := "", feel.Type{}
		if variable := entry.child("variable"); variable != nil {
			name, typ = canonical(variable.attr("name")), r.typeOf(variable)
		}
		value := r.child(entry, append(names, name))
		l.values = append(l.values, typed{value, typ})
		l.names = append(l.names, name)
		names = append(names, name)
	}
	return l
}

func (r *reader) invocation(e *element, names []string) logic {
	l := invocation{callee: r.child(e, names)}
	for _, binding := range e.all("binding") {
		parameter := binding.child("parameter")
		if parameter == nil {
			r.refuse(fault.DecisionInvalid, binding, "a binding without parameter binds nothing; add one")
			continue
		}
		l.names = append(l.names, canonical(parameter.attr("name")))
		l.args = append(l.args, typed{r.child(binding, names), r.typeOf(parameter)})
	}
	return l
}

func (r *reader) relation(e *element, names []string) logic {
	var l relation
	for _, column := range e.all("column") {
		l.columns = append(l.columns, canonical(column.attr("name")))
	}
	for _, row := range e.all("row") {
		var cells []logic
		for _, c := range row.children {
			if isExpression(c) {
				cells = append(cells, r.logic(c, names))
			}
		}
		if len(cells) != len(l.columns) {
			r.refuse(fault.DecisionInvalid, row, "the row has %d cells, its relation %d columns; make them agree", len(cells), len(l.columns))
			continue
		}
		l.rows = append(l.rows, cells)
	}
	return l
}

// literal compiles the text of an expression in FEEL.
func (r *reader) literal(e *element, names []string) logic {
	text := e.content("text")
	if text == "" {
		return literal{nothing}
	}
	return r.expression(e, func(c feel.Compiler) (*feel.Expression, error) { return c.Compile(text) }, names)
}

func (r *reader) expression(e *element, compile func(feel.Compiler) (*feel.Expression, error), names []string) logic {
	if language := cmp.Or(e.attr("expressionLanguage"), r.root.attr("expressionLanguage")); !r.isFEEL(language) {
		f := r.refuse(fault.ModelLanguage, e, "the expression language %s is not known here; say it in FEEL", language)
		return broken{errors.New(f.String())}
	}
	expression, err := compile(feel.Compiler{Names: r.visible(names), Types: r.lookupType})
	if err != nil {
		f := r.refuse(fault.ModelExpression, e, "%v; correct the expression", err)
		return broken{errors.New(f.String())}
	}
	return literal{expression}
}

func (r *reader) visible(names []string) []string { return slices.Concat(names, r.model.names) }

func (r *reader) isFEEL(language string) bool {
	if language == "" {
		language = r.root.attr("expressionLanguage")
	}
	return language == "" || strings.Contains(strings.ToUpper(language), "FEEL")
}

// unaryTests compiles the tests of an element; those that do not compile are never passed.
func (r *reader) unaryTests(e *element, names []string) *feel.Expression {
	l, ok := r.expression(e, func(c feel.Compiler) (*feel.Expression, error) { return c.CompileUnary(e.content("text")) }, names).(literal)
	if !ok {
		return nothing
	}
	return l.expression
}
