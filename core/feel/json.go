package feel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// FromJSON reads one JSON document: numbers exactly, strings as strings. Refused are numbers of more than 34 digits, a key twice in
// an object, nesting beyond 150 levels, text that is not UTF-8, and anything after the document.
func FromJSON(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("feel: the document is not UTF-8")
	}
	r := jsonReader{decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	v, err := r.value()
	if err != nil {
		return nil, fmt.Errorf("feel: json at byte %d: %w", r.decoder.InputOffset(), err)
	}
	if _, err := r.decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("feel: json at byte %d: more than one document", r.decoder.InputOffset())
	}
	return v, nil
}

type jsonReader struct {
	decoder *json.Decoder
	depth   int
}

func (r *jsonReader) value() (Value, error) {
	token, err := r.decoder.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case bool:
		return Boolean(token), nil
	case string:
		return String(token), nil
	case json.Number:
		return jsonNumber(token.String())
	case json.Delim:
		return r.nested(token)
	}
	return nil, nil
}

func jsonNumber(text string) (Value, error) {
	n, ok := parseNumber(text)
	if !ok {
		return nil, fmt.Errorf("the number %s does not fit 34 digits", shorten(text))
	}
	return n, nil
}

func shorten(text string) string {
	if len(text) > 50 {
		return text[:50] + "…"
	}
	return text
}

func (r *jsonReader) nested(open json.Delim) (Value, error) {
	if r.depth++; r.depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d levels", maxNesting)
	}
	defer func() { r.depth-- }()
	if open == '[' {
		return r.list()
	}
	return r.context()
}

func (r *jsonReader) list() (Value, error) {
	list := List{}
	for r.decoder.More() {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.decoder.Token()
	return list, err
}

func (r *jsonReader) context() (Value, error) {
	context := Context{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		if _, twice := context[key]; twice {
			return nil, fmt.Errorf("the key %q is there twice", key)
		}
		if context[key], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.decoder.Token()
	return context, err
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
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
