package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sutra-engine/sutra"

// law says what the non-test code below one folder of the module may import, beside the standard library and itself.
type law struct {
	folder  string
	folders []string // of this module
	modules []string // third parties
	never   []string // what the standard library offers and this folder must not touch
}

const anything = "*"

// laws is the table of the design, one line for each folder. The longest matching folder decides.
var laws = []law{
	{folder: "ports", never: outside},
	{folder: "core", folders: []string{"ports"}, never: outside, modules: []string{
		"github.com/cockroachdb/apd/v3",
		"github.com/fxamacker/cbor/v2",
		"github.com/santhosh-tekuri/jsonschema/v6",
		"go.yaml.in/yaml/v3",
		"golang.org/x/text",
	}},
	{folder: "app", folders: []string{"core", "ports"}, never: []string{"database/sql", "net/http"}},
	{folder: "dialects", never: []string{"net", "os"}, modules: []string{
		"github.com/go-sql-driver/mysql",
		"github.com/golang-sql/civil", // what go-mssqldb takes for a DATETIME2
		"github.com/jackc/pgx/v5/pgconn",
		"github.com/microsoft/go-mssqldb",
		"modernc.org/sqlite",
	}},
	{folder: "adapters", folders: []string{"ports", "dialects", "client/wire"}, modules: []string{anything}},
	{folder: "client"},
	{folder: "cmd", folders: []string{anything}, modules: []string{anything}},
	{folder: "conformance", folders: allBut("cmd"), modules: []string{anything}},
	{folder: "conformance/suite", folders: allBut("cmd", "conformance"), modules: []string{anything}},
	{folder: "bench", folders: allBut("cmd"), modules: []string{anything}},
	{folder: "examples", folders: []string{"client"}},
	{folder: "scripts", folders: []string{"conformance", "dialects"}},
}

var (
	house     = []string{"ports", "core", "app", "dialects", "adapters", "client", "cmd", "conformance", "bench", "deploy", "docs", "examples", "scripts"}
	outside   = []string{"database/sql", "log", "net", "os", "syscall"}
	values    = []string{"log/slog", "net/netip", "net/url"} // what touches nothing, whatever it is called
	nameless  = []string{"common", "internal", "models", "pkg", "types", "util", "utils"}
	untracked = []string{"bin", "data"} // what git ignores
)

func allBut(folders ...string) []string {
	return slices.DeleteFunc(slices.Clone(house), func(f string) bool { return slices.Contains(folders, f) })
}

// listed is one package as `go list -json` shows it.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func TestArchitectureHolds(t *testing.T) {
	for _, breach := range breaches(packages(t)) {
		t.Error(breach)
	}
}

func TestArchitectureHasNoOtherFolders(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") || slices.Contains(house, name) || slices.Contains(untracked, name) {
			continue
		}
		t.Errorf("%s/: not a folder of this house, which has %s", name, strings.Join(house, ", "))
	}
}

// The core decides; who runs a decision, and when, is the caller's.
func TestCoreStartsNoGoroutine(t *testing.T) {
	for _, p := range packages(t) {
		if _, ok := below(p.ImportPath, module+"/core"); !ok {
			continue
		}
		for _, file := range p.GoFiles {
			for _, breach := range goroutines(t, filepath.Join(p.Dir, file), nil) {
				t.Error(breach)
			}
		}
	}
}

