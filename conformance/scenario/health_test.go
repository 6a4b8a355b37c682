package scenario_test

import (
	"os/exec"
	"testing"
)

// TestHealthCommandIsAProbe: `sutra health` ends well beside a replica that works, and with 4 when there is none.
func TestHealthCommandIsAProbe(t *testing.T) {
	_, replicas := parts(t, nil, "a")
	a := replicas[0]
	probe := func(args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), stage.Binary, append([]string{"health", "--server", a.URL}, args...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, args := range [][]string{nil, {"--live"}} {
		if code, out := probe(args...); code != 0 {
			t.Errorf("health %q of a replica that works: got %d, %s; want 0", args, code, out)
		}
	}
	a.Kill()
	if code, out := probe(); code != 4 {
		t.Errorf("health of a replica that is gone: got %d, %s; want 4", code, out)
	}
}
