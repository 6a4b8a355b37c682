package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/dialects/sqlserver"
)

func TestExceptionsAreCutOut(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"COMMIT WITH (DELAYED_DURABILITY = ON);", "COMMIT ;"},
		{"ALTER TABLE a SET (LOCK_ESCALATION = DISABLE);", ""},
	} {
		if got := tsql(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestTextsAreThoseThatAreSent(t *testing.T) {
	texts, err := collect(sqlserver.Dialect())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"instance_claim-0": "READPAST", "wait_delete-0": "DELETE w FROM sutra_wait AS w CROSS JOIN (SELECT * FROM (VALUES (CAST(@p1 AS BINARY(16))",
		"inbox_due-0": "FETCH NEXT @p", "0001_tables": "CREATE TABLE sutra_instance",
	} {
		if !strings.Contains(texts[name], want) {
			t.Errorf("%s: got %q, want %q in it", name, texts[name], want)
		}
	}
}

func TestGrammarRefusesWhatIsNotTSQL(t *testing.T) {
	t.Chdir("../..") // where the pinned sqlfluff is
	if _, err := os.Stat(".cache/sqlfluff/bin/sqlfluff"); err != nil {
		t.Skip("sqlfluff is not installed: make grammar")
	}
	good := map[string]string{"good": "UPDATE TOP (@p1) t WITH (UPDLOCK, READPAST)\nSET a = @p2\nOUTPUT inserted.id\nWHERE b = 0\n"}
	if err := parse(t.Context(), good); err != nil {
		t.Errorf("a statement: got %v; want it to parse", err)
	}
	good["planted"] = "UPDATE t\nSET a = 1\nWHERE b = 0 AND\n"
	if err := parse(t.Context(), good); err == nil || !strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "good") {
		t.Errorf("a planted error: got %v, want a refusal that names it alone", err)
	}
}
