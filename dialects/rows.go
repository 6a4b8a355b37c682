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
		rows := make([]string, n)
		for i := range rows {
			rows[i] = "SELECT " + each(cols, func(c Column) string {
				if i == 0 {
					return cast(casts, c, bind) + " AS " + c.Name
				}
				return cast(casts, c, bind)
			})
		}
		return "(" + strings.Join(rows, " UNION ALL ") + ")"
	}}
}

// Values is a table value constructor whose columns are named after it. Keys are the casts of what stands in a list alone.
func Values(cells int, casts, keys map[string]string) Relation {
	list := func(c Column, n int, bind func() string) string {
		return in(c, n, func() string { return cast(keys, c, bind) })
	}
	return Relation{Cells: cells, List: list, Table: func(cols []Column, n int, bind func() string) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = "(" + each(cols, func(c Column) string { return cast(casts, c, bind) }) + ")"
		}
		return "(SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(" + names(cols) + "))"
	}}
}

func cast(casts map[string]string, c Column, bind func() string) string {
	if as := casts[c.Type]; as != "" {
		return strings.Replace(as, "%s", bind(), 1)
	}
	return bind()
}

// RowByRow runs a statement once for each row.
func RowByRow() Relation { return Relation{Inline: true} }

func in(_ Column, n int, bind func() string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = bind()
	}
	return "IN (" + strings.Join(list, ", ") + ")"
}

func names(cols []Column) string { return each(cols, func(c Column) string { return c.Name }) }

func each(cols []Column, f func(Column) string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = f(c)
	}
	return strings.Join(out, ", ")
}