func TestArchitectureTestBites(t *testing.T) {
	for _, c := range []struct {
		pkg, imports string
		breach       string // part of the message; empty: allowed
	}{
		{"ports", "time", ""},
		{"ports", "net/http", "net/http"},
		{"ports", module + "/core/claim", "core/claim"},
		{"ports", "github.com/jackc/pgx/v5", "pgx"},
		{"ports/fault", module + "/ports", ""},
		{"core/feel", "github.com/cockroachdb/apd/v3", ""},
		{"core/feel", "github.com/cockroachdb/apd/v4", "apd/v4"},
		{"core/feel", "golang.org/x/text/collate", ""},
		{"core/step", module + "/ports", ""},
		{"core/step", module + "/app/lane", "app/lane"},
		{"core/step", module + "/portsmouth", "portsmouth"},
		{"core/step", "os/exec", "os/exec"},
		{"core/step", "database/sql", "database/sql"},
		{"app/lane", "log/slog", ""},
		{"app/lane", "database/sql/driver", "database/sql/driver"},
		{"app/lane", module + "/adapters/database", "adapters/database"},
		{"app/lane", module + "/dialects", "dialects"},
		{"app/lane", "golang.org/x/sync/errgroup", "errgroup"},
		{"dialects/postgres", "github.com/jackc/pgx/v5/pgconn", ""},
		{"dialects/postgres", "github.com/jackc/pgx/v5", "pgx"},
		{"dialects/postgres", module + "/ports", "ports"},
		{"adapters/database", module + "/dialects/mysql", ""},
		{"adapters/database", module + "/core/claim", "core/claim"},
		{"adapters/httpapi", module + "/client/wire", ""},
		{"adapters/httpapi", module + "/client", "client"},
		{"client", "github.com/spf13/cobra", "cobra"},
		{"cmd/sutra", module + "/adapters/database", ""},
		{"conformance/scenario", module + "/conformance/provision", ""},
		{"conformance/scenario", module + "/cmd/sutra", "cmd/sutra"},
		{"conformance/suite", module + "/adapters/database", ""},
		{"conformance/suite", module + "/conformance/provision", "conformance/provision"},
		{"core/util", "time", "util"},
		{"internal/thing", "time", "internal"},
		{"engine", "time", "engine"},
	} {
		p := listed{ImportPath: module + "/" + c.pkg, Name: filepath.Base(c.pkg), Imports: []string{c.imports}}
		got := strings.Join(breaches([]listed{p}), "\n")
		if (got == "") != (c.breach == "") || !strings.Contains(got, c.breach) {
			t.Errorf("%s importing %s: got %q, want a breach naming %q", c.pkg, c.imports, got, c.breach)
		}
	}
	if got := goroutines(t, "made-up.go", "package p\nfunc f() { go f() }"); len(got) != 1 {
		t.Errorf("a goroutine in made-up code: got %q, want one breach", got)
	}
}

// packages reads every package of the module. Test files are not looked at.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// breaches names every import and every name that the laws forbid, in the order of the packages.
func breaches(all []listed) []string {
	var found []string
	for _, p := range all {
		folder, _ := below(p.ImportPath, module)
		if folder == "" {
			continue
		}
		for _, name := range slices.Compact(append(strings.Split(folder, "/"), p.Name)) {
			if slices.Contains(nameless, name) {
				found = append(found, fmt.Sprintf("%s: %q says nothing of what is inside; name it for what it does", folder, name))
			}
		}
		l, ok := lawOf(folder)
		if !ok {
			found = append(found, fmt.Sprintf("%s: no law for this folder; the house has %s", folder, strings.Join(house, ", ")))
			continue
		}
		for _, path := range p.Imports {
			if why := l.refuses(path); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", folder, path, why))
			}
		}
	}
	return found
}

func lawOf(folder string) (law, bool) {
	var best law
	for _, l := range laws {
		if _, ok := below(folder, l.folder); ok && len(l.folder) > len(best.folder) {
			best = l
		}
	}
	return best, best.folder != ""
}

// refuses says why the law forbids an import, or nothing.
func (l law) refuses(path string) string {
	if folder, ours := below(path, module); ours {
		if allowed(folder, append([]string{l.folder}, l.folders...)) {
			return ""
		}
		return fmt.Sprintf("%s may import of this module: %s", l.folder, list(l.folders))
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		if allowed(path, l.modules) {
			return ""
		}
		return fmt.Sprintf("%s may import of third parties: %s", l.folder, list(l.modules))
	}
	if !slices.Contains(values, path) && allowed(path, l.never) {
		return fmt.Sprintf("%s must not touch %s", l.folder, list(l.never))
	}
	return ""
}

func allowed(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		_, ok := below(path, root)
		return ok || root == anything
	})
}

// below answers the rest of a path that is root itself or lies under it.
func below(path, root string) (string, bool) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// goroutines finds the go statements of one file; src overrides what is on disk, as in [parser.ParseFile].
func goroutines(t *testing.T, path string, src any) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			found = append(found, fmt.Sprintf("%s: a goroutine in core; its owner must be the caller", files.Position(g.Pos())))
		}
		return true
	})
	return found
}
