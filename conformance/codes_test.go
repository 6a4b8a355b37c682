package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryMigrationCodeHasATest fails for a code of the family that no test names, by its constant or by its text.
func TestEveryMigrationCodeHasATest(t *testing.T) {
	const family = "SUTRA.ADMIN.MIGRATE."
	codes := map[string]string{} // text → constant
	walk(t, filepath.Join("..", "ports", "fault", "codes.go"), func(n ast.Node) {
		if s, ok := n.(*ast.ValueSpec); ok && len(s.Values) == 1 {
			if text := literal(s.Values[0]); strings.HasPrefix(text, family) {
				codes[text] = s.Names[0].Name
			}
		}
	})
	if len(codes) < 20 {
		t.Fatalf("found %d codes of %s; has the table moved?", len(codes), family)
	}
	named := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, "_test.go") {
			walk(t, path, func(n ast.Node) {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					named[n.Sel.Name] = true
				case *ast.BasicLit:
					named[literal(n)] = true
				}
			})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, constant := range codes {
		if !named[constant] && !named[text] {
			t.Errorf("no test names %s (fault.%s): break what it refuses, and want it", text, constant)
		}
	}
}

func walk(t *testing.T, path string, see func(ast.Node)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n != nil {
			see(n)
		}
		return true
	})
}

// literal is the text of a string literal, or empty.
func literal(n ast.Node) string {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value) // the parser has read it
	return text
}
