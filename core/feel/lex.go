package feel

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a source stops being FEEL. Line and Column count from 1; columns count code points.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("feel: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenString
	tokenQuoted // a name between backticks
	tokenSymbol
)

// token is a lexeme; text is decoded for strings and backtick names, and as written for the others.
type token struct {
	kind     tokenKind
	text     string
	pos, end int
}

// lexer cuts a source into tokens. Names of several words are put together by the parser, which knows them.
type lexer struct {
	source string
	pos    int
}

func lex(source string) ([]token, error) {
	l := lexer{source: source}
	tokens := make([]token, 0, len(source)/3+2)
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, nil
		}
	}
}

func (l *lexer) fail(pos int, format string, args ...any) error {
	return syntaxError(l.source, pos, fmt.Sprintf(format, args...))
}

func syntaxError(source string, pos int, message string) *SyntaxError {
	before := source[:min(pos, len(source))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &SyntaxError{Line: line + 1, Column: column + 1, Message: message}
}

func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	start := l.pos
	if start == len(l.source) {
		return token{kind: tokenEnd, pos: start, end: start}, nil
	}
	r, size := utf8.DecodeRuneInString(l.source[start:])
	switch {
	case isDigit(r), r == '.' && isDigit(l.peek(1)):
		l.number()
		return l.token(tokenNumber, start), nil
	case r == '"':
		return l.quoted(tokenString, '"')
	case r == '`':
		return l.quoted(tokenQuoted, '`')
	case isNameStart(r):
		l.pos += size
		l.name()
		return l.token(tokenName, start), nil
	}
	for _, symbol := range [...]string{"**", "..", "<=", ">=", "!=", "->"} {
		if strings.HasPrefix(l.source[start:], symbol) {
			l.pos += len(symbol)
			return l.token(tokenSymbol, start), nil
		}
	}
	if !strings.ContainsRune("=<>+-*/()[]{},:.@'%&!|;#$^~", r) {
		return token{}, l.fail(start, "unexpected character %q", r)
	}
	l.pos += size
	return l.token(tokenSymbol, start), nil
}

func (l *lexer) token(kind tokenKind, start int) token {
	return token{kind: kind, text: l.source[start:l.pos], pos: start, end: l.pos}
}

// skip passes white space and comments.
func (l *lexer) skip() error {
	for l.pos < len(l.source) {
		rest := l.source[l.pos:]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return l.fail(l.pos, "this comment has no end")
			}
			l.pos += end + 4
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !isSpace(r) {
				return nil
			}
			l.pos += size
		}
	}
	return nil
}

func (l *lexer) peek(ahead int) rune {
	if l.pos+ahead >= len(l.source) {
		return 0
	}
	return rune(l.source[l.pos+ahead])
}

func (l *lexer) digits() {
	for isDigit(l.peek(0)) {
		l.pos++
	}
}

func (l *lexer) number() {
	l.digits()
	if l.peek(0) == '.' && isDigit(l.peek(1)) {
		l.pos++
		l.digits()
	}
	if e := l.peek(0); e != 'e' && e != 'E' {
		return
	}
	sign := 0
	if s := l.peek(1); s == '+' || s == '-' {
		sign = 1
	}
	if isDigit(l.peek(1 + sign)) {
		l.pos += 1 + sign
		l.digits()
	}
}

func (l *lexer) name() {
	for l.pos < len(l.source) {
		r, size := utf8.DecodeRuneInString(l.source[l.pos:])
		if !isNameStart(r) && !isNamePart(r) {
			return
		}
		l.pos += size
	}
}

func (l *lexer) quoted(kind tokenKind, quote rune) (token, error) {
	start := l.pos
	l.pos++
	var text strings.Builder
	for l.pos < len(l.source) {
		r, size := utf8.DecodeRuneInString(l.source[l.pos:])
		switch {
		case r == quote:
			l.pos++
			return token{kind: kind, text: text.String(), pos: start, end: l.pos}, nil
		case r == '\\' && quote == '"':
			if err := l.escape(&text); err != nil {
				return token{}, err
			}
		default:
			text.WriteRune(r)
			l.pos += size
		}
	}
	return token{}, l.fail(start, "this text has no end")
}

// escape decodes one escape; a backslash before anything else stands for itself, as regular expressions need it.
func (l *lexer) escape(text *strings.Builder) error {
	at := l.pos
	l.pos += 2
	switch c := l.source[min(at+1, len(l.source)-1)]; c {
	case 'n':
		text.WriteByte('\n')
	case 'r':
		text.WriteByte('\r')
	case 't':
		text.WriteByte('\t')
	case '"', '\\', '\'':
		text.WriteByte(c)
	case 'u':
		return l.codePoint(text, at, 4)
	case 'U':
		return l.codePoint(text, at, 6)
	default:
		text.WriteByte('\\')
		l.pos = at + 1
	}
	return nil
}

func (l *lexer) codePoint(text *strings.Builder, at, digits int) error {
	r, ok := l.hex(digits)
	if ok && isSurrogate(r) && strings.HasPrefix(l.source[l.pos:], `\u`) {
		l.pos += 2
		var low rune
		low, ok = l.hex(digits)
		r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
	}
	if !ok || !utf8.ValidRune(r) {
		return l.fail(at, "this escape names no character")
	}
	text.WriteRune(r)
	return nil
}

func (l *lexer) hex(digits int) (rune, bool) {
	end := min(l.pos+digits, len(l.source))
	n, err := strconv.ParseUint(l.source[l.pos:end], 16, 32)
	l.pos = end
	return rune(n), err == nil
}

func isSurrogate(r rune) bool { return r >= 0xD800 && r <= 0xDBFF }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// isSpace is white space of grammar rules 61 and 62.
func isSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r == 0x20, r == 0x85, r == 0xA0, r == 0x1680, r == 0x180E, r >= 0x2000 && r <= 0x200B,
		r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000, r == 0xFEFF:
		return true
	}
	return false
}

// isNameStart is grammar rule 28.
func isNameStart(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r == '?',
		r >= 0xC0 && r <= 0xD6, r >= 0xD8 && r <= 0xF6, r >= 0xF8 && r <= 0x2FF, r >= 0x370 && r <= 0x37D,
		r >= 0x37F && r <= 0x1FFF && !isSpace(r), r >= 0x200C && r <= 0x200D, r >= 0x2070 && r <= 0x218F, r >= 0x2C00 && r <= 0x2FEF,
		r >= 0x3001 && r <= 0xD7FF, r >= 0xF900 && r <= 0xFDCF, r >= 0xFDF0 && r <= 0xFFFD && r != 0xFEFF && r != utf8.RuneError,
		r >= 0x10000 && r <= 0xEFFFF:
		return true
	}
	return false
}

// isNamePart is what grammar rule 29 adds.
func isNamePart(r rune) bool {
	return isDigit(r) || r == 0xB7 || r >= 0x300 && r <= 0x36F || r >= 0x203F && r <= 0x2040
}
