package bpmn

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// expression compiles FEEL found at e. A leading = is allowed and means the same. Nil, with a refusal, when it does not compile.
func (r *reader) expression(e *element, source string) *Expression {
	if !r.feelAt(e, source) {
		return nil
	}
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(source), "="))
	if text == "" {
		r.refuse(e, fault.ModelExpression, "the expression is empty; write a FEEL expression")
		return nil
	}
	compiled, err := feel.CompileNames(text, r.names)
	switch {
	case err != nil && xpathData.MatchString(text):
		r.refuse(e, fault.ModelLanguage, "%q is XPath, which is not run here; write = %s", text, fromXPath(text))
		return nil
	case err != nil:
		r.refuse(e, fault.ModelExpression, "%q is no FEEL expression: %v; write it in FEEL", text, err)
		return nil
	}
	return &Expression{Source: text, Line: e.line, feel: compiled}
}

// optional compiles an expression that may be missing.
func (r *reader) optional(e *element, source string) *Expression {
	if strings.TrimSpace(source) == "" {
		return nil
	}
	return r.expression(e, source)
}

// feelAt refuses other languages than FEEL, saying what FEEL would be.
func (r *reader) feelAt(e *element, source string) bool {
	if lang, ok := e.find("", "language"); ok && foreign(lang) {
		r.refuse(e, fault.ModelLanguage, "the expression language %q is not run here; write it in FEEL and leave language out", lang)
		return false
	}
	return r.notJUEL(e, source)
}

// notJUEL refuses text that begins as a JUEL expression does.
func (r *reader) notJUEL(e *element, source string) bool {
	text := strings.TrimSpace(source)
	return !strings.HasPrefix(text, "${") && !strings.HasPrefix(text, "#{") || r.noJUEL(e, text)
}

// noJUEL refuses text that has JUEL expressions anywhere: what another engine would put in their place is not known here.
func (r *reader) noJUEL(e *element, source string) bool {
	source = strings.TrimSpace(source)
	if !juel.MatchString(source) {
		return true
	}
	r.refuse(e, fault.ModelLanguage, "%q is no FEEL expression; write = %s", source, fromJUEL(source))
	return false
}

// juel is a JUEL expression within a text, closed or not.
var juel = regexp.MustCompile(`[$#]\{([^}]*)\}?`)

// fromJUEL guesses what text with JUEL expressions is in FEEL, for a message: what stands between them is joined to them.
func fromJUEL(text string) string {
	var parts []string
	expressions := juel.FindAllStringSubmatchIndex(text, -1)
	end := 0
	for _, at := range expressions {
		if at[0] > end {
			parts = append(parts, strconv.Quote(text[end:at[0]]))
		}
		inner := feelOf(text[at[2]:at[3]])
		if len(text) > at[1]-at[0] {
			inner = "string(" + inner + ")"
		}
		parts, end = append(parts, inner), at[1]
	}
	if end < len(text) {
		parts = append(parts, strconv.Quote(text[end:]))
	}
	return strings.Join(parts, " + ")
}

func feelOf(juel string) string {
	text := strings.TrimSpace(juel)
	for _, change := range juelForms {
		text = change.form.ReplaceAllString(text, change.feel)
	}
	return text
}

// juelForms are forms of JUEL and what they are in FEEL.
var juelForms = []struct {
	form *regexp.Regexp
	feel string
}{
	{regexp.MustCompile(`'([^']*)'`), `"$1"`},
	{regexp.MustCompile(`execution\.getVariable\(\s*"(\w+)"\s*\)`), `$1`},
	{regexp.MustCompile(`\s*(?:&&|\band\b)\s*`), ` and `},
	{regexp.MustCompile(`\s*(?:\|\||\bor\b)\s*`), ` or `},
	{regexp.MustCompile(`\s*(?:==|\beq\b)\s*`), ` = `},
	{regexp.MustCompile(`\s*(?:!=|\bne\b)\s*`), ` != `},
	{regexp.MustCompile(`\s*\bgt\b\s*`), ` > `},
	{regexp.MustCompile(`\s*\blt\b\s*`), ` < `},
	{regexp.MustCompile(`\s*\bge\b\s*`), ` >= `},
	{regexp.MustCompile(`\s*\ble\b\s*`), ` <= `},
	{regexp.MustCompile(`\bempty\s+([\w.]+)`), `($1 = null)`},
	{regexp.MustCompile(`(?:!|\bnot\b)\s*\(([^()]*)\)`), `not($1)`},
	{regexp.MustCompile(`(?:!|\bnot\s)\s*([\w.]+)`), `not($1)`},
}

