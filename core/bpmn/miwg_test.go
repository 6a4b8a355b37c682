package bpmn_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/lint"
)

var update = flag.Bool("update", false, "write golden files anew")

// interchangeModels are the reference models of the BPMN Model Interchange Working Group. They are read where they lie.
func interchangeModels(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("SUTRA_TEST_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "data")
	}
	files, err := filepath.Glob(filepath.Join(folder, "bpmn-miwg", "*.bpmn"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no BPMN interchange models below %s; set SUTRA_TEST_DATA to the folder that has bpmn-miwg", folder)
	}
	if len(files) != 21 {
		t.Errorf("%d interchange models, want all 21", len(files))
	}
	return files
}

// Every model of the working group, as other tools wrote it, loads or is refused with reasons that say where and what to do.
func TestInterchangeModels(t *testing.T) {
	const golden = "testdata/miwg.golden"
	var table bytes.Buffer
	for _, file := range interchangeModels(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		m, findings := bpmn.Read(name, data, bpmn.Limits{})
		for _, f := range findings {
			if f.Code == "" || f.File != name || f.Line < 1 || f.Level == lint.Error && !actionable(f) {
				t.Errorf("it lacks a code, a place, or what to do: %s", f)
			}
		}
		marked := bytes.ReplaceAll(data, []byte(`isExecutable="false"`), []byte(`isExecutable="true"`))
		if m, findings := bpmn.Read(name, marked, bpmn.Limits{}); m == nil && !lint.Refused(findings) {
			t.Errorf("%s marked executable is neither read nor refused", name)
		}
		fmt.Fprintf(&table, "%-10s %s\n", strings.TrimSuffix(name, ".bpmn"), verdict(m, findings))
	}
	t.Logf("\n%s", &table)
	if *update {
		if err := os.WriteFile(golden, table.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, table.Bytes()) {
		t.Errorf("the table is not that of %s; look at the difference, then run with -update:\n%s", golden, want)
	}
}

// actionable says that a finding tells what is wrong and then what to do.
func actionable(f lint.Finding) bool {
	wrong, remedy, _ := strings.Cut(f.Text, "; ")
	return wrong != "" && remedy != ""
}

// verdict is executable, documentary, or refused with the codes and how often each is found.
func verdict(m *bpmn.Model, findings []lint.Finding) string {
	if m != nil && len(m.Processes) > 0 {
		return "executable"
	}
	if m != nil {
		return "documentary"
	}
	var codes []string
	count := map[string]int{}
	for _, f := range findings {
		if f.Level != lint.Error {
			continue
		}
		if count[string(f.Code)]++; count[string(f.Code)] == 1 {
			codes = append(codes, string(f.Code))
		}
	}
	slices.Sort(codes)
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s ×%d", code, count[code])
	}
	return "refused     " + strings.Join(codes, ", ")
}
