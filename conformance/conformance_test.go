package conformance_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"slices"
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
			server := start(t, name)
			ran := &statements{seen: map[string]int{}}
			skip := exceptions(t, server)
			t.Run("suite", func(t *testing.T) {
				suite.Run(t, suite.Harness{
					Dialect: dialect(t, name),
					Shared:  fresh(t, server, ran),
					Own:     func(t testing.TB) suite.Database { return fresh(t, server, ran) },
					Words:   words(name),
					Skip:    skip,
				})
			})
			t.Run("EveryStatementWasRun", func(t *testing.T) { ran.all(t, dialect(t, name)) })
		})
	}
}

func start(t testing.TB, dialect string) *provision.Server {
	t.Helper()
	server, err := provision.Start(t.Context(), dialect, *dsnFlag)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// statements counts what the stores ran: a statement that no test runs is not proven on its dialect.
type statements struct {
	ports.Blind
	mu   sync.Mutex
	seen map[string]int
}

func (s *statements) Count(name string, n int64, labels ...string) {
	if name != "sutra_store_statements" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[labels[1]] += int(n)
}

func (s *statements) all(t *testing.T, d dialects.Dialect) {
	t.Helper()
	if f := flag.Lookup("test.run").Value.String(); f != "" && f != "TestStore" {
		t.Skip("only some tests run")
	}
	known, err := dialects.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if s.seen[name] == 0 && (name != "store_now" || d.Caps.DatabaseTime) && (name != "change_notify" || d.Caps.Push) && (name != "session_end" || d.Caps.Shared) {
			t.Errorf("%s was never run", name)
		}
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
	url     string
	dialect dialects.Dialect
	admin   *sql.DB
	mu      *sync.Mutex
	ran     *statements
	first   *database.Store // on SQLite it holds the file's lock for the others
}

func fresh(t testing.TB, server *provision.Server, ran *statements) suite.Database {
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
	return &place{url: url, dialect: d, admin: admin, mu: &sync.Mutex{}, ran: ran}
}

func (p *place) Open(t testing.TB, r suite.Replica) ports.Store {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := database.Open(t.Context(), database.Config{URL: p.url, MaxConns: 4, Clock: r.Clock, Bold: r.Bold, Beside: p.first, Watch: p.ran})
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
	dsn, err := p.dialect.DSN(p.url)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(p.dialect.Driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	open, err := db.BeginTx(context.WithoutCancel(t.Context()), nil) // the test's own context would end it too early
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = open.Rollback(), db.Close() })
	if p.dialect.Enter != "" && tenant != "" {
		if _, err := open.ExecContext(t.Context(), p.dialect.Enter, tenant); err != nil {
			t.Fatal(err)
		}
	}
	return open
}

