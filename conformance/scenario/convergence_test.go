package scenario_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
	"github.com/sutra-engine/sutra/core/archive"
)

// TestConvergenceByNotifyAndByPolling prints how long after a deploy the other replicas serve it: told by the database, and looking for
// themselves.
func TestConvergenceByNotifyAndByPolling(t *testing.T) {
	for name, c := range map[string]struct {
		settings scenario.Settings
		poll     time.Duration
		deploys  int
		worst    time.Duration
	}{
		"notify": {scenario.Settings{"sutra.deployments.poll-interval": "PT1M"}, time.Minute, 20, 10 * time.Second},
		"poll":   {scenario.Settings{"sutra.deployments.poll-interval": "PT0.5S", "sutra.deployments.listen": "false"}, 500 * time.Millisecond, 10, 10 * time.Second},
	} {
		if name == "notify" && *dialect != "postgres" {
			continue // the others cannot push
		}
		t.Run(name, func(t *testing.T) {
			f := fleet(t, c.settings)
			replicas := []*scenario.Replica{f.Start("a"), f.Start("b"), f.Start("c")}
			ledger := f.Ledger()
			var took []time.Duration
			for i := range c.deploys {
				time.Sleep(time.Duration(i*137) * time.Millisecond % c.poll % time.Second) // so that deploys fall anywhere between two looks
				d := mustDeploy(t, replicas[i%3], "wait=fleet", module(t, i))
				if len(d.Behind) > 0 {
					t.Errorf("deploy %d: %v do not serve it", i, d.Behind)
				}
				version := ledger.Count("SELECT version FROM sutra_version")
				for _, r := range replicas {
					if r != replicas[i%3] {
						took = append(took, converged(t, r, version).Sub(*d.Activated))
					}
				}
			}
			slices.Sort(took)
			median, worst := took[len(took)/2], took[len(took)-1]
			t.Logf("%s on %s, poll %v: %d convergences of 3 replicas, median %v, worst %v", name, *dialect, c.poll, len(took),
				median.Round(time.Millisecond), worst.Round(time.Millisecond))
			if worst > c.worst {
				t.Errorf("the worst took %v, want %v at most", worst, c.worst)
			}
		})
	}
}

// TestNothingIsMissedWhenTheListenerIsCut: each deploy falls into the moment in which no replica listens, and nobody polls.
func TestNothingIsMissedWhenTheListenerIsCut(t *testing.T) {
	if *dialect != "postgres" {
		t.Skip("only PostgreSQL pushes changes (-dialect=postgres)")
	}
	f := fleet(t, scenario.Settings{"sutra.deployments.poll-interval": "PT1H"})
	replicas := []*scenario.Replica{f.Start("a"), f.Start("b"), f.Start("c")}
	ledger := f.Ledger()
	const listeners = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"
	f.Eventually("three replicas listen", func() error {
		if n := ledger.Count("SELECT count(*) " + listeners); n != 3 {
			return fmt.Errorf("got %d", n)
		}
		return nil
	})
	mustDeploy(t, replicas[0], "wait=fleet", edition(t, "1.0.0", "first"))
	load := newLoad(t, replicas)
	cut := 0
	for i := range 5 {
		n := ledger.Count("SELECT count(pg_terminate_backend(pid)) " + listeners)
		cut += n
		mustDeploy(t, replicas[i%3], "", module(t, i))
		version := ledger.Count("SELECT version FROM sutra_version")
		for _, r := range replicas {
			converged(t, r, version)
		}
	}
	load.stop()
	t.Logf("%d listening connections were cut over 5 deploys, under a load of %d orders", cut, load.count())
	if cut < 10 {
		t.Error("too few connections were cut: this proves nothing")
	}
}

// module is a package that is alone in its slot and opens no door, so that its deploy changes the served set once.
func module(t *testing.T, n int) []byte {
	t.Helper()
	a, err := archive.Seal(fstest.MapFS{
		"package.yaml": {Data: fmt.Appendf(nil, "labels: {tenant: acme, module: m%d, version: '1'}\n", n)},
		"bpmn/m.bpmn":  {Data: []byte(plain("m"))},
	}, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	return a.Bytes
}

// converged waits until a replica's log says that it has applied a version, and answers when that was.
func converged(t *testing.T, r *scenario.Replica, version int) time.Time {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(r.Log()) {
			var said struct {
				Time    time.Time
				Msg     string
				Version int
			}
			if strings.Contains(line, `"converged"`) && json.Unmarshal([]byte(line), &said) == nil && said.Msg == "converged" && said.Version >= version {
				return said.Time
			}
		}
	}
	t.Fatalf("%s has not converged to version %d", r.Name, version)
	return time.Time{}
}
