package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatementsAreReadAsSQLServerSeesThem(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"WHERE a = :tenant AND b IN (:x,:y)", "WHERE a = @tenant AND b IN (@x,@y)"},
		{"JOIN :rows AS r", "JOIN (SELECT * FROM (VALUES (1)) AS v(n)) AS r"},
		{"COMMIT WITH (DELAYED_DURABILITY = ON);", "COMMIT ;"},
		{"ALTER TABLE a SET (LOCK_ESCALATION = DISABLE);", ""},
	} {
		if got := tsql(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestOverridesReplaceWholeStatements(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "portable/a.sql", "-- name: one\nSELECT 1\n\n-- name: two\nSELECT 2\n")
	write(t, dir, "sqlserver/sql/a.sql", "-- name: two\nSELECT 22\n")
	write(t, dir, "sqlserver/migrations/0001_tables.sql", "CREATE TABLE t (a INT)")
	texts := map[string]string{}
	for _, layer := range []string{"portable", "sqlserver"} {
		if err := collect(texts, filepath.Join(dir, layer)); err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) != 3 || strings.TrimSpace(texts["two"]) != "SELECT 22" || strings.TrimSpace(texts["one"]) != "SELECT 1" {
		t.Errorf("got %q, want one, the overridden two, and a migration", texts)
	}
}

func TestGrammarRefusesWhatIsNotTSQL(t *testing.T) {
	t.Chdir("../..") // where the pinned sqlfluff is
	if _, err := os.Stat(".cache/sqlfluff/bin/sqlfluff"); err != nil {
		t.Skip("sqlfluff is not installed: make grammar")
	}
	dir := t.TempDir()
	write(t, dir, "sqlserver/sql/a.sql", "-- name: good\nUPDATE TOP (:batch) t WITH (UPDLOCK, READPAST)\nSET a = :now\nOUTPUT inserted.id\nWHERE b = 0\n")
	if n, err := check(t.Context(), dir); n != 1 || err != nil {
		t.Errorf("a statement: got %d, %v; want 1 that parses", n, err)
	}
	write(t, dir, "sqlserver/sql/b.sql", "-- name: planted\nUPDATE t\nSET a = 1\nWHERE b = 0 AND\n")
	if _, err := check(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "good") {
		t.Errorf("a planted error: got %v, want a refusal that names it alone", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
