package feel

import "slices"

func (p *parser) primary() (node, error) {
	switch t := p.peek(); t.kind {
	case tokenNumber:
		p.advance()
		return p.number(t)
	case tokenString:
		p.advance()
		return &literal{String(t.text)}, nil
	case tokenQuoted:
		p.advance()
		return p.variable(t.text), nil
	case tokenName:
		return p.word()
	case tokenSymbol:
		switch t.text {
		case "@":
			return p.temporal()
		case "(":
			return p.inner(p.parenthesis)
		case "[":
			return p.inner(p.bracket)
		case "]":
			return p.inner(func() (node, error) {
				p.advance()
				low, err := p.expression()
				if err != nil {
					return nil, err
				}
				return p.interval(low, false)
			})
		case "{":
			return p.inner(p.context)
		}
	}
	return nil, p.unexpected("expected a value")
}

func (p *parser) number(t token) (node, error) {
	value, ok := parseNumber(t.text)
	if !ok {
		return nil, syntaxError(p.source, t.pos, "this number has more than 34 digits or is too large")
	}
	return &literal{value}, nil
}

// temporal parses an at-literal. One that is no date, time or duration is refused: it could only ever be null.
func (p *parser) temporal() (node, error) {
	p.advance()
	t := p.peek()
	if t.kind != tokenString {
		return nil, p.unexpected("expected a string after @")
	}
	p.advance()
	value := parseTemporal(t.text)
	if value == nil {
		return nil, syntaxError(p.source, t.pos, "this is no date, time or duration")
	}
	return &literal{value}, nil
}

func (p *parser) word() (node, error) {
	if name, n := p.phrase(); n > 1 {
		p.pos += n
		return p.variable(name), nil
	}
	if name, n := builtinPhrase(p); n > 0 {
		p.pos += n
		return p.variable(name), nil
	}
	if p.reads([]string{"is", "defined", "("}) {
		p.pos += 2
		return p.inner(p.defined)
	}
	t := p.peek()
	switch t.text {
	case "true", "false":
		p.advance()
		return &literal{Boolean(t.text == "true")}, nil
	case "null":
		p.advance()
		return &literal{}, nil
	case "if":
		return p.conditional()
	case "for":
		return p.scoped(p.forExpression)
	case "some", "every":
		return p.scoped(p.quantified)
	case "function":
		return p.scoped(p.functionDefinition)
	case "then", "else", "return", "satisfies", "and", "or", "in", "between", "instance":
		return nil, p.unexpected("expected a value")
	}
	p.advance()
	return p.variable(t.text), nil
}

// defined parses the parenthesis of is defined().
func (p *parser) defined() (node, error) {
	p.advance()
	value, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &definedNode{value}, p.expectSymbol(")")
}

// builtinPhrase finds a built-in function of several words that is invoked here.
func builtinPhrase(p *parser) (string, int) {
	for _, candidate := range builtinPhrases {
		if p.ahead(len(candidate.words)).symbol("(") && p.reads(candidate.words) {
			return candidate.name, len(candidate.words)
		}
	}
	return "", 0
}

// variable makes the node of a name: local, free, or of the built-in library.
func (p *parser) variable(name string) node {
	n := &nameNode{name: name}
	if slices.Contains(p.locals, name) {
		return n
	}
	invoked := p.peek().symbol("(")
	if fn, ok := builtins[name]; ok {
		n.builtin = fn
		p.calls = append(p.calls, name)
		if invoked && !slices.Contains(p.compiler.Names, name) {
			return &literal{fn}
		}
		if invoked {
			return n
		}
	}
	p.free = append(p.free, name)
	return n
}

func (p *parser) parenthesis() (node, error) {
	p.advance()
	if t := p.peek(); t.kind == tokenSymbol && isComparison(t.text) {
		p.advance()
		end, err := p.additive()
		if err != nil {
			return nil, err
		}
		return &operatorRange{t.text, end}, p.expectSymbol(")")
	}
	n, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.peek().symbol("..") {
		return p.interval(n, false)
	}
	return n, p.expectSymbol(")")
}

func (p *parser) interval(low node, closed bool) (node, error) {
	if err := p.expectSymbol(".."); err != nil {
		return nil, err
	}
	p.high = true
	high, err := p.expression()
	p.high = false
	if err != nil {
		return nil, err
	}
	end := p.peek()
	if !end.symbol("]") && !end.symbol(")") && !end.symbol("[") {
		return nil, p.unexpected("expected the end of the interval")
	}
	p.advance()
	return &rangeNode{low: low, high: high, lowClosed: closed, highClosed: end.text == "]"}, nil
}

