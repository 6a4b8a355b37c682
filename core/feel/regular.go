package feel

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern bounds the text of a regular expression.
const maxPattern = 4 << 10

// regular compiles a pattern of XPath 2.0, which FEEL refers to, for package regexp. Back-references and the names of Unicode
// blocks are not supported: matching stays linear in the input, and is paid for before it is done.
func regular(m *machine, input String, pattern, flags Value) (*regexp.Regexp, bool) {
	p, ok := as[String](pattern)
	if !ok || len(p) > maxPattern {
		return nil, false
	}
	t := translator{source: string(p)}
	if flags != nil && !t.flags(flags) {
		return nil, false
	}
	if t.literal {
		t.out.WriteString(regexp.QuoteMeta(t.source))
	} else if !t.translate() {
		return nil, false
	}
	text := t.prefix() + t.out.String()
	m.spend(1 + programSize(text)*(1+len(input))/64)
	compiled, err := regexp.Compile(text)
	return compiled, err == nil
}

// programSize is what a pattern costs for each byte that it is matched against.
func programSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// translator rewrites what the two dialects spell differently.
type translator struct {
	source  string
	pos     int
	out     strings.Builder
	options string // flags that package regexp has too
	dotAll  bool
	literal bool
}

func (t *translator) flags(flags Value) bool {
	text, ok := as[String](flags)
	for _, flag := range string(text) {
		switch flag {
		case 'i', 'm':
			t.options += string(flag)
		case 's':
			t.dotAll = true
		case 'x':
			t.source = collapse(t.source)
		case 'q':
			t.literal = true
		default:
			return false
		}
	}
	return ok
}

// collapse removes white space outside of character classes, also from within escapes.
func collapse(pattern string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0 && strings.ContainsRune(" \t\n\r", r):
			return -1
		}
		return r
	}, pattern)
}

func (t *translator) prefix() string {
	options := t.options
	if t.dotAll {
		options += "s"
	}
	if options == "" {
		return ""
	}
	return "(?" + options + ")"
}

func (t *translator) translate() bool {
	for t.pos < len(t.source) {
		c := t.source[t.pos]
		switch {
		case c == '\\':
			if !t.escape() {
				return false
			}
			continue
		case c == '[':
			class, ok := t.class()
			if !ok {
				return false
			}
			t.out.WriteString(class)
			continue
		case c == '.' && !t.dotAll:
			t.out.WriteString(`[^\n\r]`)
		case c == '(' && strings.HasPrefix(t.source[t.pos:], "(?") && !strings.HasPrefix(t.source[t.pos:], "(?:"):
			return false // groups with flags or names are not XPath's
		default:
			t.out.WriteByte(c)
		}
		t.pos++
	}
	return true
}

// escape copies an escape that both dialects have, and spells out those of XML names.
func (t *translator) escape() bool {
	if t.pos+1 == len(t.source) {
		return false
	}
	c := t.source[t.pos+1]
	switch {
	case strings.IndexByte(`nrtdDwWsS\|.-^?*+{}()[]$`, c) >= 0:
		t.out.WriteString(t.source[t.pos : t.pos+2])
	case c == 'i':
		t.out.WriteString(`[\p{L}_:]`)
	case c == 'I':
		t.out.WriteString(`[^\p{L}_:]`)
	case c == 'c':
		t.out.WriteString(`[\p{L}\p{N}\-._:]`)
	case c == 'C':
		t.out.WriteString(`[^\p{L}\p{N}\-._:]`)
	case c == 'p', c == 'P':
		return t.category()
	default:
		return false
	}
	t.pos += 2
	return true
}

// category copies \p{…}. The one block that most patterns mean by it is spelled out.
func (t *translator) category() bool {
	end := strings.IndexByte(t.source[t.pos:], '}')
	if end < 0 {
		return false
	}
	text := t.source[t.pos : t.pos+end+1]
	switch text {
	case `\p{IsBasicLatin}`:
		text = `[\x00-\x7F]`
	case `\P{IsBasicLatin}`:
		text = `[^\x00-\x7F]`
	}
	t.out.WriteString(text)
	t.pos += end + 1
	return true
}

// class translates a character class, and computes the difference where one class is taken from another: [a-z-[aeiou]].
func (t *translator) class() (string, bool) {
	start := t.pos
	for t.pos++; t.pos < len(t.source); t.pos++ {
		switch c := t.source[t.pos]; {
		case c == '\\':
			if t.pos++; t.pos == len(t.source) || isDigit(rune(t.source[t.pos])) {
				return "", false
			}
		case c == '-' && strings.HasPrefix(t.source[t.pos:], "-["):
			base := t.source[start:t.pos] + "]"
			t.pos++
			taken, ok := t.class()
			if !ok || !strings.HasPrefix(t.source[t.pos:], "]") {
				return "", false
			}
			t.pos++
			return without(base, taken)
		case c == '[':
			return "", false
		case c == ']':
			t.pos++
			return t.source[start:t.pos], true
		}
	}
	return "", false
}

// without spells the characters of one class that another lacks.
func without(base, taken string) (string, bool) {
	a, ok := runes(base)
	b, both := runes(taken)
	if !ok || !both {
		return "", false
	}
	var rest []rune
	for i := 0; i < len(a); i += 2 {
		low, high := a[i], a[i+1]
		for j := 0; j < len(b) && low <= high; j += 2 {
			if b[j+1] < low || b[j] > high {
				continue
			}
			if b[j] > low {
				rest = append(rest, low, b[j]-1)
			}
			low = b[j+1] + 1
		}
		if low <= high {
			rest = append(rest, low, high)
		}
	}
	if len(rest) == 0 {
		return `[^\x00-\x{10FFFF}]`, true
	}
	class := &syntax.Regexp{Op: syntax.OpCharClass, Rune: rest}
	return class.String(), true
}

// runes answers the ranges of a class, in order.
func runes(class string) ([]rune, bool) {
	parsed, err := syntax.Parse(class, syntax.Perl)
	if err != nil {
		return nil, false
	}
	switch parsed.Op {
	case syntax.OpCharClass:
		return parsed.Rune, true
	case syntax.OpLiteral:
		return []rune{parsed.Rune[0], parsed.Rune[0]}, len(parsed.Rune) == 1
	}
	return nil, false
}
