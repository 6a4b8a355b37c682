package feel

import (
	"slices"
	"strings"
)

// Text is FEEL's string(): strings as they are, everything else as it would be written, numbers normalised (42.0 gives 42).
// Null gives "null".
func Text(v Value) string {
	if s, ok := v.(String); ok {
		return string(s)
	}
	var b strings.Builder
	write(&b, v)
	return b.String()
}

// write writes a value as an expression would spell it, dates and durations without their quotes.
func write(b *strings.Builder, v Value) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case Boolean:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case Number:
		b.WriteString(v.String())
	case String:
		b.WriteString(quote(string(v)))
	case List:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, item)
		}
		b.WriteByte(']')
	case Context:
		b.WriteByte('{')
		for i, key := range v.keys() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(keyText(key))
			b.WriteString(": ")
			write(b, v[key])
		}
		b.WriteByte('}')
	case Range:
		writeRange(b, v)
	case *Function:
		b.WriteString("function")
	case interface{ String() string }:
		b.WriteString(v.String())
	}
}

func writeRange(b *strings.Builder, r Range) {
	open, end := byte('('), byte(')')
	if r.LowClosed {
		open = '['
	}
	if r.HighClosed {
		end = ']'
	}
	b.WriteByte(open)
	write(b, r.Low)
	b.WriteString("..")
	write(b, r.High)
	b.WriteByte(end)
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

// keyText quotes a key that could not be read back as a name.
func keyText(key string) string {
	tokens, err := lex(key)
	if err == nil && len(tokens) > 1 && tokens[0].kind == tokenName && canonical(key) == key &&
		!slices.ContainsFunc(tokens, func(t token) bool { return t.kind == tokenString || t.kind == tokenSymbol }) {
		return key
	}
	return quote(key)
}

// keys answers the keys in their order.
func (c Context) keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
