package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/adapters/database"
)

func TestDoctorTellsWhatToChangeAndItsExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	url := "sqlite://" + filepath.Join(t.TempDir(), "sutra.db")
	ask := func(args ...string) (string, int) {
		var out bytes.Buffer
		root := command()
		root.SetOut(&out)
		root.SetArgs(append(args, "--datasource-url", url))
		if err := root.ExecuteContext(t.Context()); err != nil {
			return out.String(), exitCode(err)
		}
		return out.String(), exitOK
	}
	if said, code := ask("doctor"); code != exitFailed || !strings.Contains(said, "fail  schema: ") || !strings.Contains(said, "      → sutra migrate up") {
		t.Errorf("without a schema: exit code %d, want %d; it says\n%s", code, exitFailed, said)
	}
	if said, code := ask("migrate", "up"); code != exitOK {
		t.Fatal(said)
	}
	said, code := ask("doctor", "--json")
	var found []database.Finding
	if err := json.Unmarshal([]byte(said), &found); err != nil || code != exitOK || len(found) < 8 {
		t.Errorf("exit code %d, %v, it says\n%s", code, err, said)
	}
	for _, f := range found {
		if f.Level != database.Fine || f.Check == "" || f.Seen == "" {
			t.Errorf("a sound database: %+v", f)
		}
	}
	url = ""
	if said, code := ask("doctor"); code != exitUsage {
		t.Errorf("without a database: exit code %d, want %d; it says\n%s", code, exitUsage, said)
	}
}
