package dmn

import (
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

func (r *reader) itemDefinitions() {
	definitions := r.root.all("itemDefinition")
	for _, e := range definitions {
		r.items[canonical(e.attr("name"))] = e
	}
	for _, e := range definitions {
		r.namedType(canonical(e.attr("name")))
	}
	r.componentNames(definitions)
	slices.Sort(r.model.names)
	r.model.names = slices.Compact(r.model.names)
}

func (r *reader) componentNames(elements []*element) {
	for _, e := range elements {
		components := e.all("itemComponent")
		for _, c := range components {
			r.model.names = append(r.model.names, canonical(c.attr("name")))
		}
		r.componentNames(components)
	}
}

// typeOf answers the type that an element's typeRef names; Any without one.
func (r *reader) typeOf(e *element) feel.Type {
	name := e.attr("typeRef")
	if name == "" {
		name = e.content("typeRef")
	}
	if name == "" {
		return feel.Type{}
	}
	t, ok := r.lookupType(name)
	if !ok {
		r.refuse(fault.DecisionType, e, "the type %q is not known; define it, or use a type of FEEL", name)
	}
	return t
}

// lookupType finds a type by name. A prefix is that of FEEL's own namespace in files of DMN 1.1, or the name of an import.
func (r *reader) lookupType(name string) (feel.Type, bool) {
	name = canonical(name)
	if t, ok := r.namedType(name); ok {
		return t, true
	}
	for _, imported := range r.model.Imports {
		if rest, ok := strings.CutPrefix(name, imported.Name+"."); ok && imported.model != nil {
			t, ok := imported.model.types[rest]
			return t, ok
		}
	}
	if t, ok := builtinType(name); ok {
		return t, true
	}
	if _, local, ok := strings.Cut(name, ":"); ok {
		return r.lookupType(local)
	}
	return feel.Type{}, false
}

// builtinType answers types of FEEL, and the numeric ones that some tools write instead of number.
func builtinType(name string) (feel.Type, bool) {
	switch name {
	case "integer", "long", "double":
		name = "number"
	case "<Undefined>", "Undefined":
		name = "Any"
	}
	return feel.NamedType(name)
}

// namedType answers the type of an item definition, building it when it was not yet.
func (r *reader) namedType(name string) (feel.Type, bool) {
	if t, ok := r.model.types[name]; ok {
		return t, true
	}
	e := r.items[name]
	if e == nil {
		return feel.Type{}, false
	}
	if slices.Contains(r.building, name) {
		r.refuse(fault.DecisionType, e, "the type %q contains itself; break the circle", name)
		return feel.Type{}, true
	}
	r.building = append(r.building, name)
	t := r.itemType(e)
	r.building = r.building[:len(r.building)-1]
	r.model.types[name] = t
	return t, true
}

// itemType builds the type of an item definition or component.
func (r *reader) itemType(e *element) feel.Type {
	t := r.baseType(e)
	if allowed := e.child("allowedValues"); allowed != nil && allowed.content("text") != "" {
		t.Allowed = append(slices.Clone(t.Allowed), r.unaryTests(allowed, nil))
	}
	if e.attr("isCollection") == "true" {
		element := t
		t = feel.Type{Kind: feel.KindList, Element: &element}
	}
	if constraint := e.child("typeConstraint"); constraint != nil && constraint.content("text") != "" {
		t.Allowed = append(slices.Clone(t.Allowed), r.unaryTests(constraint, nil))
	}
	return t
}

func (r *reader) baseType(e *element) feel.Type {
	if function := e.child("functionItem"); function != nil {
		result := r.typeOfAttribute(function, "outputTypeRef")
		t := feel.Type{Kind: feel.KindFunction, Result: &result}
		for _, parameter := range function.all("parameters") {
			t.Parameters = append(t.Parameters, r.typeOf(parameter))
		}
		return t
	}
	components := e.all("itemComponent")
	if len(components) == 0 {
		return r.typeOf(e)
	}
	t := feel.Type{Kind: feel.KindContext}
	for _, c := range components {
		t.Fields = append(t.Fields, feel.Field{Name: canonical(c.attr("name")), Type: r.itemType(c)})
	}
	return t
}

func (r *reader) typeOfAttribute(e *element, attribute string) feel.Type {
	name := e.attr(attribute)
	if name == "" {
		return feel.Type{}
	}
	t, ok := r.lookupType(name)
	if !ok {
		r.refuse(fault.DecisionType, e, "the type %q is not known; define it, or use a type of FEEL", name)
	}
	return t
}
