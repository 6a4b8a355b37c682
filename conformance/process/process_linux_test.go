package process_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/process"
)

// family is a shell whose child, a session of its own as servers' children are, writes its pid and then counts into a file.
const family = `setsid sh -c 'echo $$ >"$0/pid"; while :; do echo >>"$0/ticks"; sleep 0.01; done' "$1" & wait`

func TestKillReachesChildrenInSessionsOfTheirOwn(t *testing.T) {
	p, child, _ := startFamily(t)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if runs(child) {
		t.Error("the child outlived its parent's Kill")
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing what has ended: got %v, want nothing", err)
	}
}

func TestPauseFreezesChildrenUntilResume(t *testing.T) {
	p, _, ticks := startFamily(t)
	await(t, "the child counts", func() bool { return ticks() > 3 })
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // what had been asked of the kernel ends
	before := ticks()
	time.Sleep(200 * time.Millisecond)
	if after := ticks(); after != before {
		t.Errorf("paused: counted from %d to %d, want no change", before, after)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	await(t, "the child counts again", func() bool { return ticks() > before })
}

func TestStopAnswersTheExitCode(t *testing.T) {
	p := start(t, exec.Command("sh", "-c", `trap "exit 7" TERM; while :; do sleep 0.01; done`))
	time.Sleep(100 * time.Millisecond) // the trap is set
	if err := p.Stop(t.Context(), syscall.SIGTERM); err != nil || p.ExitCode() != 7 {
		t.Errorf("got %d, %v; want 7", p.ExitCode(), err)
	}
}

func TestStopKillsWhatWillNotEnd(t *testing.T) {
	p := start(t, exec.Command("sh", "-c", `trap "" TERM; while :; do sleep 0.01; done`))
	time.Sleep(100 * time.Millisecond) // the trap is set
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx, syscall.SIGTERM); err == nil || p.ExitCode() != -1 {
		t.Errorf("got %d, %v; want killed, and said", p.ExitCode(), err)
	}
}

func startFamily(t *testing.T) (p *process.Process, child int, ticks func() int) {
	t.Helper()
	dir := t.TempDir()
	p = start(t, exec.Command("sh", "-c", family, "sh", dir))
	await(t, "the child runs", func() bool {
		raw, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err == nil {
			child, err = strconv.Atoi(string(bytes.TrimSpace(raw)))
		}
		return err == nil
	})
	return p, child, func() int {
		raw, err := os.ReadFile(filepath.Join(dir, "ticks"))
		if err != nil {
			return 0
		}
		return len(raw)
	}
}

func start(t *testing.T, cmd *exec.Cmd) *process.Process {
	t.Helper()
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// runs says that a process is there and no zombie.
func runs(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(raw, []byte(") Z "))
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 200 {
		if holds() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("not within 4 s: %s", what)
}
