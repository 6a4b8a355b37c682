package feel

import (
	"strings"
	"unicode/utf8"
)

// texts are the functions of DMN 1.5, 10.3.4.3.
var texts = definitions{
	"substring(string, start position, length?)":   substring,
	"string length(string)":                        unary(func(s String) Value { return numberOf(int64(utf8.RuneCountInString(string(s)))) }),
	"upper case(string)":                           unary(func(s String) Value { return String(strings.ToUpper(string(s))) }),
	"lower case(string)":                           unary(func(s String) Value { return String(strings.ToLower(string(s))) }),
	"contains(string, match)":                      binary(func(s, match String) Value { return Boolean(strings.Contains(string(s), string(match))) }),
	"starts with(string, match)":                   binary(func(s, match String) Value { return Boolean(strings.HasPrefix(string(s), string(match))) }),
	"ends with(string, match)":                     binary(func(s, match String) Value { return Boolean(strings.HasSuffix(string(s), string(match))) }),
	"substring before(string, match)":              binary(substringBefore),
	"substring after(string, match)":               binary(substringAfter),
	"matches(input, pattern, flags?)":              matches,
	"replace(input, pattern, replacement, flags?)": replace,
	"split(string, delimiter)":                     split,
	"string join(list, delimiter?)":                stringJoin,
}

func substring(_ *machine, args []Value) Value {
	s, ok := as[String](args[0])
	position, isNumber := as[Number](args[1])
	if !ok || !isNumber {
		return nil
	}
	runes := []rune(string(s))
	from, ok := wholeInt(position)
	switch {
	case !ok || from == 0 || from > len(runes) || from < -len(runes):
		return nil
	case from > 0:
		from--
	default:
		from += len(runes)
	}
	runes = runes[from:]
	if len(args) == 3 && args[2] != nil {
		length, isNumber := as[Number](args[2])
		n, ok := wholeInt(length)
		if !isNumber || !ok || n < 1 {
			return nil
		}
		runes = runes[:min(n, len(runes))]
	}
	return String(runes)
}

// wholeInt answers the number without its fraction as an int.
func wholeInt(n Number) (int, bool) {
	if n.Decimal == nil {
		return 0, false
	}
	i, ok := n.whole()
	return int(i), ok
}

func substringBefore(s, match String) Value {
	before, _, found := strings.Cut(string(s), string(match))
	if !found {
		return String("")
	}
	return String(before)
}

func substringAfter(s, match String) Value {
	_, after, _ := strings.Cut(string(s), string(match))
	return String(after)
}

func matches(m *machine, args []Value) Value {
	input, ok := as[String](args[0])
	pattern, isPattern := regular(m, input, args[1], argument(args, 2))
	if !ok || !isPattern {
		return nil
	}
	return Boolean(pattern.MatchString(string(input)))
}

func replace(m *machine, args []Value) Value {
	input, ok := as[String](args[0])
	pattern, isPattern := regular(m, input, args[1], argument(args, 3))
	replacement, isText := as[String](args[2])
	if !ok || !isPattern || !isText || pattern.MatchString("") {
		return nil
	}
	template, ok := replacementTemplate(string(replacement), pattern.NumSubexp())
	if !ok {
		return nil
	}
	m.length(len(input) * (len(template) + 1) / 8)
	return m.text(pattern.ReplaceAllString(string(input), template))
}

// replacementTemplate turns $1 and \$ of XPath into what package regexp reads.
func replacementTemplate(text string, groups int) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '\\':
			if i++; i == len(text) || text[i] != '\\' && text[i] != '$' {
				return "", false
			}
			if text[i] == '$' {
				b.WriteByte('$')
			}
			b.WriteByte(text[i])
		case '$':
			if i++; i == len(text) || text[i] < '0' || text[i] > '9' {
				return "", false
			}
			number := int(text[i] - '0')
			for i+1 < len(text) && isDigit(rune(text[i+1])) && number*10+int(text[i+1]-'0') <= groups {
				i++
				number = number*10 + int(text[i]-'0')
			}
			if number <= groups {
				b.WriteString("${" + numberOf(int64(number)).String() + "}")
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

func split(m *machine, args []Value) Value {
	s, ok := as[String](args[0])
	pattern, isPattern := regular(m, s, args[1], nil)
	if !ok || !isPattern {
		return nil
	}
	parts := List{}
	for _, part := range pattern.Split(string(s), -1) {
		parts = append(parts, String(part))
	}
	return m.list(parts)
}

func stringJoin(m *machine, args []Value) Value {
	list, ok := asList(args[0])
	if !ok {
		return nil
	}
	var affixes [3]String
	for i := range affixes {
		if v := argument(args, i+1); v != nil {
			if affixes[i], ok = as[String](v); !ok {
				return nil
			}
		}
	}
	var texts []string
	length := len(affixes[1]) + len(affixes[2])
	for _, item := range list {
		if item == nil {
			continue
		}
		s, ok := item.(String)
		if !ok {
			return nil
		}
		texts = append(texts, string(s))
		length += len(s) + len(affixes[0])
	}
	m.length(length)
	return affixes[1] + String(strings.Join(texts, string(affixes[0]))) + affixes[2]
}
