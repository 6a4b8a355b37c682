package feel

import (
	"slices"
	"strings"
)

// phrase is a name of several words.
type phrase struct {
	words []string
	name  string
}

// parser turns tokens into nodes by recursive descent. It knows which names are bound, to read names of several words as far as
// they go and to tell built-in functions from variables.
type parser struct {
	compiler Compiler
	source   string
	tokens   []token
	pos      int
	nesting  int
	high     bool // within the upper end of an interval, where [ may close it

	phrases map[string][]phrase // of known names, of local ones, and of the keys of contexts, by their first word
	locals  []string
	free    []string
	calls   []string
}

func newParser(c Compiler, source string) *parser {
	p := &parser{compiler: c, source: source, phrases: map[string][]phrase{
		"time":  {{[]string{"time", "offset"}, "time offset"}},
		"start": {{[]string{"start", "included"}, "start included"}},
		"end":   {{[]string{"end", "included"}, "end included"}},
	}}
	for _, name := range c.Names {
		p.know(name)
	}
	return p
}

// know makes a name readable if it has several words.
func (p *parser) know(name string) {
	tokens, err := lex(name)
	if err != nil || len(tokens) < 3 {
		return
	}
	words := make([]string, 0, len(tokens)-1)
	for _, t := range tokens[:len(tokens)-1] {
		words = append(words, t.text)
	}
	p.phrases[words[0]] = append(p.phrases[words[0]], phrase{words, name})
}

func (p *parser) bind(name string) {
	p.locals = append(p.locals, name)
	p.know(name)
}

// scoped runs parse and unbinds the names that it bound. Those of several words stay readable: an entry may be read by its path.
func (p *parser) scoped(parse func() (node, error)) (node, error) {
	locals := len(p.locals)
	n, err := parse()
	p.locals = p.locals[:locals]
	return n, err
}

