package fault_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/ports/fault"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestCodesAreAnAPI: a difference here is a change of the API.
func TestCodesAreAnAPI(t *testing.T) {
	var lines []string
	for _, e := range fault.Table() {
		lines = append(lines, fmt.Sprintf("%s %s %d", e.Code, e.Disposition, e.Status))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/codes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("codes, dispositions or statuses differ from %s; if that is meant, run with -update", golden)
	}
}

func TestEveryCodeIsDeclaredOnceAndInShape(t *testing.T) {
	shape := regexp.MustCompile(`^SUTRA(\.[A-Z][A-Z0-9_]*){2,3}$`)
	seen := map[fault.Code]bool{}
	for _, e := range fault.Table() {
		if seen[e.Code] || !shape.MatchString(string(e.Code)) || e.Status < 400 || e.Status > 599 {
			t.Errorf("%s is declared twice, out of shape, or has status %d", e.Code, e.Status)
		}
		seen[e.Code] = true
	}
}

func TestAFaultIsFoundThroughWrapping(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("outer: %w", fault.StoreUnavailable.With("cannot write: %w", cause))
	if !errors.Is(err, fault.StoreUnavailable) || !errors.Is(err, cause) || errors.Is(err, fault.StoreReadOnly) {
		t.Fatalf("%v is not what it wraps", err)
	}
	if f := fault.Of(err); f.Code != fault.StoreUnavailable || f.Detail != "cannot write: disk full" {
		t.Fatalf("got %+v", f)
	}
	if f := fault.Of(errors.New("boom")); f.Code != fault.Internal || f.Code.Disposition() != fault.Bug {
		t.Fatalf("an error without code is a bug: got %+v", f)
	}
}
