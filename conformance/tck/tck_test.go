package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheKitPasses(t *testing.T) {
	root := filepath.Join(DataDir(filepath.Join("..", "..")), "dmn-tck")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the compatibility kit is not on this machine: %v", err)
	}
	for level, share := range map[string]float64{"compliance-level-2": 1, "compliance-level-3": 0.99} {
		report, err := Run(filepath.Join(root, level))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(report.Passed) / float64(report.Total); report.Total == 0 || got < share {
			t.Errorf("%s: got %d/%d, want a share of %v: %q", level, report.Passed, report.Total, share, report.Failures)
		}
	}
}