func (p *place) Seen(t testing.TB, tenant, query string) (n int) {
	t.Helper()
	open := p.begin(t, tenant)
	if err := open.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (p *place) Sever(t testing.TB) int {
	t.Helper()
	query := severing(p.dialect.Name)
	if query == "" {
		return -1
	}
	ended := 0
	for _, id := range p.Rows(t, query) {
		if p.dialect.Name == "postgres" {
			ended++ // asking was ending
			continue
		}
		if _, err := p.admin.ExecContext(t.Context(), "KILL "+id[0]); err == nil {
			ended++
		}
	}
	return ended
}

// severing names the sessions of the same database that are no administrator's, or ends them.
func severing(dialect string) string {
	switch dialect {
	case "postgres":
		return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename <> current_user"
	case "mysql": // its processlist cannot be read while somebody sends bytes that are no text
		return "SELECT processlist_id FROM performance_schema.threads WHERE processlist_db = DATABASE() AND processlist_user <> SUBSTRING_INDEX(USER(), '@', 1)"
	case "mariadb":
		return "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND user <> SUBSTRING_INDEX(USER(), '@', 1)"
	case "sqlserver":
		return "SELECT session_id FROM sys.dm_exec_sessions WHERE database_id = DB_ID() AND original_login_name <> ORIGINAL_LOGIN()"
	}
	return ""
}

// words are what the suite has to say by itself.
func words(dialect string) suite.Words {
	w := suite.Words{Literal: func(b []byte) string { return fmt.Sprintf("x'%x'", b) }}
	information := "SELECT c.table_name, c.column_name, c.%s, c.is_nullable, COALESCE(k.ordinal_position, 0) FROM information_schema.columns AS c " +
		"LEFT JOIN information_schema.table_constraints AS p ON p.table_schema = c.table_schema AND p.table_name = c.table_name AND p.constraint_type = 'PRIMARY KEY' " +
		"LEFT JOIN information_schema.key_column_usage AS k ON k.table_schema = c.table_schema AND k.constraint_name = p.constraint_name AND k.table_name = c.table_name " +
		"AND k.column_name = c.column_name WHERE c.table_schema = %s AND c.table_name LIKE 'sutra%%'"
	switch dialect {
	case "postgres":
		w.Literal = func(b []byte) string {
			if len(b) == 16 {
				return fmt.Sprintf("'%x'::uuid", b)
			}
			return fmt.Sprintf("'\\x%x'::bytea", b)
		}
		w.Bytes = func(number string, n int) string {
			if n == 16 {
				return fmt.Sprintf("lpad(to_hex(%s), 32, '0')::uuid", number)
			}
			return fmt.Sprintf("decode(lpad(to_hex(%s), %d, '0'), 'hex')", number, 2*n)
		}
		w.Columns = fmt.Sprintf(information, "data_type", "'public'")
		w.Uniques = "SELECT i.relname FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE x.indisunique AND NOT x.indisprimary AND i.relname LIKE 'sutra%'"
		w.Types = map[string]string{
			"uuid": "uuid", "text": "text", "long": "text", "bytes": "bytea", "key": "bytea", "foreign": "bytea", "int": "bigint",
			"instant": "timestamp with time zone",
		}
	case "mysql", "mariadb":
		w.Bytes = func(number string, n int) string { return fmt.Sprintf("UNHEX(LPAD(HEX(%s), %d, '0'))", number, 2*n) }
		w.Columns = fmt.Sprintf(information, "column_type", "DATABASE()") + " AND c.column_name <> 'active_slot'"
		w.Uniques = "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0 AND index_name <> 'PRIMARY'"
		w.Types = map[string]string{
			"uuid": "binary(16)", "text": "varbinary(255)", "long": "longblob", "bytes": "longblob", "key": "binary(32)", "foreign": "longblob",
			"int": "bigint", "instant": "datetime(6)",
		}
		if dialect == "mariadb" {
			w.Types["int"] = "bigint(20)"
		}
	case "sqlserver":
		w.Literal = func(b []byte) string { return fmt.Sprintf("0x%x", b) }
		w.Bytes = func(number string, n int) string {
			return fmt.Sprintf("CONVERT(BINARY(%d), CONVERT(BINARY(%d), 0x00) + CONVERT(BINARY(8), CONVERT(BIGINT, %s)))", n, n-8, number)
		}
		w.Columns = fmt.Sprintf(information, "data_type", "'dbo'")
		// Babelfish puts the table's name, cut off, and a digest after an index's.
		w.Uniques = "SELECT LEFT(name, CHARINDEX('sutra_', name + 'sutra_', 2) - 1) FROM sys.indexes WHERE is_unique = 1 AND is_primary_key = 0 AND name LIKE 'sutra%'"
		w.Types = map[string]string{
			"uuid": "binary", "text": "nvarchar", "long": "nvarchar", "bytes": "varbinary", "key": "binary", "foreign": "varbinary", "int": "bigint",
			"instant": "datetime2",
		}
	default:
		w.Bytes = func(number string, n int) string { return fmt.Sprintf("CAST(printf('%%0%dd', %s) AS BLOB)", n, number) }
		w.Columns = "SELECT t.name, c.name, c.type, CASE c.\"notnull\" WHEN 0 THEN 'YES' ELSE 'NO' END, c.pk FROM sqlite_master AS t " +
			"JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name LIKE 'sutra%'"
		w.Uniques = "SELECT i.name FROM sqlite_master AS t JOIN pragma_index_list(t.name) AS i WHERE t.type = 'table' AND i.\"unique\" = 1 AND i.origin = 'c'"
		w.Types = map[string]string{
			"uuid": "BLOB", "text": "TEXT", "long": "TEXT", "bytes": "BLOB", "key": "BLOB", "foreign": "BLOB", "int": "INTEGER", "instant": "INTEGER",
		}
	}
	return w
}
