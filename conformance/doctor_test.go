package conformance_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// ward is a database of a server of its own, with what is broken there put right again.
type ward struct {
	*testing.T
	server *provision.Server
	url    string
	admin  *sql.DB
	owner  *sql.DB // the engine's own role
}

func admitted(t *testing.T, server *provision.Server) *ward {
	t.Helper()
	w := &ward{T: t, server: server, url: server.Database(t)}
	if err := database.Migrate(t.Context(), database.Config{URL: w.url}); err != nil {
		t.Fatal(err)
	}
	w.owner = w.open(w.url)
	admin, err := server.Administrator(w.url)
	if err != nil {
		t.Fatal(err)
	}
	w.admin = w.open(admin)
	return w
}

func (w *ward) open(url string) *sql.DB {
	w.Helper()
	d := dialect(w.T, w.server.Dialect)
	dsn, err := d.DSN(url)
	if err != nil {
		w.Fatal(err)
	}
	db, err := sql.Open(d.Driver, dsn)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = db.Close() })
	return db
}

func (w *ward) exec(db *sql.DB, statements ...string) {
	w.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(context.WithoutCancel(w.Context()), s); err != nil {
			w.Fatalf("%s: %v", s, err)
		}
	}
}

// examine looks at the database.
func (w *ward) examine(x database.Examination) []database.Finding {
	w.Helper()
	if x.URL == "" {
		x.URL = w.url
	}
	found, err := database.Examine(w.Context(), x)
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// ill wants a finding that says so.
func (w *ward) ill(found []database.Finding, level database.Level, check, seen string) {
	w.Helper()
	for _, f := range found {
		if f.Check == check && f.Level == level && strings.Contains(f.Seen, seen) && f.Advice != "" {
			return
		}
	}
	w.Errorf("no finding %s %s %q with an advice in\n%s", level, check, seen, charted(found))
}

// opens wants a store to open on the database, or to refuse it.
func (w *ward) opens(c database.Config, opens bool) {
	w.Helper()
	if c.URL == "" {
		c.URL = w.url
	}
	c.MaxConns = 2
	s, err := database.Open(w.Context(), c)
	switch {
	case err == nil:
		_ = s.Close()
		if !opens {
			w.Error("a store opens on what the doctor calls a failure of the boot")
		}
	case opens && !errors.Is(err, fault.SchemaVersion): // SQLite looks at its schema when it opens
		w.Errorf("a store does not open: %v", err)
	case !opens && !errors.Is(err, fault.SettingRefused):
		w.Errorf("got %v, want %s", err, fault.SettingRefused)
	}
}

func charted(found []database.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s: %s → %s\n", f.Level, f.Check, f.Seen, f.Advice)
	}
	return b.String()
}

// illness is one thing that is broken, and what the doctor has to find.
type illness struct {
	name        string
	spoil, heal func(w *ward)
	x           func(w *ward) database.Examination
	level       database.Level
	check, seen string
}

func TestTheDoctorFindsWhatIsBroken(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		if why := exceptions(t, server)["TheDoctorFindsWhatIsBroken"]; why != "" {
			t.Skip(why)
		}
		w := admitted(t, server)
		found := w.examine(database.Examination{})
		for _, f := range found {
			if f.Level != database.Fine && !slices.Contains(expected(server.Dialect), f.Check) {
				t.Errorf("a sound database: %s", charted([]database.Finding{f}))
			}
		}
		t.Logf("\n%s", charted(found))
		proven, checks := map[string]bool{}, dialect(t, server.Dialect).Checks
		for _, c := range slices.Concat(everywhere(server.Dialect), own(server.Dialect)) {
			t.Run(c.name, func(t *testing.T) {
				was := w.T
				w.T = t
				defer func() { w.T = was }()
				if c.spoil != nil {
					c.spoil(w)
				}
				if c.heal != nil {
					defer c.heal(w)
				}
				x := database.Examination{}
				if c.x != nil {
					x = c.x(w)
				}
				w.ill(w.examine(x), c.level, c.check, c.seen)
				w.opens(x.Config, !slices.ContainsFunc(checks, func(d dialects.Check) bool { return d.Name == c.check && d.Boot && d.Fail }))
			})
			proven[c.check] = true
		}
		for _, c := range checks {
			if !proven[c.Name] && !slices.Contains(pinned(server.Dialect), c.Name) {
				t.Errorf("nothing breaks %q", c.Name)
			}
		}
	})
}

