package dialects

import "strings"

// Column is one column of a group. Its type is one of ours: uuid text bytes int instant.
type Column struct{ Name, Type string }

// Relation is how a group reaches the database: as a table after FROM, and as a list after IN.
type Relation struct {
	Table   func(cols []Column, n int, bind func() string) string
	List    func(col Column, n int, bind func() string) string
	Columns bool // one array a column instead of one value a cell: the text is the same for every n
	Inline  bool // row by row, each column a plain parameter
	Cells   int  // most values in one statement; 0: no limit
}

// Unnest sends one array a column.
func Unnest(types map[string]string) Relation {
	array := func(c Column, bind func() string) string { return bind() + "::" + types[c.Type] + "[]" }
	return Relation{
		Columns: true,
		Table: func(cols []Column, _ int, bind func() string) string {
			return "(SELECT * FROM unnest(" + each(cols, func(c Column) string { return array(c, bind) }) + ") AS u(" + names(cols) + "))"
		},
		List: func(col Column, _ int, bind func() string) string { return "= ANY(" + array(col, bind) + ")" },
	}
}

// UnionAll names the columns in its first row. A type that has a cast is spelled with it, %s for the value.
func UnionAll(cells int, casts map[string]string) Relation {
	return Relation{Cells: cells, List: in, Table: func(cols []Column, n int, bind func() string) string {
		row := func(name bool) string {
			return each(cols, func(c Column) string {
				value := bind()
				if cast := casts[c.Type]; cast != "" {
					value = strings.Replace(cast, "%s", value, 1)
				}
				if name {
					value += " AS " + c.Name
				}
				return value
			})
		}
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(" UNION ALL ")
			}
			b.WriteString("SELECT " + row(i == 0))
		}
		return "(" + b.String() + ")"
	}}
}

// Values is a table value constructor whose columns are named after it.
func Values(cells int) Relation {
	return Relation{Cells: cells, List: in, Table: func(cols []Column, n int, bind func() string) string {
		rows := strings.TrimPrefix(repeat(n, ", (", cols, bind, ")"), ", ")
		return "(SELECT * FROM (VALUES " + rows + ") AS v(" + names(cols) + "))"
	}}
}

// RowByRow runs a statement once for each row.
func RowByRow() Relation { return Relation{Inline: true} }

func in(_ Column, n int, bind func() string) string {
	return "IN (" + strings.TrimPrefix(repeat(n, ", ", []Column{{}}, bind, ""), ", ") + ")"
}

func repeat(n int, open string, cols []Column, bind func() string, end string) string {
	var b strings.Builder
	for range n {
		b.WriteString(open)
		b.WriteString(each(cols, func(Column) string { return bind() }))
		b.WriteString(end)
	}
	return b.String()
}

func names(cols []Column) string { return each(cols, func(c Column) string { return c.Name }) }

func each(cols []Column, f func(Column) string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = f(c)
	}
	return strings.Join(out, ", ")
}
