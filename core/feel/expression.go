package feel

import (
	"fmt"
	"slices"
	"strings"
)

// Expression is a compiled source. It is immutable, and may be evaluated by many goroutines at once.
type Expression struct {
	source string
	root   node
	names  []string
	calls  []string
}

// Compiler compiles sources that see known names. The zero Compiler knows none beyond the built-in library.
type Compiler struct {
	// Names are known names; those of several words or with operators in them can only be read when they are here.
	Names []string
	// Types answers the type that a name other than a built-in one stands for. It may be nil.
	Types func(name string) (Type, bool)
}

// Compile compiles an expression. A leading = is allowed and means the same. The error is a *SyntaxError.
func Compile(source string) (*Expression, error) { return Compiler{}.Compile(source) }

// CompileNames compiles an expression that sees names of several words.
func CompileNames(source string, names []string) (*Expression, error) {
	return Compiler{Names: names}.Compile(source)
}

// CompileUnary compiles unary tests (grammar rule 15). The tested value is the variable ? of the scope.
func CompileUnary(source string) (*Expression, error) { return Compiler{}.CompileUnary(source) }

// Compile compiles an expression. A leading = is allowed and means the same. The error is a *SyntaxError.
func (c Compiler) Compile(source string) (*Expression, error) {
	return c.compile(source, (*parser).whole)
}

// CompileUnary compiles unary tests (grammar rule 15). The tested value is the variable ? of the scope.
func (c Compiler) CompileUnary(source string) (*Expression, error) {
	return c.compile(source, (*parser).unaryTests)
}

func (c Compiler) compile(source string, parse func(*parser) (node, error)) (*Expression, error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf("longer than %d bytes", maxSource)}
	}
	p := newParser(c, source)
	tokens, err := lex(strings.Replace(source, "=", " ", leadingEquals(source)))
	if err != nil {
		return nil, err
	}
	p.tokens = tokens
	root, err := parse(p)
	if err != nil {
		return nil, err
	}
	return &Expression{source: source, root: root, names: sorted(p.free), calls: sorted(p.calls)}, nil
}

// leadingEquals answers 1 when the source starts with =, as BPMN tools write it, else 0.
func leadingEquals(source string) int {
	if strings.HasPrefix(strings.TrimSpace(source), "=") {
		return 1
	}
	return 0
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// Source answers what was compiled.
func (e *Expression) Source() string { return e.source }

// Names answers the free names that an evaluation may read from its scope, sorted. Names inside a filter are among them even
// where at run time an element of the list has an entry of that name.
func (e *Expression) Names() []string { return slices.Clone(e.names) }

// Calls reports whether the expression may call the built-in function of that name.
func (e *Expression) Calls(name string) bool {
	_, found := slices.BinarySearch(e.calls, name)
	return found
}

// Eval evaluates the expression. Bad operands give null, never an error: the only errors are a *LimitError, and what a function made
// by NewFunction answers. The result nests at most 150 levels, and its size is within the budget.
func (e *Expression) Eval(env Env) (result Value, err error) {
	m := newMachine(env)
	defer m.recover(&result, &err)
	result = m.eval(e.root, nil)
	m.measure(result)
	return result, nil
}