// attempt runs parse and takes everything back when it fails.
func (p *parser) attempt(parse func() (node, error)) (node, bool) {
	saved := *p
	n, err := parse()
	if err != nil {
		*p = saved
	}
	return n, err == nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) ahead(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

func (p *parser) advance() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

func (t token) symbol(text string) bool { return t.kind == tokenSymbol && t.text == text }

func (t token) word(text string) bool { return t.kind == tokenName && t.text == text }

func (p *parser) acceptSymbol(text string) bool {
	if !p.peek().symbol(text) {
		return false
	}
	p.pos++
	return true
}

func (p *parser) acceptWord(text string) bool {
	if !p.peek().word(text) {
		return false
	}
	p.pos++
	return true
}

func (p *parser) expectSymbol(text string) error {
	if !p.acceptSymbol(text) {
		return p.unexpected("expected " + text)
	}
	return nil
}

func (p *parser) expectWord(text string) error {
	if !p.acceptWord(text) {
		return p.unexpected("expected " + text)
	}
	return nil
}

func (p *parser) unexpected(message string) error {
	t := p.peek()
	found := "the end of the source"
	switch t.kind {
	case tokenEnd:
	case tokenString:
		found = "a string"
	default:
		found = t.text
	}
	return syntaxError(p.source, t.pos, message+", found "+found)
}

func (p *parser) whole() (node, error) {
	n, err := p.expression()
	if err == nil && p.peek().kind != tokenEnd {
		err = p.unexpected("expected an operator or the end")
	}
	return n, err
}

// enter guards the recursion; leave goes with it.
func (p *parser) enter() error {
	if p.nesting++; p.nesting > maxNesting {
		return syntaxError(p.source, p.peek().pos, "nested too deeply")
	}
	return nil
}

func (p *parser) leave() { p.nesting-- }

// inner parses what stands between brackets, where [ has its ordinary meaning again.
func (p *parser) inner(parse func() (node, error)) (node, error) {
	high := p.high
	p.high = false
	n, err := parse()
	p.high = high
	return n, err
}

func (p *parser) expression() (node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.disjunction()
}

func (p *parser) disjunction() (node, error) {
	left, err := p.conjunction()
	for err == nil && p.acceptWord("or") {
		var right node
		right, err = p.conjunction()
		left = &orNode{left, right}
	}
	return left, err
}

func (p *parser) conjunction() (node, error) {
	left, err := p.comparison()
	for err == nil && p.acceptWord("and") {
		var right node
		right, err = p.comparison()
		left = &andNode{left, right}
	}
	return left, err
}

func (p *parser) comparison() (node, error) {
	left, err := p.additive()
	for err == nil {
		switch t := p.peek(); {
		case t.kind == tokenSymbol && isComparison(t.text):
			p.advance()
			var right node
			right, err = p.additive()
			left = &compareNode{operator: t.text, left: left, right: right}
		case t.word("between"):
			left, err = p.between(left)
		case t.word("in"):
			p.advance()
			var tests []node
			tests, err = p.inTests()
			left = &inNode{value: left, tests: tests}
		default:
			return left, nil
		}
	}
	return left, err
}

func isComparison(symbol string) bool {
	switch symbol {
	case "=", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (p *parser) between(value node) (node, error) {
	p.advance()
	low, err := p.additive()
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("and"); err != nil {
		return nil, err
	}
	high, err := p.additive()
	return &betweenNode{value, low, high}, err
}

// inTests parses what follows in: one test, or several in parentheses.
func (p *parser) inTests() ([]node, error) {
	if !p.peek().symbol("(") {
		test, err := p.test((*parser).additive)
		return []node{test}, err
	}
	var tests []node
	_, err := p.inner(func() (node, error) {
		p.advance()
		var err error
		if tests, err = p.tests(); err != nil {
			return nil, err
		}
		if first, ok := tests[0].(*valueTest); ok && len(tests) == 1 && p.peek().symbol("..") {
			first.value, err = p.interval(first.value, false)
			return nil, err
		}
		return nil, p.expectSymbol(")")
	})
	return tests, err
}

func (p *parser) tests() ([]node, error) {
	var tests []node
	for {
		test, err := p.test((*parser).expression)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
		if !p.acceptSymbol(",") {
			return tests, nil
		}
	}
}

// test parses one positive unary test (grammar rule 7).
func (p *parser) test(operand func(*parser) (node, error)) (node, error) {
	if t := p.peek(); t.kind == tokenSymbol && isComparison(t.text) {
		p.advance()
		end, err := p.additive()
		return &operatorTest{t.text, end}, err
	}
	before := len(p.free)
	n, err := operand(p)
	return &valueTest{value: n, readsInput: slices.Contains(p.free[before:], inputName)}, err
}

// inputName is the name of the tested value in unary tests.
const inputName = "?"

// unaryTests parses grammar rule 15.
func (p *parser) unaryTests() (node, error) {
	if p.peek().symbol("-") && p.ahead(1).kind == tokenEnd {
		return &literal{Boolean(true)}, nil
	}
	tests := &unaryNode{}
	negated := func() (node, error) {
		if !p.acceptWord("not") {
			return nil, p.unexpected("expected not")
		}
		if err := p.expectSymbol("("); err != nil {
			return nil, err
		}
		var err error
		if tests.tests, err = p.tests(); err != nil {
			return nil, err
		}
		if err := p.expectSymbol(")"); err != nil || p.peek().kind != tokenEnd {
			return nil, p.unexpected("expected the end")
		}
		return nil, nil
	}
	if _, ok := p.attempt(negated); ok {
		tests.negated = true
		return tests, nil
	}
	var err error
	tests.tests, err = p.tests()
	if err == nil && p.peek().kind != tokenEnd {
		err = p.unexpected("expected , or the end")
	}
	return tests, err
}

func (p *parser) additive() (node, error) {
	left, err := p.multiplicative()
	for err == nil {
		t := p.peek()
		if !t.symbol("+") && !t.symbol("-") {
			break
		}
		p.advance()
		var right node
		right, err = p.multiplicative()
		left = &arithmeticNode{t.text, left, right}
	}
	return left, err
}

func (p *parser) multiplicative() (node, error) {
	left, err := p.power()
	for err == nil {
		t := p.peek()
		if !t.symbol("*") && !t.symbol("/") {
			break
		}
		p.advance()
		var right node
		right, err = p.power()
		left = &arithmeticNode{t.text, left, right}
	}
	return left, err
}

func (p *parser) power() (node, error) {
	left, err := p.negation()
	for err == nil && p.acceptSymbol("**") {
		var right node
		right, err = p.negation()
		left = &arithmeticNode{"**", left, right}
	}
	return left, err
}

func (p *parser) negation() (node, error) {
	if !p.peek().symbol("-") {
		return p.instanceOf()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.advance()
	if t := p.peek(); t.kind == tokenNumber {
		p.tokens[p.pos].text = "-" + strings.TrimPrefix(t.text, "-")
		n, err := p.instanceOf()
		return n, err
	}
	operand, err := p.negation()
	return &negateNode{operand}, err
}

func (p *parser) instanceOf() (node, error) {
	value, err := p.postfix()
	for err == nil && p.peek().word("instance") && p.ahead(1).word("of") {
		p.pos += 2
		var t Type
		t, err = p.typeName()
		value = &instanceNode{value, t}
	}
	return value, err
}

func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.acceptSymbol("."):
			var name string
			name, err = p.member()
			n = &pathNode{n, name}
		case p.peek().symbol("["):
			source := n
			filter := func() (node, error) { return p.filter(source) }
			if !p.high {
				n, err = filter()
				break
			}
			filtered, ok := p.attempt(filter)
			if !ok {
				return n, nil
			}
			n = filtered
		case p.peek().symbol("("):
			n, err = p.invocation(n)
		default:
			return n, nil
		}
	}
	return n, err
}

// member parses the name after a dot, as many words as are known to belong together.
func (p *parser) member() (string, error) {
	if name, n := p.phrase(); n > 0 {
		p.pos += n
		return name, nil
	}
	t := p.peek()
	if t.kind != tokenName && t.kind != tokenQuoted {
		return "", p.unexpected("expected a name")
	}
	p.advance()
	return t.text, nil
}

func (p *parser) filter(source node) (node, error) {
	return p.inner(func() (node, error) {
		p.advance()
		condition, err := p.scoped(func() (node, error) {
			p.bind("item")
			return p.expression()
		})
		if err != nil {
			return nil, err
		}
		return &filterNode{source, condition}, p.expectSymbol("]")
	})
}

func (p *parser) invocation(callee node) (node, error) {
	return p.inner(func() (node, error) {
		p.advance()
		call := &callNode{callee: callee}
		if p.acceptSymbol(")") {
			return call, nil
		}
		named := p.named()
		for {
			if named {
				name, err := p.nameUntil(":")
				if err != nil {
					return nil, err
				}
				call.names = append(call.names, name)
			}
			arg, err := p.expression()
			if err != nil {
				return nil, err
			}
			call.args = append(call.args, arg)
			if !p.acceptSymbol(",") {
				return call, p.expectSymbol(")")
			}
		}
	})
}

// named reports whether a colon ends the first argument's name.
func (p *parser) named() bool {
	for i := 0; ; i++ {
		switch t := p.ahead(i); {
		case t.symbol(":"):
			return i > 0
		case t.kind == tokenEnd, t.kind == tokenString, t.kind == tokenSymbol && strings.Contains("()[]{},", t.text):
			return false
		}
	}
}

// nameUntil parses a name being declared: all words up to one of the symbols, which it passes only if it is a colon.
func (p *parser) nameUntil(ends ...string) (string, error) {
	start := p.pos
	for {
		t := p.peek()
		stops := t.kind == tokenEnd || t.kind == tokenString ||
			t.kind == tokenSymbol && (strings.Contains("()[]{},:", t.text) || slices.Contains(ends, t.text)) ||
			t.kind == tokenName && slices.Contains(ends, t.text)
		if stops {
			break
		}
		p.advance()
	}
	first, last := p.tokens[start], p.tokens[max(start, p.pos-1)]
	if p.pos == start || first.kind != tokenName && first.kind != tokenQuoted {
		return "", p.unexpected("expected a name")
	}
	name := canonical(p.source[first.pos:last.end])
	if first.kind == tokenQuoted {
		name = first.text
	}
	if slices.Contains(ends, ":") && !p.acceptSymbol(":") {
		return "", p.unexpected("expected :")
	}
	return name, nil
}

// canonical is a name with each run of white space made one blank.
func canonical(name string) string { return strings.Join(strings.FieldsFunc(name, isSpace), " ") }

// phrase finds the longest known name of several words that starts here, and the number of its tokens.
func (p *parser) phrase() (string, int) {
	name, length := "", 0
	for _, candidate := range p.phrases[p.peek().text] {
		if len(candidate.words) > length && p.reads(candidate.words) {
			name, length = candidate.name, len(candidate.words)
		}
	}
	return name, length
}

func (p *parser) reads(words []string) bool {
	for i, word := range words {
		if t := p.ahead(i); t.text != word || t.kind == tokenString || t.kind == tokenEnd {
			return false
		}
	}
	return true
}
