package suite

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// Place is an empty database that the suite may use.
type Place struct {
	URL     string // as the store's own role reaches it
	Admin   string // as somebody who may do everything does
	Dialect dialects.Dialect
	Words   Words
	Watch   ports.Watch // hears of every statement; nil: nobody does
}

// Migrated migrates a place and answers it as a Database.
func Migrated(t testing.TB, p Place) Database {
	t.Helper()
	made := &place{Place: p}
	if err := database.Migrate(t.Context(), made.config(Replica{})); err != nil {
		t.Fatal(err)
	}
	dsn, err := p.Dialect.DSN(p.Admin)
	if err != nil {
		t.Fatal(err)
	}
	made.admin, err = sql.Open(p.Dialect.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.admin.Close() })
	return made
}

// place is one migrated database.
type place struct {
	Place
	admin *sql.DB
	mu    sync.Mutex
	first *database.Store // on SQLite it holds the file's lock for the others
}

func (p *place) config(r Replica) database.Config {
	return database.Config{
		URL: p.URL, Dialects: []dialects.Dialect{p.Dialect}, MaxConns: 4, Clock: r.Clock, Bold: r.Bold, Beside: p.first, Watch: p.Watch,
	}
}

func (p *place) Open(t testing.TB, r Replica) ports.Store {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := database.Open(t.Context(), p.config(r))
	if err != nil {
		t.Fatal(err)
	}
	if p.first == nil && s.Exclusive() {
		p.first = s
		return s // it holds the lock for the others; the file goes with the test's directory
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (p *place) Exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := p.admin.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (p *place) Rows(t testing.TB, query string) (out [][]string) {
	t.Helper()
	rows, err := p.admin.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		line, into := make([]string, len(names)), make([]any, len(names))
		for i := range line {
			into[i] = &line[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

func (p *place) Hold(t testing.TB, statement string) (more func(string) error, release func()) {
	t.Helper()
	open, err := p.admin.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	more = func(statement string) error {
		_, err := open.ExecContext(t.Context(), statement)
		return err
	}
	if err := more(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return more, func() { _ = open.Rollback() }
}

func (p *place) Abandon(t testing.TB, statement string) {
	t.Helper()
	if _, err := p.begin(t, "*").ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// begin opens a transaction of the store's own role, for a tenant or for nobody. It is rolled back when the test ends.
func (p *place) begin(t testing.TB, tenant string) *sql.Tx {
	t.Helper()
	dsn, err := p.Dialect.DSN(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(p.Dialect.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	open, err := db.BeginTx(context.WithoutCancel(t.Context()), nil) // the test's own context would end it too early
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = open.Rollback(), db.Close() })
	if p.Dialect.Enter != "" && tenant != "" {
		if _, err := open.ExecContext(t.Context(), p.Dialect.Enter, tenant); err != nil {
			t.Fatal(err)
		}
	}
	return open
}

func (p *place) Seen(t testing.TB, tenant, query string) (n int) {
	t.Helper()
	open := p.begin(t, tenant)
	defer open.Rollback()
	if err := open.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (p *place) Refuses(t testing.TB, tenant, statement string) error {
	t.Helper()
	open := p.begin(t, tenant)
	defer open.Rollback()
	_, err := open.ExecContext(t.Context(), statement)
	return err
}

func (p *place) Sever(t testing.TB) int {
	t.Helper()
	if p.Words.Sessions == "" {
		return -1
	}
	ended := 0
	for _, id := range p.Rows(t, p.Words.Sessions) {
		if p.Words.End == "" {
			ended++ // asking was ending
			continue
		}
		if _, err := p.admin.ExecContext(t.Context(), p.Words.End+id[0]); err == nil {
			ended++
		}
	}
	return ended
}
