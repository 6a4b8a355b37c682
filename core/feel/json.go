package feel

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// FromJSON reads one JSON document (RFC 8259): numbers exactly, strings as strings. Refused are numbers of more than 34 digits, a key
// twice in an object, nesting beyond 150 levels, text that is not UTF-8 or names half a surrogate pair, and anything after the document.
func FromJSON(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("feel: the document is not UTF-8")
	}
	r := jsonReader{data: data}
	v, err := r.value()
	r.peek()
	if err == nil && r.pos < len(data) {
		err = errors.New("more than one document")
	}
	if err != nil {
		return nil, fmt.Errorf("feel: json at byte %d: %w", r.pos, err)
	}
	return v, nil
}

// jsonReader reads by recursive descent; pos is where it stands when it fails.
type jsonReader struct {
	data       []byte
	pos, depth int
}

var errJSONEnd = errors.New("the document ends too early")

// peek passes white space and answers the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// accept passes one byte if it comes next.
func (r *jsonReader) accept(c byte) bool {
	if r.peek() != c || r.pos == len(r.data) {
		return false
	}
	r.pos++
	return true
}

func (r *jsonReader) unexpected() error {
	if r.pos >= len(r.data) {
		return errJSONEnd
	}
	return fmt.Errorf("unexpected %q", r.data[r.pos])
}

func (r *jsonReader) value() (Value, error) {
	switch c := r.peek(); {
	case c == '{':
		return r.nested(r.context)
	case c == '[':
		return r.nested(r.list)
	case c == '"':
		s, err := r.text()
		return String(s), err
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, word := range [...]struct {
		text  string
		value Value
	}{{"null", nil}, {"true", Boolean(true)}, {"false", Boolean(false)}} {
		if bytes.HasPrefix(r.data[r.pos:], []byte(word.text)) {
			r.pos += len(word.text)
			return word.value, nil
		}
	}
	return nil, r.unexpected()
}

func (r *jsonReader) nested(read func() (Value, error)) (Value, error) {
	if r.depth++; r.depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d levels", maxNesting)
	}
	r.pos++
	v, err := read()
	r.depth--
	return v, err
}

func (r *jsonReader) list() (Value, error) {
	list := List{}
	if r.accept(']') {
		return list, nil
	}
	for {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if r.accept(']') {
			return list, nil
		}
		if !r.accept(',') {
			return nil, r.unexpected()
		}
	}
}

func (r *jsonReader) context() (Value, error) {
	context := Context{}
	if r.accept('}') {
		return context, nil
	}
	for {
		if r.peek() != '"' {
			return nil, r.unexpected()
		}
		key, err := r.text()
		if err != nil {
			return nil, err
		}
		if _, twice := context[key]; twice {
			return nil, fmt.Errorf("the key %q is there twice", shorten(key))
		}
		if !r.accept(':') {
			return nil, r.unexpected()
		}
		if context[key], err = r.value(); err != nil {
			return nil, err
		}
		if r.accept('}') {
			return context, nil
		}
		if !r.accept(',') {
			return nil, r.unexpected()
		}
	}
}

// number reads the number grammar of JSON, which is narrower than that of decimals.
func (r *jsonReader) number() (Value, error) {
	start := r.pos
	r.skip('-')
	zero := r.skip('0')
	if !zero && !r.digits() {
		return nil, r.unexpected()
	}
	if r.skip('.') && !r.digits() {
		return nil, r.unexpected()
	}
	if r.skip('e') || r.skip('E') {
		if !r.skip('-') {
			r.skip('+')
		}
		if !r.digits() {
			return nil, r.unexpected()
		}
	}
	text := string(r.data[start:r.pos])
	n, ok := parseNumber(text)
	if !ok {
		return nil, fmt.Errorf("the number %s does not fit 34 digits", shorten(text))
	}
	return n, nil
}

func (r *jsonReader) skip(c byte) bool {
	if r.pos == len(r.data) || r.data[r.pos] != c {
		return false
	}
	r.pos++
	return true
}

