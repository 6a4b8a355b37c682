package dialects

import (
	"regexp"
	"slices"
	"strings"
)

// Text is what one part of a statement becomes for a group of some size: SQL, and what its placeholders stand for, in order.
type Text struct {
	SQL  string
	Args []Arg
}

// Arg is what a placeholder stands for.
type Arg struct {
	Name   string // a scalar's name; AllRows, OneColumn and Expected are no scalars
	Column int    // OneColumn: which
}

// The arguments that are no scalars.
const (
	AllRows   = "(rows)"     // the group: all its cells, or one array a column
	OneColumn = "(column)"   // one column of the one row, where groups go row by row
	Expected  = "(expected)" // how many rows have to be hit
)

var (
	updateRows = regexp.MustCompile(`(?s)^UPDATE (\w+) AS (\w+)\nSET (.+)\nFROM :rows AS r\nWHERE (.+)$`)
	deleteRows = regexp.MustCompile(`(?s)^DELETE FROM (\w+) AS (\w+)\nUSING :rows AS r\nWHERE (.+)$`)
	assigned   = regexp.MustCompile(`(^|,\s*)([a-z_]+) = `)
	ofTenant   = regexp.MustCompile(`\b(?:\w+\.)?tenant = :tenant\b\??`)
	token      = regexp.MustCompile(`\bIN :rows\b|:[a-z][a-z_0-9]*\??|\br\.[a-z_]+`)
)

// Text says a part in this database's words for a group of n rows. A line that names an optional parameter stands only when it is given.
func (s *Statement) Text(d Dialect, part, n int, given func(name string) bool) Text {
	var out Text
	placeholders := 0
	bind := func(a Arg) string {
		placeholders++
		out.Args = append(out.Args, a)
		return d.Bind(placeholders)
	}
	text := d.spell(optional(s.Parts[part], given))
	if d.ByKey != "" && len(s.Rows) > 0 {
		text = ofTenant.ReplaceAllString(text, d.ByKey)
	}
	out.SQL = token.ReplaceAllStringFunc(text, func(t string) string {
		switch {
		case t[0] == 'r' && !d.Rows.Inline:
			return t
		case t[0] == 'r':
			i := slices.IndexFunc(s.Rows, func(c Column) bool { return c.Name == t[2:] })
			return bind(Arg{OneColumn, i})
		case t == "IN :rows" && d.Rows.Inline:
			return "= " + bind(Arg{OneColumn, 0})
		case t == "IN :rows":
			return group(&out, func(b func() string) string { return d.Rows.List(s.Rows[0], n, b) }, &placeholders, d)
		case t == ":rows":
			return group(&out, func(b func() string) string { return d.Rows.Table(s.Rows, n, b) }, &placeholders, d)
		default:
			return bind(Arg{Name: strings.TrimSuffix(t[1:], "?")})
		}
	})
	if s.Each && d.Hit != nil && part == len(s.Parts)-1 {
		out.Args = append(out.Args, Arg{Name: Expected})
		placeholders++
		out.SQL = d.Hit(out.SQL, d.Bind(placeholders))
	}
	return out
}

// group writes the group's own placeholders; all of them are one argument.
func group(out *Text, write func(bind func() string) string, placeholders *int, d Dialect) string {
	out.Args = append(out.Args, Arg{Name: AllRows})
	return write(func() string {
		*placeholders++
		return d.Bind(*placeholders)
	})
}

func optional(part string, given func(name string) bool) string {
	lines := slices.DeleteFunc(strings.Split(part, "\n"), func(line string) bool {
		return slices.ContainsFunc(param.FindAllString(line, -1), func(p string) bool {
			name, optional := strings.CutSuffix(p[1:], "?")
			return optional && !given(name)
		})
	})
	return strings.Join(lines, "\n")
}

// spell puts the dialect's words in, and turns UPDATE and DELETE over a group into its form.
func (d Dialect) spell(part string) string {
	switch j := d.Joined; {
	case d.Rows.Inline:
		part = strings.NewReplacer("\nFROM :rows AS r", "", "\nUSING :rows AS r", "", "\nCROSS JOIN :rows AS r", "").Replace(part)
	case j.Update != "" && updateRows.MatchString(part):
		m := updateRows.FindStringSubmatch(part)
		if j.Qualified {
			m[3] = assigned.ReplaceAllString(m[3], "${1}"+m[2]+".$2 = ")
		}
		part = strings.NewReplacer("$1", m[1], "$2", m[2], "$3", m[3], "$4", m[4]).Replace(j.Update)
	case j.Delete != "" && deleteRows.MatchString(part):
		m := deleteRows.FindStringSubmatch(part)
		part = strings.NewReplacer("$1", m[1], "$2", m[2], "$3", m[3]).Replace(j.Delete)
	}
	w := d.Words
	said := map[string]string{
		":page": w.Page, ":skip": w.Skip, ":skipping": w.Skipping, ":listing": w.Listing, ":newest": w.Newest, ":share": w.Share, ":lock": w.Lock,
	}
	return strings.TrimSpace(param.ReplaceAllStringFunc(part, func(p string) string {
		if word, ok := said[p]; ok {
			return word
		}
		return p
	}))
}
