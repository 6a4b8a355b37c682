package feel

import (
	"slices"
	"strings"
)

// Type is a FEEL type. The zero Type is Any.
type Type struct {
	Kind       Kind          // "" is Any
	Element    *Type         // of a list or range; nil is Any
	Fields     []Field       // of a context; none is any context
	Parameters []Type        // of a function
	Result     *Type         // of a function; nil is any function
	Allowed    []*Expression // unary tests that every value passes
}

// Field is one entry that a context of a type has.
type Field struct {
	Name string
	Type Type
}

// Contains reports whether the value is an instance of the type, whatever values that allows. Null is an instance of Null only.
func (t Type) Contains(v Value) bool {
	if v == nil {
		return t.Kind == KindNull
	}
	return t.fits(v, Type.holds)
}

// conforms is Contains for values that the type must also allow, down to its parts.
func (t Type) conforms(v Value) bool {
	return v == nil || t.fits(v, Type.conforms) && t.allows(v)
}

// holds is Contains for the parts of a value, which may be null.
func (t Type) holds(v Value) bool { return v == nil || t.Contains(v) }

// fits checks a value by its kind and its parts.
func (t Type) fits(v Value, part func(Type, Value) bool) bool {
	if t.Kind == "" {
		return true
	}
	if t.Kind != v.Kind() {
		return false
	}
	switch v := v.(type) {
	case List:
		return t.Element == nil || !slices.ContainsFunc(v, func(item Value) bool { return !part(*t.Element, item) })
	case Context:
		return !slices.ContainsFunc(t.Fields, func(f Field) bool {
			item, ok := v[f.Name]
			return !ok || !part(f.Type, item)
		})
	case Range:
		return t.Element == nil || part(*t.Element, v.Low) && part(*t.Element, v.High)
	case *Function:
		return t.describes(v)
	}
	return true
}

// describes checks a function's signature as far as it declares one.
func (t Type) describes(f *Function) bool {
	if t.Result == nil {
		return true
	}
	if len(f.parameters) != len(t.Parameters) {
		return false
	}
	for i, p := range f.parameters {
		if !p.Type.accepts(t.Parameters[i]) {
			return false
		}
	}
	return t.Result.accepts(f.result)
}

// accepts reports whether other conforms to t as far as both are declared.
func (t Type) accepts(other Type) bool {
	return t.Kind == "" || other.Kind == "" || t.Kind == other.Kind
}

func (t Type) allows(v Value) bool {
	return !slices.ContainsFunc(t.Allowed, func(tests *Expression) bool {
		ok, err := tests.Eval(Env{Scope: Context{inputName: v}})
		return err != nil || ok != Boolean(true)
	})
}

// Coerce makes the value one of the type by the implicit conversions of DMN 1.5, 10.3.2.9.4, or null where none does.
func (t Type) Coerce(v Value) Value {
	if t.conforms(v) {
		return v
	}
	converted := v
	switch v := v.(type) {
	case List:
		if len(v) == 1 && t.Kind != KindList {
			converted = v[0]
		}
	case Date:
		if t.Kind == KindDateTime {
			converted = v.midnight()
		}
	}
	if t.Kind == KindList && v.Kind() != KindList {
		converted = List{v}
	}
	if !t.conforms(converted) {
		return nil
	}
	return converted
}

func (d Date) midnight() DateTime { return DateTime{Date: d, Time: Time{Zone: Zone{Known: true}}} }

// NamedType answers the built-in type of a name.
func NamedType(name string) (Type, bool) {
	switch name {
	case "Any":
		return Type{}, true
	case "Null":
		return Type{Kind: KindNull}, true
	case "dayTimeDuration", "day time duration":
		return Type{Kind: KindDaysTime}, true
	case "yearMonthDuration", "year month duration":
		return Type{Kind: KindYearsMonth}, true
	case "dateTime":
		return Type{Kind: KindDateTime}, true
	}
	switch kind := Kind(name); kind {
	case KindBoolean, KindNumber, KindString, KindDate, KindTime, KindDateTime, KindDaysTime, KindYearsMonth, KindList, KindContext,
		KindRange, KindFunction:
		return Type{Kind: kind}, true
	}
	return Type{}, false
}

// maxTypeWords bounds the tokens of a type's name.
const maxTypeWords = 12

// closes reports whether no name goes on at this token.
func (t token) closes() bool {
	return t.kind == tokenEnd || t.kind == tokenString || t.kind == tokenSymbol && strings.Contains("()[]{}<>,:=", t.text)
}

// typeName parses grammar rule 54, the longest name that is known.
func (p *parser) typeName() (Type, error) {
	if err := p.enter(); err != nil {
		return Type{}, err
	}
	defer p.leave()
	if p.ahead(1).symbol("<") {
		switch p.peek().text {
		case "list", "range":
			return p.elementType()
		case "context":
			return p.contextType()
		case "function":
			return p.functionType()
		}
	}
	start := p.peek()
	if start.kind != tokenName {
		return Type{}, p.unexpected("expected a type")
	}
	longest := 1
	for longest < maxTypeWords && !p.ahead(longest).closes() {
		longest++
	}
	for n := longest; n > 0; n-- {
		last := p.ahead(n - 1)
		name := canonical(p.source[start.pos:last.end])
		t, ok := NamedType(name)
		if !ok && p.compiler.Types != nil {
			t, ok = p.compiler.Types(name)
		}
		if ok {
			p.pos += n
			return t, nil
		}
	}
	return Type{}, p.unexpected("expected a known type")
}

func (p *parser) elementType() (Type, error) {
	t := Type{Kind: Kind(p.advance().text)}
	p.advance()
	element, err := p.typeName()
	if err != nil {
		return Type{}, err
	}
	t.Element = &element
	return t, p.expectSymbol(">")
}

func (p *parser) contextType() (Type, error) {
	t := Type{Kind: KindContext}
	p.pos += 2
	for !p.acceptSymbol(">") {
		name, err := p.nameUntil(":")
		if err != nil {
			return Type{}, err
		}
		field, err := p.typeName()
		if err != nil {
			return Type{}, err
		}
		t.Fields = append(t.Fields, Field{name, field})
		if !p.acceptSymbol(",") && !p.peek().symbol(">") {
			return Type{}, p.unexpected("expected , or >")
		}
	}
	return t, nil
}

func (p *parser) functionType() (Type, error) {
	t := Type{Kind: KindFunction}
	p.pos += 2
	for !p.acceptSymbol(">") {
		parameter, err := p.typeName()
		if err != nil {
			return Type{}, err
		}
		t.Parameters = append(t.Parameters, parameter)
		if !p.acceptSymbol(",") && !p.peek().symbol(">") {
			return Type{}, p.unexpected("expected , or >")
		}
	}
	if err := p.expectSymbol("->"); err != nil {
		return Type{}, err
	}
	result, err := p.typeName()
	t.Result = &result
	return t, err
}
