package scenario

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Ledger reads a fleet's tables past the engine, as an administrator.
type Ledger struct {
	fleet *Fleet
	db    *sql.DB
}

// Ledger opens the tables of the fleet.
func (f *Fleet) Ledger() *Ledger {
	f.t.Helper()
	address, err := f.stage.Server.Administrator(f.Database)
	if err != nil {
		f.t.Fatal(err)
	}
	db, err := provision.Open(address)
	if err != nil {
		f.t.Fatal(err)
	}
	l := &Ledger{fleet: f, db: db}
	f.t.Cleanup(l.Close)
	return l
}

// Close lets go of the database, which SQLite's replicas want for themselves. It is done at the end of the test anyhow.
func (l *Ledger) Close() {
	l.fleet.t.Helper()
	if err := l.db.Close(); err != nil {
		l.fleet.t.Errorf("close the ledger: %v", err)
	}
}

// Count answers the one number of a query.
func (l *Ledger) Count(query string) int {
	l.fleet.t.Helper()
	var n int
	if err := l.db.QueryRowContext(l.fleet.t.Context(), query).Scan(&n); err != nil {
		l.fleet.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Set runs a statement that must change exactly so many rows.
func (l *Ledger) Set(rows int64, statement string) {
	l.fleet.t.Helper()
	done, err := l.db.ExecContext(l.fleet.t.Context(), statement)
	if err != nil {
		l.fleet.t.Fatalf("%s: %v", statement, err)
	}
	if n, err := done.RowsAffected(); err != nil || n != rows {
		l.fleet.t.Fatalf("%s: got %d rows, %v; want %d", statement, n, err, rows)
	}
}

// Rows is a whole table, each row with every column to the last byte, in an order of its own.
func (l *Ledger) Rows(table string) []string {
	l.fleet.t.Helper()
	rows, err := l.db.QueryContext(l.fleet.t.Context(), "SELECT * FROM "+table)
	if err != nil {
		l.fleet.t.Fatalf("read %s: %v", table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		l.fleet.t.Fatalf("read %s: %v", table, err)
	}
	var all []string
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			l.fleet.t.Fatalf("read %s: %v", table, err)
		}
		var line strings.Builder
		for i, name := range names {
			fmt.Fprintf(&line, "%s=%#v ", name, cells[i])
		}
		all = append(all, line.String())
	}
	if err := rows.Err(); err != nil {
		l.fleet.t.Fatalf("read %s: %v", table, err)
	}
	slices.Sort(all)
	return all
}
