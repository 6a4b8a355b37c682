package database

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// shape is the schema as the migrations make it: each table with its columns, each index with how it is made.
type shape struct {
	tables  map[string][]string // columns; a computed one is not among them
	indexes map[string]index
}

type index struct {
	table   string
	columns []string
	made    string // the statement that makes it
}

var (
	tableMade    = regexp.MustCompile(`(?sm)^CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*)\n\)`)
	columnMade   = regexp.MustCompile(`^\s+([a-z_]+) .*`)
	keyMade      = regexp.MustCompile(`(?m)^\s+(?:ADD )?((?:UNIQUE )?(?:KEY|INDEX) (\w+) \(([^)]*)\))`)
	indexMade    = regexp.MustCompile(`(?sm)^CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+) \(([^)]*)\).*`)
	columnAdded  = regexp.MustCompile(`(?m)^\s+ADD (?:COLUMN )?([a-z_]+) `)
	indexGone    = regexp.MustCompile(`(?m)^\s*DROP (?:KEY|INDEX) (\w+)`)
	tableAltered = regexp.MustCompile(`(?s)\bALTER TABLE (\w+)\n.*`)
)

// shape reads the migrations. What they say in a form that is not read here is missed by the suite, which compares.
func (b book) shape() shape {
	out := shape{map[string][]string{}, map[string]index{}}
	for _, m := range b.migrations {
		for _, part := range m.parts {
			for _, gone := range indexGone.FindAllStringSubmatch(part, -1) {
				delete(out.indexes, gone[1])
			}
			if i := indexMade.FindStringSubmatch(part); i != nil {
				columns := strings.Split(i[3], ", ")
				for at := range columns {
					columns[at], _, _ = strings.Cut(columns[at], " ") // without its order
				}
				out.indexes[i[1]] = index{i[2], columns, i[0]}
			}
			table, body := tableMade.FindStringSubmatch(part), ""
			if table != nil {
				body = table[2]
				for line := range strings.Lines(body) {
					if c := columnMade.FindStringSubmatch(line); c != nil && !strings.Contains(line, " AS (") {
						out.tables[table[1]] = append(out.tables[table[1]], c[1])
					}
				}
			} else if table = tableAltered.FindStringSubmatch(part); table != nil {
				body = table[0]
				for _, c := range columnAdded.FindAllStringSubmatch(body, -1) {
					out.tables[table[1]] = append(out.tables[table[1]], c[1])
				}
			}
			for _, k := range keyMade.FindAllStringSubmatch(body, -1) {
				out.indexes[k[2]] = index{table[1], strings.Split(k[3], ", "), "ALTER TABLE " + table[1] + " ADD " + k[1]}
			}
		}
	}
	return out
}

// schema compares the database with what the migrations make: the version, tables, columns and indexes, and whether the role may use them.
func (p *patient) schema(ctx context.Context) {
	if err := p.version(ctx); err != nil {
		p.say("schema", Failing, fault.Of(err).Detail, "sutra migrate up, with the release that runs; a newer schema serves the release before it")
		return
	}
	want, before := p.shape(), len(p.found)
	got, err := p.read(ctx)
	if err != nil {
		p.blind("schema", err, "")
		return
	}
	for _, table := range slices.Sorted(maps.Keys(want.tables)) {
		for _, c := range want.tables[table] {
			if !slices.Contains(got[table], c) {
				p.say("schema", Failing, fmt.Sprintf("column %s.%s is missing", table, c), "somebody has changed the schema by hand: bring the column back, as the migrations make it")
			}
		}
		p.privileges(ctx, table, want.tables[table])
	}
	for _, name := range slices.Sorted(maps.Keys(want.indexes)) {
		i := want.indexes[name]
		switch is := got[i.table+" "+name]; {
		case is == nil:
			p.say("schema", Failing, "index "+name+" is missing, or is not valid", "drop it if it is there and not valid, then: "+i.made)
		case !slices.Equal(is, i.columns):
			p.say("schema", Failing, fmt.Sprintf("index %s is on (%s)", name, strings.Join(is, ", ")), "drop it, then: "+i.made)
		}
	}
	if len(p.found) == before {
		p.say("schema", Fine, fmt.Sprintf("migration %d, %d tables, %d indexes; the role may use them", len(p.migrations), len(want.tables), len(want.indexes)), "")
	}
}

func (p *patient) version(ctx context.Context) error {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	found, err := ledger(ctx, conn)
	if err != nil {
		return fault.SchemaVersion.With("the table of migrations cannot be read: %w", err)
	}
	return p.missing(found)
}

// read answers the columns of each table, and of each index under the table's name and its own.
func (p *patient) read(ctx context.Context) (map[string][]string, error) {
	if p.dialect.Schema == "" {
		return nil, fmt.Errorf("dialect %s does not say how", p.dialect.Name)
	}
	rows, err := p.db.QueryContext(ctx, p.dialect.Schema)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string][]string{}
	for rows.Next() {
		var table, index, column string
		var place int64
		if err := rows.Scan(&table, &index, &column, &place); err != nil {
			return nil, err
		}
		at := strings.TrimSpace(table + " " + index)
		out[at] = append(out[at], column)
	}
	return out, rows.Err()
}

// privileges tries what the engine does with a table, over no row.
func (p *patient) privileges(ctx context.Context, table string, columns []string) {
	list := strings.Join(columns, ", ")
	for _, try := range [][2]string{
		{"SELECT, INSERT", fmt.Sprintf("INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s WHERE 1 = 0", table, list)},
		{"UPDATE", fmt.Sprintf("UPDATE %[1]s SET %[2]s = %[2]s WHERE 1 = 0", table, columns[0])},
		{"DELETE", fmt.Sprintf("DELETE FROM %s WHERE 1 = 0", table)},
	} {
		if _, err := p.db.ExecContext(ctx, try[1]); err != nil {
			p.say("privileges", Failing, fmt.Sprintf("%s of %s: %s", try[0], table, err), fmt.Sprintf("GRANT %s ON %s to the engine's role", try[0], table))
		}
	}
}