func (p *parser) bracket() (node, error) {
	p.advance()
	list := &listNode{}
	if p.acceptSymbol("]") {
		return list, nil
	}
	for {
		n, err := p.listItem()
		if err != nil {
			return nil, err
		}
		if len(list.items) == 0 && p.peek().symbol("..") {
			return p.interval(n, true)
		}
		list.items = append(list.items, n)
		if !p.acceptSymbol(",") {
			return list, p.expectSymbol("]")
		}
	}
}

func (p *parser) listItem() (node, error) {
	if t := p.peek(); t.kind == tokenSymbol && isComparison(t.text) {
		p.advance()
		end, err := p.additive()
		return &operatorRange{t.text, end}, err
	}
	return p.expression()
}

func (p *parser) context() (node, error) {
	return p.scoped(func() (node, error) {
		p.advance()
		context := &contextNode{}
		if p.acceptSymbol("}") {
			return context, nil
		}
		for {
			at := p.peek().pos
			key, err := p.key()
			if err != nil {
				return nil, err
			}
			if slices.Contains(context.keys, key) {
				return nil, syntaxError(p.source, at, "the key "+key+" is there twice")
			}
			value, err := p.expression()
			if err != nil {
				return nil, err
			}
			context.keys = append(context.keys, key)
			context.values = append(context.values, value)
			p.bind(key)
			if !p.acceptSymbol(",") {
				return context, p.expectSymbol("}")
			}
		}
	})
}

func (p *parser) key() (string, error) {
	if t := p.peek(); t.kind == tokenString {
		p.advance()
		return t.text, p.expectSymbol(":")
	}
	return p.nameUntil(":")
}

func (p *parser) conditional() (node, error) {
	p.advance()
	condition, err := p.expression()
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("then"); err != nil {
		return nil, err
	}
	yes, err := p.expression()
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("else"); err != nil {
		return nil, err
	}
	no, err := p.expression()
	return &ifNode{condition, yes, no}, err
}

func (p *parser) iterators() ([]iterator, error) {
	var all []iterator
	for {
		name, err := p.nameUntil("in")
		if err != nil {
			return nil, err
		}
		if err := p.expectWord("in"); err != nil {
			return nil, err
		}
		it := iterator{name: name}
		if it.domain, err = p.expression(); err != nil {
			return nil, err
		}
		if p.acceptSymbol("..") {
			if it.end, err = p.expression(); err != nil {
				return nil, err
			}
		}
		all = append(all, it)
		p.bind(name)
		if !p.acceptSymbol(",") {
			return all, nil
		}
	}
}

func (p *parser) forExpression() (node, error) {
	p.advance()
	iterators, err := p.iterators()
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("return"); err != nil {
		return nil, err
	}
	p.bind("partial")
	body, err := p.expression()
	return &forNode{iterators, body}, err
}

func (p *parser) quantified() (node, error) {
	every := p.advance().text == "every"
	iterators, err := p.iterators()
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("satisfies"); err != nil {
		return nil, err
	}
	condition, err := p.expression()
	return &quantifiedNode{every, iterators, condition}, err
}

func (p *parser) functionDefinition() (node, error) {
	p.advance()
	if err := p.expectSymbol("("); err != nil {
		return nil, err
	}
	definition := &functionNode{}
	for !p.acceptSymbol(")") {
		parameter, err := p.parameter()
		if err != nil {
			return nil, err
		}
		definition.parameters = append(definition.parameters, parameter)
		if !p.acceptSymbol(",") && !p.peek().symbol(")") {
			return nil, p.unexpected("expected , or )")
		}
	}
	for _, parameter := range definition.parameters {
		p.bind(parameter.Name)
	}
	if p.peek().word("external") && p.ahead(1).symbol("{") {
		return nil, p.unexpected("external functions are not called here")
	}
	var err error
	definition.body, err = p.inner(p.expression)
	return definition, err
}

func (p *parser) parameter() (Parameter, error) {
	name, err := p.nameUntil()
	if err != nil {
		return Parameter{}, err
	}
	parameter := Parameter{Name: name}
	if p.acceptSymbol(":") {
		parameter.Type, err = p.typeName()
	}
	return parameter, err
}