// xpathData is how the standard's XPath functions read data.
var xpathData = regexp.MustCompile(`\b(?:bpmn:)?get(?:DataObject|DataInput|DataOutput|ProcessProperty|ActivityProperty)\(\s*'([^']*)'\s*\)`)

// fromXPath guesses what an XPath expression is in FEEL, for a message.
func fromXPath(text string) string {
	return strings.ReplaceAll(xpathData.ReplaceAllString(text, "$1"), "'", `"`)
}

func foreign(language string) bool {
	l := strings.ToLower(language)
	return l != "" && !strings.Contains(l, "feel") && !strings.Contains(l, "xpath") && !strings.Contains(l, "omg.org/spec/dmn")
}

// text reads a text that is literal unless it starts with =.
func (r *reader) text(e *element, source string) *Text {
	source = strings.TrimSpace(source)
	if source == "" {
		return nil
	}
	if !strings.HasPrefix(source, "=") {
		if !r.noJUEL(e, source) {
			return nil
		}
		return &Text{Literal: source}
	}
	if x := r.expression(e, source); x != nil {
		return &Text{Expr: x}
	}
	return nil
}

// name reads a variable name that the model wants to write, and refuses reserved ones. A leading = is let pass.
func (r *reader) name(e *element, text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "="))
	first, _, _ := strings.Cut(text, ".")
	if first == "loopCounter" || first == "sutra" || strings.HasPrefix(first, "numberOf") && strings.HasSuffix(first, "Instances") ||
		strings.HasPrefix(first, "nrOf") && strings.HasSuffix(first, "Instances") {
		r.refuse(e, fault.ModelNameReserved, "the name %q is the engine's; choose another", first)
	}
	return text
}

// number reads a whole number of at least low; absent when it is missing.
func (r *reader) number(e *element, attr string, low, absent int) int {
	text := e.get(attr)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low {
		r.refuse(e, fault.ModelAttribute, "%s=%q is no whole number of at least %d; correct it", attr, text, low)
		return absent
	}
	return n
}

// flag reads a boolean attribute and refuses what is neither true nor false.
func (r *reader) flag(e *element, attr string) bool {
	switch text := e.get(attr); text {
	case "true", "1":
		return true
	case "", "false", "0":
		return false
	default:
		r.refuse(e, fault.ModelAttribute, "%s=%q is neither true nor false; correct it", attr, text)
		return false
	}
}

// choice reads an attribute that has to be one of some words; the first is what a missing one means.
func (r *reader) choice(e *element, attr string, words ...string) string {
	text := e.get(attr)
	if text == "" {
		return words[0]
	}
	for _, w := range words {
		if text == w {
			return w
		}
	}
	r.refuse(e, fault.ModelAttribute, "%s=%q means nothing; write one of %s", attr, text, strings.Join(words, ", "))
	return words[0]
}

// spaced gathers the names of several words that FEEL can only read when it knows them: of data and of mapped variables.
func spaced(e *element) []string {
	var names []string
	for _, a := range e.attrs {
		names = append(names, spacedName(e.name, a)...)
	}
	for _, child := range e.children {
		names = append(names, spaced(child)...)
	}
	return names
}

func spacedName(element string, a attribute) []string {
	if !strings.ContainsAny(strings.TrimSpace(a.value), " -") {
		return nil
	}
	data := element == "dataObject" || element == "dataInput" || element == "dataOutput" || element == "property" || element == "variable"
	switch {
	case a.name == "name" && data, a.name == "target", a.name == "resultVariable", a.name == "elementVariable", a.name == "inputElement":
		return []string{strings.TrimSpace(strings.TrimPrefix(a.value, "="))}
	}
	return nil
}
