package provision_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/provision"
)

func TestUnavailableSaysHowToProvide(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	t.Setenv("SUTRA_TEST_SQLSERVER_DSN", "")
	_, err := provision.Find(t.Context(), "sqlserver", "")
	unavailable, ok := errors.AsType[*provision.Unavailable](err)
	if !ok {
		t.Fatalf("find sqlserver without Docker: got %v, want Unavailable", err)
	}
	for _, want := range []string{"SUTRA_TEST_SQLSERVER_DSN", "Docker", "sqlserver://"} {
		if !strings.Contains(unavailable.Error(), want) {
			t.Errorf("got %q, want it to name %s", unavailable, want)
		}
	}
}

func TestUnknownDialectIsRefused(t *testing.T) {
	if _, err := provision.Find(t.Context(), "oracle", ""); err == nil || !strings.Contains(err.Error(), "postgres") {
		t.Errorf("find oracle: got %v, want a refusal that lists the dialects", err)
	}
}

func TestGivenAddressComesFirst(t *testing.T) {
	t.Setenv("SUTRA_TEST_POSTGRES_DSN", "postgres://somebody:secret@db.example/postgres")
	src, err := provision.Find(t.Context(), "postgres", "")
	if err != nil || !strings.Contains(src.Where, "db.example") || strings.Contains(src.Where, "secret") {
		t.Errorf("got %q, %v; want the given address without its password", src.Where, err)
	}
}

func TestServersCanBeBroken(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql", "mariadb"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := start(t, dialect)
			db := open(t, s.Database(t))
			exec(t, db, "CREATE TABLE fact (n INT)")
			exec(t, db, "INSERT INTO fact (n) VALUES (1)")

			must(t, s.Pause())
			if err := within(t, 300*time.Millisecond, db, "SELECT n FROM fact"); err == nil {
				t.Error("a paused server answered")
			}
			must(t, s.Resume())
			eventually(t, db, "INSERT INTO fact (n) VALUES (2)")

			must(t, s.ReadOnly(t.Context()))
			if err := within(t, 5*time.Second, db, "INSERT INTO fact (n) VALUES (0)"); err == nil {
				t.Error("a read-only server took a row")
			}
			must(t, s.ReadWrite(t.Context()))
			eventually(t, db, "INSERT INTO fact (n) VALUES (3)")

			if n, err := s.Disconnect(t.Context(), 100); n == 0 || err != nil {
				t.Errorf("disconnect: got %d, %v; want at least one ended", n, err)
			}
			eventually(t, db, "INSERT INTO fact (n) VALUES (0)")

			must(t, s.Kill())
			if err := within(t, 5*time.Second, db, "SELECT n FROM fact"); err == nil {
				t.Error("a killed server answered")
			}
			must(t, s.Restart(t.Context()))
			eventually(t, db, "INSERT INTO fact (n) VALUES (4)")

			var sum int
			if err := db.QueryRowContext(t.Context(), "SELECT SUM(n) FROM fact").Scan(&sum); err != nil || sum != 10 {
				t.Errorf("after pause, read-only, kill and restart: got sum %d, %v; want 10", sum, err)
			}
		})
	}
}

func TestRoleHasNoPowerBeyondItsDatabase(t *testing.T) {
	s := start(t, "postgres")
	mine, other := s.Database(t), s.Database(t)
	db := open(t, mine)
	var super, bypass bool
	row := db.QueryRowContext(t.Context(), "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
	if err := row.Scan(&super, &bypass); err != nil || super || bypass {
		t.Errorf("role: got superuser %v, bypasses row security %v, %v; want neither", super, bypass, err)
	}
	if mine == other {
		t.Errorf("two databases at one address: %s", mine)
	}
	admin, err := s.Administrator(mine)
	must(t, err)
	if err := open(t, admin).QueryRowContext(t.Context(), "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&super); err != nil || !super {
		t.Errorf("administrator: got superuser %v, %v; want true", super, err)
	}
}

func start(t *testing.T, dialect string) *provision.Server {
	t.Helper()
	s, err := provision.Start(t.Context(), dialect, "")
	if unavailable, ok := errors.AsType[*provision.Unavailable](err); ok {
		t.Skip(unavailable)
	}
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func open(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := provision.Open(address)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), text)
	must(t, err)
}

func within(t *testing.T, d time.Duration, db *sql.DB, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := db.ExecContext(ctx, text)
	return err
}

// eventually runs a statement that a server on its way back may refuse.
func eventually(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	var err error
	for range 100 {
		if err = within(t, 5*time.Second, db, text); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: %v", text, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
