package feel

import "strings"

// conversions are the functions of DMN 1.5, 10.3.4.1.
var conversions = definitions{
	"date(from)":          dateFunction,
	"time(from)":          timeFunction,
	"date and time(from)": dateTimeFunction,
	"duration(from)":      unary(func(s String) Value { return parseDuration(string(s)) }),
	"string(from)":        stringFunction,
	"number(from, grouping separator?, decimal separator?)": numberFunction,
	"range(from)": unary(rangeOfText),
}

func stringFunction(m *machine, args []Value) Value {
	if args[0] == nil {
		return nil
	}
	m.measure(args[0])
	return m.text(Text(args[0]))
}

func dateFunction(_ *machine, args []Value) Value {
	if len(args) == 3 {
		fields, ok := integers(args)
		if !ok {
			return nil
		}
		return dateOfFields(fields)
	}
	switch from := single(args[0]).(type) {
	case String:
		if d, err := ParseDate(string(from)); err == nil {
			return d
		}
	case Date:
		return from
	case DateTime:
		return from.Date
	}
	return nil
}

func dateOfFields(fields []int) Value {
	d := Date{Year: fields[0], Month: fields[1], Day: fields[2]}
	if !d.valid() {
		return nil
	}
	return d
}

func integers(args []Value) ([]int, bool) {
	fields := make([]int, len(args))
	for i, arg := range args {
		n, ok := as[Number](arg)
		if !ok {
			return nil, false
		}
		if fields[i], ok = n.int(); !ok {
			return nil, false
		}
	}
	return fields, true
}

func timeFunction(_ *machine, args []Value) Value {
	if len(args) >= 3 {
		return timeOfFields(args)
	}
	switch from := single(args[0]).(type) {
	case String:
		if t, err := ParseTime(string(from)); err == nil {
			return t
		}
	case Time:
		return from
	case DateTime:
		return from.Time
	case Date:
		return from.midnight().Time
	}
	return nil
}

// timeOfFields makes a time of hour, minute, second, which may have a fraction, and an offset or null.
func timeOfFields(args []Value) Value {
	fields, ok := integers(args[:2])
	second, isNumber := as[Number](args[2])
	if !ok || !isNumber {
		return nil
	}
	duration, ok := daysTimeOf(second).(DaysTime)
	if !ok || fields[0] < 0 || fields[0] > 23 || fields[1] < 0 || fields[1] > 59 || duration.Seconds > 59 || second.Decimal.Negative {
		return nil
	}
	t := Time{Nanos: (int64(fields[0]*3600+fields[1]*60)+duration.Seconds)*nanosecond + int64(duration.Nanos)}
	if offset := argument(args, 3); offset != nil {
		d, ok := as[DaysTime](offset)
		if !ok || abs(d.Seconds) > 18*3600 {
			return nil
		}
		t.Zone = Zone{Offset: int(d.Seconds), Known: true}
	}
	return t
}

func dateTimeFunction(_ *machine, args []Value) Value {
	switch len(args) {
	case 1:
		return dateTimeOfValue(single(args[0]))
	case 2:
		date, ok := asDateTime(single(args[0]))
		t, isTime := as[Time](args[1])
		if !ok || !isTime {
			return nil
		}
		return DateTime{Date: date.Date, Time: t}
	}
	fields, ok := integers(args[:3])
	if !ok {
		return nil
	}
	date, ok := dateOfFields(fields).(Date)
	t, isTime := timeOfFields(args[3:]).(Time)
	if !ok || !isTime {
		return nil
	}
	return DateTime{Date: date, Time: t}
}

func dateTimeOfValue(from Value) Value {
	switch from := from.(type) {
	case String:
		if dt, err := ParseDateTime(string(from)); err == nil {
			return dt
		}
	case DateTime:
		return from
	case Date:
		return from.midnight()
	}
	return nil
}

// numberFunction reads a number whose thousands and decimals are set off as the caller says.
func numberFunction(_ *machine, args []Value) Value {
	if n, ok := as[Number](args[0]); ok && len(args) == 1 {
		return n
	}
	from, ok := as[String](args[0])
	if !ok {
		return nil
	}
	text := string(from)
	grouping, ok := separator(argument(args, 1), " ", ",", ".")
	decimal, valid := separator(argument(args, 2), ",", ".")
	if !ok || !valid || grouping != "" && grouping == decimal {
		return nil
	}
	if grouping != "" {
		text = strings.ReplaceAll(text, grouping, "")
	}
	if decimal != "" && decimal != "." {
		if strings.Contains(text, ".") {
			return nil
		}
		text = strings.ReplaceAll(text, decimal, ".")
	}
	if !isNumeral(text) {
		return nil
	}
	n, ok := parseNumber(text)
	if !ok {
		return nil
	}
	return n
}

func separator(v Value, allowed ...string) (string, bool) {
	if v == nil {
		return "", true
	}
	s, ok := as[String](v)
	for _, a := range allowed {
		if ok && string(s) == a {
			return a, true
		}
	}
	return "", false
}

// isNumeral reports whether text is a numeric literal with an optional sign, and nothing else that a decimal parser would take.
func isNumeral(text string) bool {
	l := lexer{source: strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")}
	if l.source == "" || !isDigit(l.peek(0)) && (l.peek(0) != '.' || !isDigit(l.peek(1))) {
		return false
	}
	l.number()
	return l.pos == len(l.source)
}

// rangeOfText reads an interval whose ends are literals.
func rangeOfText(s String) Value {
	tokens, err := lex(string(s))
	if err != nil || len(tokens) < 4 {
		return nil
	}
	first, last := tokens[0], tokens[len(tokens)-2]
	open := first.symbol("(") || first.symbol("]")
	if !open && !first.symbol("[") || !last.symbol("]") && !last.symbol(")") && !last.symbol("[") {
		return nil
	}
	inner := tokens[1 : len(tokens)-2]
	for i, t := range inner {
		if !t.symbol("..") {
			continue
		}
		low, ok := literalOf(inner[:i])
		high, both := literalOf(inner[i+1:])
		r := Range{Low: low, High: high, LowClosed: !open, HighClosed: last.text == "]"}
		if !ok || !both {
			return nil
		}
		if !bounded(r) {
			return nil
		}
		return r.checked()
	}
	return nil
}

// literalOf reads the tokens of a literal, or of a date or duration made of a string literal.
func literalOf(tokens []token) (Value, bool) {
	var words strings.Builder
	for _, t := range tokens {
		switch t.kind {
		case tokenString:
			words.WriteString(`""`)
		case tokenNumber:
			words.WriteByte('0')
		default:
			words.WriteString(t.text + " ")
		}
	}
	var v Value
	switch words.String() {
	case "0", "- 0":
		n, ok := parseNumber(strings.Repeat("-", len(tokens)-1) + tokens[len(tokens)-1].text)
		return n, ok
	case `""`:
		return String(tokens[0].text), true
	case `@ ""`:
		v = parseTemporal(tokens[1].text)
	case `date ( "") `:
		v = dateFunction(nil, []Value{String(tokens[2].text)})
	case `time ( "") `:
		v = timeFunction(nil, []Value{String(tokens[2].text)})
	case `duration ( "") `:
		v = parseDuration(tokens[2].text)
	case `date and time ( "") `:
		v = dateTimeOfValue(String(tokens[4].text))
	}
	return v, v != nil
}
