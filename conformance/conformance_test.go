package conformance_test

import (
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
			t.Run("EveryStatementWasRun", func(t *testing.T) { ran.all(t, dialect(t, name), skip) })
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

func (s *statements) all(t *testing.T, d dialects.Dialect, skip map[string]string) {
	t.Helper()
	if f := flag.Lookup("test.run").Value.String(); f != "" && f != "TestStore" {
		t.Skip("only some tests run")
	}
	known, err := dialects.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if s.seen[name] == 0 && (name != "store_now" || d.Caps.DatabaseTime) && (name != "change_notify" || d.Caps.Push) && (name != "session_end" || d.Caps.Shared && skip["AbandonedTransactionIsEnded"] == "") {
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

func fresh(t testing.TB, server *provision.Server, ran *statements) suite.Database {
	t.Helper()
	url := server.Database(t)
	admin, err := server.Administrator(url)
	if err != nil {
		t.Fatal(err)
	}
	return suite.Migrated(t, suite.Place{URL: url, Admin: admin, Dialect: dialect(t, server.Dialect), Words: words(server.Dialect), Watch: ran})
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
		// Asking ends them.
		w.Sessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename <> current_user"
		w.Columns = fmt.Sprintf(information, "data_type", "'public'")
		w.Uniques = "SELECT i.relname FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE x.indisunique AND NOT x.indisprimary AND i.relname LIKE 'sutra%'"
		w.Types = map[string]string{
			"uuid": "uuid", "text": "text", "long": "text", "bytes": "bytea", "key": "bytea", "foreign": "bytea", "int": "bigint",
			"instant": "timestamp with time zone",
		}
	case "mysql", "mariadb":
		w.Bytes = func(number string, n int) string { return fmt.Sprintf("UNHEX(LPAD(HEX(%s), %d, '0'))", number, 2*n) }
		// MySQL's processlist cannot be read while somebody sends bytes that are no text.
		w.Sessions = "SELECT processlist_id FROM performance_schema.threads WHERE processlist_db = DATABASE() AND processlist_user <> SUBSTRING_INDEX(USER(), '@', 1)"
		w.End = "KILL "
		w.Columns = fmt.Sprintf(information, "column_type", "DATABASE()") + " AND c.column_name <> 'active_slot'"
		w.Uniques = "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0 AND index_name <> 'PRIMARY'"
		w.Types = map[string]string{
			"uuid": "binary(16)", "text": "varbinary(255)", "long": "longblob", "bytes": "longblob", "key": "binary(32)", "foreign": "longblob",
			"int": "bigint", "instant": "datetime(6)",
		}
		if dialect == "mariadb" {
			w.Types["int"] = "bigint(20)"
			w.Sessions = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND user <> SUBSTRING_INDEX(USER(), '@', 1)"
		}
	case "sqlserver":
		w.Literal = func(b []byte) string { return fmt.Sprintf("0x%x", b) }
		w.Bytes = func(number string, n int) string {
			return fmt.Sprintf("CONVERT(BINARY(%d), CONVERT(BINARY(%d), 0x00) + CONVERT(BINARY(8), CONVERT(BIGINT, %s)))", n, n-8, number)
		}
		w.Sessions = "SELECT session_id FROM sys.dm_exec_sessions WHERE database_id = DB_ID() AND original_login_name <> ORIGINAL_LOGIN()"
		w.End = "KILL "
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
