package conformance_test

import (
	"database/sql"
	"flag"
	"strings"
	"sync"
	"testing"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/suite"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

var (
	dialectFlag = flag.String("dialect", "sqlite", "the dialects to prove the store on, by name, with commas between them")
	dsnFlag     = flag.String("dsn", "", "an administrator's address of a running server of the one dialect named")
)

// TestStore proves the store on every dialect that was asked for. One that cannot be provided fails.
func TestStore(t *testing.T) {
	for name := range strings.SplitSeq(*dialectFlag, ",") {
		t.Run(name, func(t *testing.T) {
			server, err := provision.Start(t.Context(), name, *dsnFlag)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			})
			suite.Run(t, suite.Harness{
				Dialect: dialect(t, name),
				Shared:  fresh(t, server),
				Own:     func(t testing.TB) suite.Database { return fresh(t, server) },
			})
		})
	}
}

func dialect(t testing.TB, name string) dialects.Dialect {
	t.Helper()
	for _, d := range database.Dialects() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("the store speaks no %s", name)
	return dialects.Dialect{}
}

// place is one migrated database of a server.
type place struct {
	url   string
	admin *sql.DB
	mu    *sync.Mutex
	first *database.Store // on SQLite it holds the file's lock for the others
}

func fresh(t testing.TB, server *provision.Server) suite.Database {
	t.Helper()
	url := server.Database(t)
	if err := database.Migrate(t.Context(), database.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	address, err := server.Administrator(url)
	if err != nil {
		t.Fatal(err)
	}
	d := dialect(t, server.Dialect)
	dsn, err := d.DSN(address)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open(d.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return &place{url: url, admin: admin, mu: &sync.Mutex{}}
}

func (p *place) Open(t testing.TB, r suite.Replica) ports.Store {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := database.Open(t.Context(), database.Config{URL: p.url, MaxConns: 4, Clock: r.Clock, Bold: r.Bold, Beside: p.first})
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

func (p *place) Count(t testing.TB, query string) (n int) {
	t.Helper()
	if err := p.admin.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (p *place) Hold(t testing.TB, statement string) (release func()) {
	t.Helper()
	open, err := p.admin.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return func() { _ = open.Rollback() }
}