func (r *jsonReader) digits() bool {
	start := r.pos
	for r.pos < len(r.data) && isDigit(rune(r.data[r.pos])) {
		r.pos++
	}
	return r.pos > start
}

func shorten(text string) string {
	if len(text) > 50 {
		return text[:50] + "…"
	}
	return text
}

// text reads a string. Most have no escapes and are taken as they stand.
func (r *jsonReader) text() (string, error) {
	r.pos++
	start := r.pos
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			return string(r.data[start : r.pos-1]), nil
		case c == '\\':
			return r.escaped(bytes.Clone(r.data[start:r.pos]))
		case c < 0x20:
			return "", r.unexpected()
		}
	}
	return "", errJSONEnd
}

// escaped goes on with a string from its first escape.
func (r *jsonReader) escaped(text []byte) (string, error) {
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		switch {
		case c == '"':
			r.pos++
			return string(text), nil
		case c < 0x20:
			return "", r.unexpected()
		case c != '\\':
			text = append(text, c)
			r.pos++
			continue
		}
		r.pos++
		if r.pos == len(r.data) {
			return "", errJSONEnd
		}
		if r.data[r.pos] == 'u' {
			rest, err := r.codePoint(text)
			if err != nil {
				return "", err
			}
			text = rest
			continue
		}
		i := bytes.IndexByte([]byte(`"\/bfnrt`), r.data[r.pos])
		if i < 0 {
			return "", r.unexpected()
		}
		text = append(text, "\"\\/\b\f\n\r\t"[i])
		r.pos++
	}
	return "", errJSONEnd
}

// codePoint reads \uXXXX, or two of them for a character beyond the first plane.
func (r *jsonReader) codePoint(text []byte) ([]byte, error) {
	first, ok := r.hex()
	if ok && utf16.IsSurrogate(first) {
		if !r.skip('\\') || r.pos == len(r.data) || r.data[r.pos] != 'u' {
			return nil, errors.New("half of a surrogate pair")
		}
		var second rune
		second, ok = r.hex()
		if first = utf16.DecodeRune(first, second); first == utf8.RuneError {
			return nil, errors.New("half of a surrogate pair")
		}
	}
	if !ok {
		return nil, errors.New("an escape of four digits was expected")
	}
	return utf8.AppendRune(text, first), nil
}

// hex reads the u and four digits.
func (r *jsonReader) hex() (rune, bool) {
	if r.pos+5 > len(r.data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.data[r.pos+1:r.pos+5]), 16, 16)
	r.pos += 5
	return rune(n), err == nil
}

// ToJSON writes a value: keys sorted, numbers without exponent, dates, times and durations as ISO text, ranges as FEEL text. It is
// the same for equal values. Functions are refused, and so is nesting beyond 150 levels.
func ToJSON(v Value) ([]byte, error) { return appendJSON(nil, v, 0) }

func appendJSON(b []byte, v Value, depth int) ([]byte, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("feel: nested more than %d levels", maxNesting)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case Boolean:
		return strconv.AppendBool(b, bool(v)), nil
	case Number:
		return v.Decimal.Append(b, 'f'), nil
	case List:
		return appendList(b, v, depth)
	case Context:
		return appendContext(b, v, depth)
	case *Function:
		return nil, errors.New("feel: a function has no JSON")
	}
	return appendString(b, Text(v)), nil
}

func appendList(b []byte, list List, depth int) ([]byte, error) {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, item, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendContext(b []byte, context Context, depth int) ([]byte, error) {
	b = append(b, '{')
	for i, key := range context.keys() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		var err error
		if b, err = appendJSON(b, context[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendString quotes text; only what JSON demands is escaped.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	done := 0 // what stands before it is written
	for i, r := range text {
		if r >= 0x20 && r != '"' && r != '\\' && r != utf8.RuneError {
			continue
		}
		b = append(b, text[done:i]...)
		_, size := utf8.DecodeRuneInString(text[i:])
		done = i + size
		switch r {
		case '"', '\\':
			b = append(b, '\\', byte(r))
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		case utf8.RuneError: // also what is no UTF-8
			b = utf8.AppendRune(b, r)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(append(b, text[done:]...), '"')
}
