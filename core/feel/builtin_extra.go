package feel

import (
	"encoding/base64"
	"strings"
	"time"
)

// extras are functions that the tools of Camunda offer beyond the standard, where they are pure and the standard leaves room.
// is defined() is one more: it is a construct of its own, for it looks at names and not at values.
var extras = definitions{
	"get or else(value, default)": getOrElse,
	"is empty(list)":              isEmpty,
	"is blank(string)":            unary(func(s String) Value { return Boolean(strings.TrimSpace(string(s)) == "") }),
	"trim(string)":                unary(func(s String) Value { return String(strings.TrimSpace(string(s))) }),
	"to base64(value)":            unary(func(s String) Value { return String(base64.StdEncoding.EncodeToString([]byte(s))) }),
	"extract(string, pattern)":    extract,
	"duplicate values(list)":      duplicates,
	"partition(list, size)":       partition,
	"last day of month(date)":     calendar(func(t time.Time) Value { return dateOf(t.AddDate(0, 1, -t.Day())) }),
}

func getOrElse(_ *machine, args []Value) Value {
	if args[0] == nil {
		return args[1]
	}
	return args[0]
}

func isEmpty(_ *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	return Boolean(len(list) == 0)
}

func extract(m *machine, args []Value) Value {
	s, ok := as[String](args[0])
	pattern, isPattern := regular(m, s, args[1], nil)
	if !ok || !isPattern {
		return nil
	}
	found := List{}
	for _, match := range pattern.FindAllString(string(s), -1) {
		found = append(found, String(match))
	}
	return m.list(found)
}

// duplicates answers what is in the list more than once, each once, in the order of their second coming.
func duplicates(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	seen, twice := List{}, List{}
	for _, item := range list {
		m.spend(len(seen))
		switch {
		case m.position(seen, item) < 0:
			seen = append(seen, item)
		case m.position(twice, item) < 0:
			twice = append(twice, item)
		}
	}
	return m.list(twice)
}

func partition(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	size, isNumber := as[Number](args[1])
	n, isInt := wholeInt(size)
	if !ok || !isNumber || !isInt || n < 1 {
		return nil
	}
	m.room(len(list))
	parts := List{}
	for len(list) > 0 {
		n = min(n, len(list))
		parts, list = append(parts, list[:n:n]), list[n:]
	}
	return parts
}

// definedNode is the construct is defined(value): whether a name is bound, or the last name of a path is an entry there.
type definedNode struct{ value node }

func (n *definedNode) eval(m *machine, f *frame) Value {
	switch value := n.value.(type) {
	case *nameNode:
		_, ok := value.lookup(m, f)
		return Boolean(ok)
	case *pathNode:
		if context, ok := m.eval(value.source, f).(Context); ok {
			_, ok = context[value.name]
			return Boolean(ok)
		}
	}
	return Boolean(m.eval(n.value, f) != nil)
}