// expected are the warnings that the test's server earns.
func expected(dialect string) []string {
	switch dialect {
	case "postgres":
		return []string{"fsync", "synchronous_commit", "full_page_writes"}
	case "mysql", "mariadb":
		return []string{"innodb_flush_log_at_trx_commit", "binlog_format", "sync_binlog"}
	}
	return nil
}

// pinned are checks that cannot be broken here: the store sets what they ask, or the program brings it. TestChecksJudge has them.
func pinned(dialect string) []string {
	switch dialect {
	case "postgres":
		return []string{"version", "encoding", "fsync", "full_page_writes"}
	case "mysql", "mariadb":
		return []string{"version", "isolation", "sync_binlog", "purge"}
	case "sqlserver":
		return []string{"version", "isolation", "collation", "rights"}
	}
	return []string{"version", "synchronous", "journal_mode", "integrity"}
}

func administer(statements ...string) func(*ward) {
	return func(w *ward) { w.exec(w.admin, statements...) }
}

func everywhere(dialect string) []illness {
	drop, seen := "DROP INDEX sutra_instance_status", "index sutra_instance_status is missing"
	again := "CREATE INDEX sutra_instance_status ON sutra_instance (tenant, status, id)"
	rename, back := "ALTER TABLE sutra_replica RENAME COLUMN lanes TO tracks", "ALTER TABLE sutra_replica RENAME COLUMN tracks TO lanes"
	switch dialect {
	case "sqlserver":
		rename, back = "EXEC sp_rename 'sutra_replica.lanes', 'tracks', 'COLUMN'", "EXEC sp_rename 'sutra_replica.tracks', 'lanes', 'COLUMN'"
		fallthrough
	case "mysql", "mariadb":
		drop += " ON sutra_instance"
	}
	unmigrated := func(w *ward) database.Examination {
		return database.Examination{Config: database.Config{URL: w.server.Database(w.T)}}
	}
	busy := func(x database.Examination) func(*ward) database.Examination {
		return func(*ward) database.Examination { return x }
	}
	ills := []illness{
		{name: "a dropped index", spoil: administer(drop), heal: administer(again), level: database.Failing, check: "schema", seen: seen},
		{
			name: "another index", spoil: administer(drop, "CREATE INDEX sutra_instance_status ON sutra_instance (id, tenant)"), heal: administer(drop, again),
			level: database.Failing, check: "schema", seen: "index sutra_instance_status is on (id, tenant)",
		},
		{
			name: "a dropped column", spoil: administer(rename), heal: administer(back),
			level: database.Failing, check: "schema", seen: "column sutra_replica.lanes is missing",
		},
		{name: "no schema", x: unmigrated, level: database.Failing, check: "schema", seen: "migrations"},
		{name: "a failed instance", spoil: leaveBehind, x: busy(database.Examination{Old: time.Millisecond}), level: database.Warning, check: "backlog", seen: "1 instances are FAILED"},
		{name: "an emission that nobody sends", x: busy(database.Examination{Old: time.Millisecond}), level: database.Warning, check: "backlog", seen: "1 emissions are due, the oldest for"},
	}
	if dialect == "sqlite" { // its clock is this machine's
		return ills
	}
	return append(ills, illness{
		name: "another clock", x: busy(database.Examination{Local: func() time.Time { return system.Now().Add(-time.Minute) }}),
		level: database.Warning, check: "clock", seen: "ahead of this machine's",
	})
}

// leaveBehind leaves a FAILED instance and a due emission.
func leaveBehind(w *ward) {
	w.Helper()
	s, err := database.Open(w.Context(), database.Config{URL: w.url, MaxConns: 2})
	if err != nil {
		w.Fatal(err)
	}
	defer s.Close()
	_, a, err := s.Deployments().Activate(w.Context(), ports.Activation{Slot: ports.Slot{Tenant: "t"}, ID: deployed, Archive: []byte("x")})
	if err != nil || a.Outcome != ports.Done {
		w.Fatal(a, err)
	}
	var ids system.IDs
	ref := ports.Ref{Tenant: "t", ID: ids.New()}
	got := s.Instances().Start(w.Context(), []ports.NewInstance{{
		Ref: ref, Deployment: deployed, Status: ports.Failed, Fault: &ports.Fault{Code: "X"}, Snapshot: []byte("s"),
		Rows: ports.Rows{Outbox: []ports.Emission{{Tenant: "t", ID: ids.New(), Deployment: deployed, Instance: ref.ID, Destination: "http://example.test"}}},
	}})
	if got[0].Outcome != ports.Done {
		w.Fatal(got[0])
	}
}

