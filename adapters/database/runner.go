package database

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// fleet is the tenant of transactions that cross tenants.
const fleet = "*"

// op is one statement to run: its scalars by name, its group row after row, and what to do with each row it answers.
type op struct {
	name string
	args args
	rows []any // as many values an element as the statement has columns; an empty group runs nothing
	scan func(row) error
	hits *int // how many rows it hit, for those who ask
}

type args map[string]any

type row interface{ Scan(into ...any) error }

// runner runs operations against one database. Its errors are troubles.
type runner interface {
	// write runs ops as one transaction of tenant: all, or nothing and an error; in one round trip where the database can.
	write(ctx context.Context, tx tx) error
	// hold keeps one transaction open over several runs. It commits when body answers nil.
	hold(ctx context.Context, tenant string, body func(run run) error) error
	// read runs ops one after the other; they see what is committed.
	read(ctx context.Context, tenant string, ops []op) error
	pools() []ports.Pool
	close()
}

type run func(ops ...op) error

// tx is one transaction.
type tx struct {
	tenant string
	cheap  bool // it need not wait for the disk
	ops    []op
}

// book is what both runners share: the dialect, its statements, and their texts by size of group.
type book struct {
	dialect    dialects.Dialect
	statements map[string]*dialects.Statement
	migrations []migration
	texts      *sync.Map // textKey → dialects.Text; statements × sizes × optional lines: bounded
	watch      ports.Watch
}

type textKey struct {
	statement *dialects.Statement
	part, n   int
	given     string
}

// call is one text ready to send.
type call struct {
	name string
	sql  string
	args []any
	scan func(row) error
	hits *int
	want int // rows that have to be hit; -1: any

	types []string // of the arguments that are cells, where a batch names them
}

// calls says op in this database's words, for a transaction of tenant.
func (b book) calls(tenant string, o op) ([]call, error) {
	s := b.statements[o.name]
	switch {
	case s == nil:
		return nil, fmt.Errorf("no statement %s", o.name)
	case s.Fleet && tenant != fleet:
		return nil, fmt.Errorf("%s crosses tenants, the transaction is one of %q", o.name, tenant)
	case len(s.Rows) == 0:
		b.watch.Count("sutra_store_statements_total", 1, "statement", s.Name)
		return b.group(nil, s, o, nil, 1)
	}
	width := len(s.Rows)
	n := len(o.rows) / width
	if n*width != len(o.rows) {
		return nil, fmt.Errorf("%s: %d values for %d columns", o.name, len(o.rows), width)
	}
	if n > 0 {
		b.watch.Count("sutra_store_statements_total", 1, "statement", s.Name)
	}
	size := n
	switch r := b.dialect.Rows; {
	case r.Inline:
		size = 1
	case r.Cells > 0:
		size = max(1, min(n, r.Cells/width))
	}
	var out []call
	var err error
	for at := 0; at < n && err == nil; at += size {
		size := min(size, n-at)
		out, err = b.group(out, s, o, o.rows[at*width:(at+size)*width], size)
	}
	return out, err
}

func (b book) group(out []call, s *dialects.Statement, o op, rows []any, n int) ([]call, error) {
	for part := range s.Parts {
		text := b.text(s, part, n, o.args)
		c := call{name: s.Name, sql: text.SQL, args: make([]any, 0, len(text.Args)+len(rows)), want: -1}
		if b.dialect.Batch.Text != nil {
			c.types = types(s, text, n)
		}
		for _, a := range text.Args {
			switch a.Name {
			case dialects.Expected:
				c.args = append(c.args, n)
			case dialects.OneColumn:
				c.args = append(c.args, b.arg(rows[a.Column]))
			case dialects.AllRows:
				c.args = b.cells(c.args, rows, len(s.Rows))
			default:
				v, ok := o.args[a.Name]
				if !ok {
					return nil, fmt.Errorf("%s: no argument %s", s.Name, a.Name)
				}
				c.args = append(c.args, b.arg(v))
			}
		}
		if part == len(s.Parts)-1 {
			c.scan, c.hits = o.scan, o.hits
			if s.Each {
				c.want = n
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// types are our types of the arguments of a text; those of scalars are empty.
func types(s *dialects.Statement, text dialects.Text, n int) []string {
	var out []string
	for _, a := range text.Args {
		if a.Name != dialects.AllRows {
			out = append(out, "")
			continue
		}
		for range n {
			for _, c := range s.Rows {
				out = append(out, c.Type)
			}
		}
	}
	return out
}

func (b book) cells(into, rows []any, width int) []any {
	if !b.dialect.Rows.Columns {
		for _, v := range rows {
			into = append(into, b.arg(v))
		}
		return into
	}
	plain := make([]any, len(rows))
	for i, v := range rows {
		plain[i] = b.arg(v)
	}
	return append(into, arrays(plain, width)...)
}

func (b book) text(s *dialects.Statement, part, n int, given args) dialects.Text {
	if b.dialect.Rows.Columns {
		n = 0
	}
	k := textKey{s, part, n, ""}
	for _, p := range s.Params {
		if name, optional := strings.CutSuffix(p, "?"); optional && given[name] != nil {
			k.given += name + " "
		}
	}
	if t, ok := b.texts.Load(k); ok {
		return t.(dialects.Text)
	}
	t := s.Text(b.dialect, part, n, func(name string) bool { return given[name] != nil })
	b.texts.Store(k, t)
	return t
}
