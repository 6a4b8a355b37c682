// Command parsetsql parses every statement that SQL Server would run (its own, and the portable ones it does not override), its checks
// and its migrations with sqlfluff's T-SQL grammar. It proves that they are T-SQL, not that SQL Server runs them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/sqlserver"
)

func main() {
	texts, err := collect(sqlserver.Dialect())
	if err == nil {
		err = parse(context.Background(), texts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "parsetsql:", err)
		os.Exit(1)
	}
	fmt.Printf("parsetsql: %d texts of T-SQL parse\n", len(texts))
}

// exceptions are constructs that SQL Server documents and the grammar does not know. Each is cut out before parsing.
var exceptions = map[string]*regexp.Regexp{
	"delayed durability": regexp.MustCompile(`(?i)\bWITH\s*\(\s*DELAYED_DURABILITY\s*=\s*\w+\s*\)`),
	"lock escalation":    regexp.MustCompile(`(?i)\bALTER\s+TABLE\s+\w+\s+SET\s*\(\s*LOCK_ESCALATION\s*=\s*\w+\s*\)\s*;?`),
}

// collect is every text that the store would send for a group of two, with its optional lines and without, and the migrations.
func collect(d dialects.Dialect) (map[string]string, error) {
	texts := map[string]string{}
	all, err := dialects.Load(d)
	if err != nil {
		return nil, err
	}
	for name, s := range all {
		for part := range s.Parts {
			texts[fmt.Sprint(name, "-", part)] = s.Text(d, part, 2, func(string) bool { return true }).SQL
			texts[fmt.Sprint(name, "-", part, "-bare")] = s.Text(d, part, 2, func(string) bool { return false }).SQL
		}
	}
	texts["schema"] = d.Schema
	for _, c := range d.Checks {
		texts["check-"+strings.ReplaceAll(c.Name, " ", "-")] = c.Text(300, 8)
	}
	texts["batch"], _ = d.Batch.Text([]dialects.Part{
		{Name: "strict", SQL: texts["instance_guard-0"], Args: []any{"a", nil}, Types: []string{"text", "instant"}, Want: 1},
		{Name: "counted", SQL: "SELECT N'a'", Want: -1, Count: true},
	}, true)
	files, err := fs.Glob(d.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(d.Migrations, file)
		if err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(file, ".sql")] = string(text)
	}
	return texts, nil
}

// tsql is a text without the exceptions.
func tsql(text string) string {
	for _, construct := range exceptions {
		text = construct.ReplaceAllString(text, "")
	}
	return text
}

func parse(ctx context.Context, texts map[string]string) error {
	dir, err := os.MkdirTemp("", "sutra-tsql-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name+".sql"), []byte(tsql(text)), 0o600); err != nil {
			return err
		}
	}
	// A rule has to be named for the linter to run; what cannot be parsed is told with every rule.
	out, err := exec.CommandContext(ctx, filepath.Join(".cache", "sqlfluff", "bin", "sqlfluff"), "lint", "--dialect=tsql", "--rules=LT01", "--format=json", dir).Output()
	if _, findings := errors.AsType[*exec.ExitError](err); err != nil && !findings {
		return fmt.Errorf("sqlfluff: %w (make grammar installs it)", err)
	}
	return unparsable(out)
}

func unparsable(out []byte) error {
	var files []struct {
		Path       string `json:"filepath"`
		Violations []struct {
			Code        string `json:"code"`
			Description string `json:"description"`
		} `json:"violations"`
	}
	if err := json.Unmarshal(out, &files); err != nil {
		return fmt.Errorf("sqlfluff said %q: %w", out, err)
	}
	var found []string
	for _, f := range files {
		for _, v := range f.Violations {
			if v.Code == "PRS" {
				found = append(found, strings.TrimSuffix(filepath.Base(f.Path), ".sql")+": "+v.Description)
			}
		}
	}
	if found == nil {
		return nil
	}
	slices.Sort(found)
	return fmt.Errorf("not T-SQL:\n%s", strings.Join(found, "\n"))
}
