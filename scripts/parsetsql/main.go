// Command parsetsql parses every statement that SQL Server would run (its own, and the portable ones it does not override) and its
// migrations with sqlfluff's T-SQL grammar. It proves that they are T-SQL, not that SQL Server runs them.
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
)

func main() {
	count, err := check(context.Background(), "dialects")
	if err != nil {
		fmt.Fprintln(os.Stderr, "parsetsql:", err)
		os.Exit(1)
	}
	fmt.Printf("parsetsql: %d texts of T-SQL parse\n", count)
}

// exceptions are constructs that SQL Server documents and the grammar does not know. Each is cut out before parsing.
var exceptions = map[string]*regexp.Regexp{
	"delayed durability": regexp.MustCompile(`(?i)\bWITH\s*\(\s*DELAYED_DURABILITY\s*=\s*\w+\s*\)`),
	"lock escalation":    regexp.MustCompile(`(?i)\bALTER\s+TABLE\s+\w+\s+SET\s*\(\s*LOCK_ESCALATION\s*=\s*\w+\s*\)\s*;?`),
}

var (
	header = regexp.MustCompile(`(?m)^-- name: *(\w+).*$`)
	group  = regexp.MustCompile(`:rows\b`)
	bind   = regexp.MustCompile(`([^:\w]):([a-z_]\w*)`)
)

// check parses everything and answers how many texts there were.
func check(ctx context.Context, folder string) (int, error) {
	texts := map[string]string{}
	for _, layer := range []string{"portable", "sqlserver"} { // the later overrides whole statements of the earlier
		if err := collect(texts, filepath.Join(folder, layer)); err != nil {
			return 0, err
		}
	}
	if len(texts) == 0 {
		return 0, fmt.Errorf("no statement found below %s", folder)
	}
	return len(texts), parse(ctx, texts)
}

// collect adds the statements, and the migrations, below a dialect's folder. A dialect that is not there has none.
func collect(texts map[string]string, folder string) error {
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sql" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(raw)
		heads := header.FindAllStringSubmatchIndex(text, -1)
		if heads == nil {
			texts[filepath.Base(path)] = text
			return nil
		}
		for i, h := range heads {
			end := len(text)
			if i+1 < len(heads) {
				end = heads[i+1][0]
			}
			texts[text[h[2]:h[3]]] = text[h[1]:end]
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tsql is a text as SQL Server would see it: parameters bound, groups spelled out, without the exceptions.
func tsql(text string) string {
	for _, construct := range exceptions {
		text = construct.ReplaceAllString(text, "")
	}
	text = group.ReplaceAllString(text, "(SELECT * FROM (VALUES (1)) AS v(n))")
	return bind.ReplaceAllString(text, "$1@$2")
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