// abandoned leaves a transaction open that has written.
func abandoned(w *ward) {
	w.Helper()
	tx, err := w.owner.BeginTx(context.WithoutCancel(w.Context()), nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(w.Context(), "UPDATE sutra_version SET version = version"); err != nil {
		w.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond)
}

func own(dialect string) []illness {
	crowded := func(*ward) database.Examination {
		return database.Examination{Config: database.Config{MaxConns: 100_000}}
	}
	soon := func(*ward) database.Examination { return database.Examination{Old: time.Second} }
	switch dialect {
	case "postgres":
		return postgresIlls(crowded, soon)
	case "mysql", "mariadb":
		return mysqlIlls(crowded, soon)
	case "sqlserver":
		return sqlserverIlls(crowded, soon)
	}
	return []illness{{
		name: "empty pages", level: database.Warning, check: "free pages", seen: "pages are empty",
		spoil: administer("CREATE TABLE big (x)", "INSERT INTO big SELECT randomblob(1000) FROM "+numbers+" AS a, "+numbers+" AS b, "+numbers+" AS c, "+numbers+" AS d", "DROP TABLE big"),
	}}
}

const numbers = "(SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"

func sqlserverIlls(crowded, soon func(*ward) database.Examination) []illness {
	return []illness{
		{name: "too many connections", x: crowded, level: database.Warning, check: "connections", seen: "1 replicas of 100000"},
		{name: "old transaction", spoil: abandoned, x: soon, level: database.Warning, check: "old transactions", seen: "is in a transaction since"},
		{
			name: "readers that wait", spoil: administer("ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT OFF WITH ROLLBACK IMMEDIATE"),
			heal: administer("ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE"), level: database.Warning, check: "READ_COMMITTED_SNAPSHOT", seen: "0",
		},
		{
			name: "commits that do not wait", spoil: administer("ALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED"),
			heal: administer("ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED"), level: database.Warning, check: "DELAYED_DURABILITY", seen: "FORCED",
		},
	}
}

func postgresIlls(crowded, soon func(*ward) database.Examination) []illness {
	role := func(change string) func(*ward) {
		return func(w *ward) {
			var name string
			if err := w.owner.QueryRowContext(w.Context(), "SELECT current_user").Scan(&name); err != nil {
				w.Fatal(err)
			}
			w.exec(w.admin, fmt.Sprintf(change, name))
		}
	}
	with := func(parameter string) func(*ward) database.Examination {
		return func(w *ward) database.Examination {
			return database.Examination{Config: database.Config{URL: w.url + "?" + parameter}}
		}
	}
	const failing, warning = database.Failing, database.Warning
	return []illness{
		{name: "a superuser", spoil: role("ALTER ROLE %s SUPERUSER"), heal: role("ALTER ROLE %s NOSUPERUSER"), level: failing, check: "role", seen: "is a superuser"},
		{name: "past row security", spoil: role("ALTER ROLE %s BYPASSRLS"), heal: role("ALTER ROLE %s NOBYPASSRLS"), level: failing, check: "role", seen: "has BYPASSRLS"},
		{
			name: "an owner who sees all", spoil: administer("ALTER TABLE sutra_wait NO FORCE ROW LEVEL SECURITY"), heal: administer("ALTER TABLE sutra_wait FORCE ROW LEVEL SECURITY"),
			level: failing, check: "row security", seen: "sutra_wait does not force row security on its owner",
		},
		{
			name: "no row security", spoil: administer("ALTER TABLE sutra_task DISABLE ROW LEVEL SECURITY"), heal: administer("ALTER TABLE sutra_task ENABLE ROW LEVEL SECURITY"),
			level: failing, check: "row security", seen: "sutra_task has no row security",
		},
		{
			name: "another policy", spoil: administer("CREATE POLICY everybody ON sutra_alias USING (true)"), heal: administer("DROP POLICY everybody ON sutra_alias"),
			level: failing, check: "row security", seen: "sutra_alias has other policies",
		},
		{name: "isolation", x: with("default_transaction_isolation=serializable"), level: failing, check: "isolation", seen: "serializable"},
		{name: "no timeout", x: with("lock_timeout=0"), level: warning, check: "timeouts", seen: "lock_timeout is off"},
		{name: "commits that do not wait", x: with("synchronous_commit=off"), level: warning, check: "synchronous_commit", seen: "off"},
		{name: "too many connections", x: crowded, level: warning, check: "connections", seen: "1 replicas of 100000"},
		{name: "old transaction", spoil: abandoned, x: soon, level: warning, check: "old transactions", seen: "in a transaction since"},
		{
			name: "no rights", spoil: func(w *ward) {
				role("REVOKE ALL ON sutra_lease FROM %s")(w)
			}, heal: role("GRANT ALL ON sutra_lease TO %s"), level: failing, check: "privileges", seen: "UPDATE of sutra_lease",
		},
		{
			name: "a table without autovacuum", spoil: administer("ALTER TABLE sutra_history SET (autovacuum_enabled = off)"),
			level: warning, check: "autovacuum", seen: "sutra_history is left out",
		},
		{
			name: "dead rows", spoil: administer("INSERT INTO sutra_history SELECT gen_random_uuid(), n, 't', now(), gen_random_uuid(), '' FROM generate_series(1, 20000) AS n",
				"DELETE FROM sutra_history", "SELECT pg_stat_force_next_flush()", "SELECT pg_sleep(1.5)"), heal: administer("ALTER TABLE sutra_history RESET (autovacuum_enabled)"),
			level: warning, check: "dead rows", seen: "sutra_history has",
		},
	}
}

func mysqlIlls(crowded, soon func(*ward) database.Examination) []illness {
	const failing, warning = database.Failing, database.Warning
	global := func(name, value string) (func(*ward), func(*ward)) {
		return administer("SET GLOBAL " + name + " = " + value), administer("SET GLOBAL " + name + " = DEFAULT")
	}
	var out []illness
	for _, c := range []struct{ name, value, seen string }{
		{"innodb_flush_log_at_trx_commit", "2", "2"},
		{"binlog_format", "'STATEMENT'", "STATEMENT"},
		{"max_allowed_packet", "1048576", "it is 1048576"},
	} {
		spoil, heal := global(c.name, c.value)
		out = append(out, illness{name: c.name, spoil: spoil, heal: heal, level: warning, check: c.name, seen: c.seen})
	}
	return append(
		out,
		illness{name: "too many connections", x: crowded, level: warning, check: "connections", seen: "1 replicas of 100000"},
		illness{name: "old transaction", spoil: abandoned, x: soon, level: warning, check: "old transactions", seen: "in a transaction since"},
		illness{
			name: "another engine", spoil: administer("ALTER TABLE sutra_history ENGINE = MyISAM"), heal: administer("ALTER TABLE sutra_history ENGINE = InnoDB"),
			level: failing, check: "tables", seen: "sutra_history is MyISAM",
		},
		illness{
			name: "a collation", spoil: administer("ALTER TABLE sutra_history MODIFY tenant VARCHAR(255) NOT NULL"), heal: administer("ALTER TABLE sutra_history MODIFY tenant VARBINARY(255) NOT NULL"),
			level: failing, check: "collation", seen: "sutra_history.tenant is",
		},
		illness{name: "no rights", x: stranger, level: failing, check: "privileges", seen: "DELETE of sutra_wait"},
	)
}

// stranger is a role that may read alone.
func stranger(w *ward) database.Examination {
	w.Helper()
	w.exec(w.admin, "CREATE USER reader@'%' IDENTIFIED BY 'Reader-1!'", "GRANT PROCESS ON *.* TO reader@'%'")
	var name string
	if err := w.admin.QueryRowContext(w.Context(), "SELECT DATABASE()").Scan(&name); err != nil {
		w.Fatal(err)
	}
	w.exec(w.admin, "GRANT SELECT ON "+name+".* TO reader@'%'")
	at := strings.Index(w.url, "@")
	return database.Examination{Config: database.Config{URL: w.server.Dialect + "://reader:Reader-1!" + w.url[at:]}}
}
