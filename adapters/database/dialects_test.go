package database_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/dialects"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPowersAreTheDeclaredOnes pins what each database is said to do: nobody passes the suite by declaring less.
func TestPowersAreTheDeclaredOnes(t *testing.T) {
	var got strings.Builder
	for _, d := range database.Dialects() {
		fmt.Fprintf(&got, "%s %+v\n", d.Name, d.Caps)
	}
	compare(t, "testdata/powers.golden", got.String())
}

// TestEachDialectOwnsLittle prints the lines of SQL that each dialect says otherwise, and how many it shares.
func TestEachDialectOwnsLittle(t *testing.T) {
	for _, d := range database.Dialects() {
		all, err := dialects.Load(d)
		if err != nil {
			t.Fatal(err)
		}
		base, err := dialects.Read(d.Layers[0])
		if err != nil {
			t.Fatal(err)
		}
		own, lines, shared := []string(nil), 0, 0
		for _, s := range base {
			if said := all[s.Name]; said.Reason != "" && !slices.Equal(said.Parts, s.Parts) {
				own = append(own, s.Name)
				lines += said.Lines
			} else {
				shared += s.Lines
			}
		}
		t.Logf("%-9s shares %d statements (%d lines), owns %d (%d lines): %s", d.Name, len(base)-len(own), shared, len(own), lines, strings.Join(own, " "))
		if lines > 100 {
			t.Errorf("%s owns %d lines of SQL: look for what it could share", d.Name, lines)
		}
	}
}

// TestSQLServerHintsHold checks by reading what no SQL Server is here to show.
func TestSQLServerHintsHold(t *testing.T) {
	all := database.Dialects()
	d := all[slices.IndexFunc(all, func(d dialects.Dialect) bool { return d.Name == "sqlserver" })]
	statements, err := dialects.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	const skipping = "WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK)"
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		s := statements[name]
		for part := range s.Parts {
			text := s.Text(d, part, 2, func(string) bool { return true }).SQL
			for _, never := range []string{"MERGE ", "SNAPSHOT", "NOLOCK", "LIMIT ", "FOR UPDATE", "RETURNING", "ROWLOCK", "IGNORE_DUP_KEY", "HOLDLOCK", "REPEATABLEREAD"} {
				if strings.Contains(text, never) {
					t.Errorf("%s says %s: %s", name, never, text)
				}
			}
			if strings.Count(text, "READPAST") != strings.Count(text, skipping) {
				t.Errorf("%s passes over locked rows without %s: %s", name, skipping, text)
			}
			if strings.Contains(s.Parts[part], ":skip") != strings.Contains(s.Parts[part], ":skipping") {
				t.Errorf("%s has one of :skip and :skipping", name)
			}
			if strings.Contains(text, "OFFSET 0 ROWS") && !strings.Contains(text, "ORDER BY") {
				t.Errorf("%s has a page and no order: %s", name, text)
			}
		}
	}
	for name, mode := range map[string]string{
		"deployment_share": "'Shared'", "deployment_lock": "'Exclusive'", "lease_share": "'Shared'", "lease_lock": "'Exclusive'",
	} {
		text := statements[name].Text(d, 0, 1, func(string) bool { return true }).SQL
		if !strings.Contains(text, "sp_getapplock") || !strings.Contains(text, "@LockMode = "+mode) || !strings.Contains(text, "IF @had < 0 THROW 51205,") {
			t.Errorf("%s does not hold an application lock, %s, or goes on without it: %s", name, mode, text)
		}
	}
	for _, name := range []string{"instance_claim", "instance_free", "outbox_due", "inbox_due", "timer_due", "task_due", "operation_silent", "inbox_old"} {
		if text := statements[name].Text(d, 0, 1, func(string) bool { return true }).SQL; !strings.Contains(text, skipping) {
			t.Errorf("%s may wait for a row that somebody has locked: %s", name, text)
		}
	}
}

// TestChecksJudge shows each check of a value what is right and what is wrong: most of them a test's server cannot be set to.
func TestChecksJudge(t *testing.T) {
	type values struct{ right, wrong string }
	want := map[string]values{
		"postgres version":                     {"150018", "120022"},
		"postgres encoding":                    {"UTF8", "SQL_ASCII"},
		"postgres isolation":                   {"read committed", "repeatable read"},
		"postgres fsync":                       {"on", "off"},
		"postgres synchronous_commit":          {"remote_apply", "off"},
		"postgres full_page_writes":            {"on", "off"},
		"mysql version":                        {"8.4.3", "5.7.44"},
		"mysql isolation":                      {"READ-COMMITTED", "REPEATABLE-READ"},
		"mysql innodb_flush_log_at_trx_commit": {"1", "2"},
		"mysql binlog_format":                  {"ROW", "MIXED"},
		"mariadb version":                      {"10.11.19-MariaDB-0+deb12u1", "9.7.4"},
		"sqlserver version":                    {"16.0.4120.1", "14.0.3356.20"},
		"sqlserver READ_COMMITTED_SNAPSHOT":    {"1", "0"},
		"sqlserver DELAYED_DURABILITY":         {"ALLOWED", "FORCED"},
		"sqlserver isolation":                  {"2", "4"},
		"sqlite version":                       {"3.54.1", "3.34.0"},
		"sqlite journal_mode":                  {"wal", "delete"},
		"sqlite synchronous":                   {"2", "1"},
		"sqlite integrity":                     {"ok", "row 3 missing from index sutra_wait_name"},
	}
	for _, d := range database.Dialects() {
		for _, c := range d.Checks {
			if text := c.Text(300, 8); c.Advice == "" || strings.Contains(text, ":age") || strings.Contains(text, ":pool") {
				t.Errorf("%s %s: no advice, or a figure is left in %s", d.Name, c.Name, text)
			}
			v, there := want[d.Name+" "+c.Name]
			if !there && d.Name == "mariadb" {
				v, there = want["mysql "+c.Name]
			}
			if c.Want == "" {
				v, there = values{"", "something"}, true
			}
			var right []string
			if v.right != "" {
				right = []string{v.right}
			}
			if wrong, err := c.Wrong(right); !there || err != nil || len(wrong) > 0 {
				t.Errorf("%s %s: %q is wrong (%v), or no value is known", d.Name, c.Name, right, err)
			}
			if wrong, err := c.Wrong([]string{v.wrong}); err != nil || len(wrong) != 1 {
				t.Errorf("%s %s: %q is right (%v)", d.Name, c.Name, v.wrong, err)
			}
			if wrong, _ := c.Wrong(nil); c.Want != "" && len(wrong) == 0 {
				t.Errorf("%s %s: no answer is right", d.Name, c.Name)
			}
		}
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}
