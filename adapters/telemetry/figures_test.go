package telemetry

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFiguresAreWhatTheEngineCounts: every call of Count and Observe finds its line of the table, with these labels, and every line
// has a call.
func TestFiguresAreWhatTheEngineCounts(t *testing.T) {
	table := map[string]map[string]figure{"Count": byName(counters), "Observe": byName(durations)}
	called := map[string]bool{}
	for _, c := range calls(t) {
		f, ok := table[c.method][c.name]
		if c.method == "" {
			_, counted := table["Count"][c.name]
			_, timed := table["Observe"][c.name]
			ok = counted || timed
		}
		switch {
		case !ok:
			t.Errorf("%s: %s %s, which is not in the table", c.at, c.method, c.name)
		case c.whole && !slices.Equal(c.labels, f.labels):
			t.Errorf("%s: %s has labels %q, the table %q", c.at, c.name, c.labels, f.labels)
		}
		called[c.name] = true
	}
	for _, f := range slices.Concat(counters, durations) {
		if !called[f.name] {
			t.Errorf("%s is in the table and nobody counts it", f.name)
		}
		if len(f.known) > 0 && len(f.labels) != 1 {
			t.Errorf("%s: %d labels, known values are of one", f.name, len(f.labels))
		}
		if f.help == "" {
			t.Errorf("%s: no help", f.name)
		}
	}
}

func TestFiguresAreThereBeforeAnythingHappens(t *testing.T) {
	families, err := New().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, f := range families {
		there[f.GetName()] = len(f.GetMetric())
	}
	for _, f := range slices.Concat(counters, durations) {
		want := len(f.known)
		if len(f.labels) == 0 {
			want = 1
		}
		if there[f.name] != want {
			t.Errorf("%s: got %d series at the start, want %d", f.name, there[f.name], want)
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/telemetry.md")

// TestTheDocumentTellsEveryFigure: docs/telemetry.md ends with the table of all that a scrape may ask for.
func TestTheDocumentTellsEveryFigure(t *testing.T) {
	const file, mark = "../../docs/telemetry.md", "go test ./adapters/telemetry -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, got, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s does not say %q", file, mark)
	}
	var table strings.Builder
	table.WriteString("\n| metric | labels | what |\n| --- | --- | --- |\n")
	all := slices.Concat(counters, durations, backlogs, pooled, doors)
	slices.SortFunc(all, func(a, b figure) int { return strings.Compare(a.name, b.name) })
	for _, f := range all {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", f.name, strings.Join(f.labels, ", "), f.help)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+mark+table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != table.String() {
		t.Errorf("the table of %s is not that of the figures; write it with -update", file)
	}
}

func byName(all []figure) map[string]figure {
	out := map[string]figure{}
	for _, f := range all {
		out[f.name] = f
	}
	return out
}

var figureName = regexp.MustCompile(`^sutra_[a-z_]+_(total|seconds)$`)

// call is one call of a Watch in the engine's code.
type call struct {
	at, method, name string
	labels           []string
	whole            bool // the labels are all written there
}

func calls(t *testing.T) (all []call) {
	t.Helper()
	for _, folder := range []string{"adapters", "app", "cmd", "core"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && folder != "adapters" && figureName.MatchString(literal(lit)) {
					all = append(all, call{at: files.Position(n.Pos()).String(), name: literal(lit)}) // counted by a variable
				}
				if c, ok := callOf(n); ok {
					c.at = files.Position(n.Pos()).String()
					all = append(all, c)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Fatal("no call was found")
	}
	return all
}

func callOf(n ast.Node) (call, bool) {
	expr, ok := n.(*ast.CallExpr)
	if !ok || len(expr.Args) < 2 {
		return call{}, false
	}
	method, ok := expr.Fun.(*ast.SelectorExpr)
	name := literal(expr.Args[0])
	if !ok || method.Sel.Name != "Count" && method.Sel.Name != "Observe" || !strings.HasPrefix(name, "sutra_") {
		return call{}, false
	}
	c := call{method: method.Sel.Name, name: name, whole: !expr.Ellipsis.IsValid()}
	for pair := range slices.Chunk(expr.Args[2:], 2) {
		c.labels = append(c.labels, literal(pair[0]))
	}
	return c, true
}

// literal is the value of a string literal; empty: it is none.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	value, _ := strconv.Unquote(lit.Value)
	return value
}
