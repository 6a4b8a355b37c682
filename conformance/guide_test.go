package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheGuide does what docs/adding-a-dialect.md says, block by block, in a module outside of this repository.
func TestTheGuide(t *testing.T) {
	if !slices.Contains(strings.Split(*dialectFlag, ","), "sqlite") {
		t.Skip("the guide's toy is an SQLite (-dialect=sqlite)")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "adding-a-dialect.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)(?:`([a-z_/.]+)`:\n\n)?```(sh|go|sql)\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("got %d blocks of the guide, want all", len(blocks))
	}
	for _, b := range blocks {
		name, kind, text := b[1], b[2], b[3]
		if kind != "sh" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", text)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "SUTRA="+root, "GOFLAGS=", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		} else if len(out) > 0 {
			t.Logf("%s", out)
		}
	}
}
