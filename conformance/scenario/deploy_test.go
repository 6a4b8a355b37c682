package scenario_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// edition is the orders package with one more comment, so that its bytes are others, and with the version label given.
func edition(t *testing.T, version, comment string) []byte {
	t.Helper()
	return sealed(t, replace("package.yaml", "1.0.0", version), replace("bpmn/order.bpmn", "</definitions>", "<!-- "+comment+" --></definitions>"))
}

// deploy sends an archive and answers what was said.
func deploy(r *scenario.Replica, query string, archive []byte) (scenario.Answer, wire.Deployment, error) {
	a, err := r.Call(scenario.Request{
		Method: http.MethodPost, Path: "/admin/deployments?" + query, Key: scenario.AdminKey, Kind: "application/zip", Body: archive,
	})
	var d wire.Deployment
	if err == nil && a.Status == http.StatusOK {
		err = json.Unmarshal(a.Body, &d)
	}
	return a, d, err
}

func mustDeploy(t *testing.T, r *scenario.Replica, query string, archive []byte) wire.Deployment {
	t.Helper()
	a, d, err := deploy(r, query, archive)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("deploy on %s: got %s, %v; want 200", r.Name, a, err)
	}
	return d
}

func deployments(t *testing.T, r *scenario.Replica) map[string]wire.Deployment {
	t.Helper()
	a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: "/sutra/deployments", Key: scenario.OperateKey})
	var page wire.Page[wire.Deployment]
	if err == nil {
		err = json.Unmarshal(a.Body, &page)
	}
	if err != nil {
		t.Fatalf("deployments on %s: %v", r.Name, err)
	}
	out := map[string]wire.Deployment{}
	for _, d := range page.Items {
		out[d.DeploymentID] = d
	}
	return out
}

func TestSameBytesTwiceChangeNothing(t *testing.T) {
	f := fleet(t, nil)
	a := f.Start("a").AwaitReady()
	ledger := f.Ledger()
	one := edition(t, "1.0.0", "one")
	first := mustDeploy(t, a, "", one)
	before := ledger.Count("SELECT version FROM sutra_version")
	again := mustDeploy(t, a, "", one)
	if again.DeploymentID != first.DeploymentID || again.Revision != first.Revision || !again.Unchanged || first.Unchanged {
		t.Errorf("got %+v, then %+v; want the same, unchanged", first, again)
	}
	if now := ledger.Count("SELECT version FROM sutra_version"); now != before {
		t.Errorf("the version went from %d to %d, want no change", before, now)
	}
}

// TestSixteenDeploysIntoOneSlot: each is answered 200 or by a coded conflict, one revision is active at every instant, and the
// revisions are ordered.
func TestSixteenDeploysIntoOneSlot(t *testing.T) {
	f := fleet(t, nil)
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady()}
	ledger := f.Ledger()
	mustDeploy(t, replicas[0], "", edition(t, "1.0.0", "first"))
	archives := make([][]byte, 16)
	for i := range archives {
		archives[i] = edition(t, "1.0.0", fmt.Sprint("edition ", i))
	}
	var done atomic.Bool
	var samples int
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for ; !done.Load(); samples++ {
			if n := ledger.Count("SELECT count(*) FROM sutra_deployment WHERE phase = 'active'"); n != 1 {
				t.Errorf("sample %d: %d revisions are active, want 1", samples, n)
			}
		}
	})
	var mu sync.Mutex
	numbers := map[int64]bool{}
	each(16, func(i int) {
		a, d, err := deploy(replicas[i%2], "", archives[i-1])
		if err != nil || a.Status != http.StatusOK && !(a.Status == http.StatusConflict && strings.HasPrefix(a.Problem().Code, "SUTRA.DEPLOY.")) {
			t.Errorf("deploy %d: got %s, %v; want 200 or a coded 409", i, a, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if a.Status == http.StatusOK && numbers[d.Revision] {
			t.Errorf("revision %d was given twice", d.Revision)
		}
		numbers[d.Revision] = true
	})
	done.Store(true)
	sampler.Wait()
	t.Logf("%d revisions over %d samples", len(numbers), samples)
	active := 0
	for _, d := range deployments(t, replicas[0]) {
		if d.Phase == "Active" {
			active++
			if most := slices.Max(keys(numbers)); d.Revision != most {
				t.Errorf("revision %d is active, want the last one, %d", d.Revision, most)
			}
		}
	}
	if active != 1 {
		t.Errorf("%d revisions are active, want 1", active)
	}
}

func keys(m map[int64]bool) []int64 {
	out := make([]int64, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestHotDeployUnderLoad: no request fails; what starts after the answer runs the new revision on every replica; what was started
// before finishes on the old one, which then retires by itself. A rollback goes the same way.
func TestHotDeployUnderLoad(t *testing.T) {
	f := fleet(t, nil)
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady(), f.Start("c").AwaitReady()}
	first, second := edition(t, "1.0.0", "first"), edition(t, "1.0.0", "second")
	one := mustDeploy(t, replicas[0], "wait=fleet", first)

	load := newLoad(t, replicas)
	load.run(200 * time.Millisecond)
	began := time.Now()
	two := mustDeploy(t, replicas[1], "", second)
	answered := time.Since(began)
	after := load.count()
	load.run(300 * time.Millisecond)
	began = time.Now()
	back := mustDeploy(t, replicas[2], "", first) // roll back: the draining revision is resurrected
	rolled := time.Since(began)
	afterBack := load.count()
	load.run(300 * time.Millisecond)
	load.stop()
	if back.DeploymentID != one.DeploymentID || back.Revision <= two.Revision {
		t.Errorf("rolled back to %+v, want %s under a number above %d", back, one.DeploymentID, two.Revision)
	}
	ran := map[string]int{}
	for n, id := range load.started() {
		deployment := replicas[n%3].Instance(id).DeploymentID
		ran[deployment]++
		switch {
		case n > after && n <= afterBack-len(replicas) && deployment != two.DeploymentID && deployment != one.DeploymentID:
			t.Errorf("order %d runs %s", n, deployment)
		case n > afterBack+load.inFlight() && deployment != one.DeploymentID:
			t.Errorf("order %d was started after the rollback and runs %s, want %s", n, deployment, one.DeploymentID)
		}
	}
	t.Logf("%d orders started: %v; deploy answered in %v, rollback in %v", load.count(), ran, answered, rolled)
	if ran[two.DeploymentID] == 0 {
		t.Error("no order ran the second revision: the load was too small to prove anything")
	}
	each(load.count(), func(n int) {
		if a, err := replicas[n%3].Insist(decide(n)); err != nil || !a.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", n, a, err)
		}
	})
	wantEnded(t, f, replicas[0], load.count())
	f.Eventually("the second revision retires by itself", func() error {
		if d := deployments(t, replicas[0])[two.DeploymentID]; d.Phase != "Retired" {
			return fmt.Errorf("it is %s: %+v", d.Phase, d.Blockers)
		}
		return nil
	})
	wantShippedOnce(t, f, load.count())
}

// TestStartsAfterTheAnswerRunTheNewRevisionEverywhere: a replica that has not heard of the deploy starts nothing on the old revision.
func TestStartsAfterTheAnswerRunTheNewRevisionEverywhere(t *testing.T) {
	// Replicas that hear of nothing by themselves: only being refused makes them look.
	f := fleet(t, scenario.Settings{"sutra.deployments.poll-interval": "PT1H"})
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady(), f.Start("c").AwaitReady()}
	mustDeploy(t, replicas[0], "", edition(t, "1.0.0", "zero"))
	n := 0
	for round := range 5 {
		d := mustDeploy(t, replicas[round%3], "", edition(t, "1.0.0", fmt.Sprint("round ", round)))
		for _, r := range replicas {
			n++
			id := r.MustSend(start(n)).Instance()
			if got := r.Instance(id).DeploymentID; got != d.DeploymentID {
				t.Errorf("round %d: %s started %s on %s, want %s", round, r.Name, id, got, d.DeploymentID)
			}
		}
	}
}

// TestSupersedesChangesALabelWithoutAGap: under load every request finds a door, and none is served twice.
func TestSupersedesChangesALabelWithoutAGap(t *testing.T) {
	f := fleet(t, nil)
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady()}
	mustDeploy(t, replicas[0], "wait=fleet", edition(t, "1.0.0", "first"))
	next := edition(t, "1.1.0", "second")
	if a, _, err := deploy(replicas[0], "", next); err != nil || a.Status != http.StatusConflict || a.Problem().Code != "SUTRA.DEPLOY.DOOR.TAKEN" ||
		!strings.Contains(a.Problem().Detail, "acme--orders--1.0.0") {
		t.Fatalf("two slots with one door: got %s, %v; want 409 that names both", a, err)
	}
	load := newLoad(t, replicas)
	load.run(200 * time.Millisecond)
	d := mustDeploy(t, replicas[1], "supersedes=acme--orders--1.0.0", next)
	load.run(300 * time.Millisecond)
	load.stop()
	if d.Version != "1.1.0" || d.Phase != "Active" {
		t.Errorf("got %+v, want 1.1.0 active", d)
	}
	each(load.count(), func(n int) {
		if a, err := replicas[n%2].Insist(decide(n)); err != nil || !a.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", n, a, err)
		}
	})
	wantEnded(t, f, replicas[0], load.count())
	wantShippedOnce(t, f, load.count())
}

// TestAModelThatDoesNotCompileChangesNothing: the second model is broken; the old revision never stopped serving.
func TestAModelThatDoesNotCompileChangesNothing(t *testing.T) {
	f := fleet(t, nil)
	a := f.Start("a").AwaitReady()
	mustDeploy(t, a, "", edition(t, "1.0.0", "good"))
	broken := "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\">\n<process id=\"p\" isExecutable=\"true\">\n" +
		"<startEvent id=\"s\"/>\n<sequenceFlow id=\"f\" sourceRef=\"s\" targetRef=\"nowhere\"/>\n</process></definitions>"
	load := newLoad(t, []*scenario.Replica{a})
	answer, _, err := deploy(a, "", sealed(t, add("bpmn/second.bpmn", broken)))
	p := answer.Problem()
	if err != nil || answer.Status != http.StatusUnprocessableEntity || len(p.Violations) == 0 || p.Violations[0].File != "bpmn/second.bpmn" ||
		p.Violations[0].Line != 4 || p.Violations[0].Code != "SUTRA.MODEL.FLOW.INVALID" {
		t.Errorf("got %s, %v; want 422 with file, line and code", answer, err)
	}
	load.run(100 * time.Millisecond)
	load.stop()
}

// TestAsyncDeploySurvivesItsReplica: the replica that took the call dies; another finishes the deploy, and the callback hears once.
func TestAsyncDeploySurvivesItsReplica(t *testing.T) {
	f := fleet(t, scenario.Settings{"sutra.callback.allow-private": "true", "sutra.deployments.operation-timeout": "PT2S"})
	a, b := f.Start("a").AwaitReady(), f.Start("b").AwaitReady()
	callback := scenario.Receive(t)
	proxied := edition(t, "1.0.0", "async")
	answer, _, err := deploy(a, "mode=async&callback="+callback.URL, proxied)
	if err != nil || answer.Status != http.StatusAccepted {
		t.Fatalf("got %s, %v; want 202", answer, err)
	}
	a.Kill() // in the middle of it, or just after: nobody can tell, and it must not matter
	var op wire.Operation
	f.Eventually("the deploy is finished by the other replica", func() error {
		got, err := b.Call(scenario.Request{Method: http.MethodGet, Path: answer.Header.Get("Location"), Key: scenario.AdminKey})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(got.Body, &op); err != nil || op.State != "done" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	if d := deployments(t, b)[op.DeploymentID]; d.Phase != "Active" {
		t.Errorf("got %+v, want it active", d)
	}
	f.Eventually("the callback hears", func() error {
		if n := len(callback.Deliveries()); n != 1 {
			return fmt.Errorf("it heard %d events", n)
		}
		return nil
	})
	for id, times := range callback.Deliveries() {
		if times != 1 || !strings.Contains(callback.Bodies()[id], "com.sutra.deployment.activated") {
			t.Errorf("event %s came %d times: %s", id, times, callback.Bodies()[id])
		}
	}
	if answer, _, err := deploy(b, "mode=async&callback=ftp://x", proxied); err != nil || answer.Problem().Code != "SUTRA.DEPLOY.CALLBACK.INVALID" {
		t.Errorf("a callback that cannot be: got %s, %v", answer, err)
	}
}

// TestWhatHoldsARevisionBack: a live instance holds a draining revision, a FAILED one too, until it is cancelled.
func TestWhatHoldsARevisionBack(t *testing.T) {
	f := fleet(t, nil)
	a := f.Start("a").AwaitReady()
	one := mustDeploy(t, a, "", edition(t, "1.0.0", "one"))
	parked := park(t, a, 1)[1]
	if got, err := a.Call(scenario.Request{Method: http.MethodDelete, Path: "/admin/deployments/acme--orders--1.0.0", Key: scenario.AdminKey}); err != nil || got.Status != http.StatusOK {
		t.Fatalf("undeploy: got %s, %v", got, err)
	}
	if got, err := a.Send(start(2)); err != nil || got.Good() {
		t.Errorf("a start on a draining revision: got %s, %v; want it refused", got, err)
	}
	time.Sleep(time.Second) // several looks of the retirement
	d := deployments(t, a)[one.DeploymentID]
	if d.Phase != "Draining" || d.Blockers == nil || d.Blockers.LiveInstances != 1 {
		t.Errorf("got %+v, want it draining, held by one instance", d)
	}
	if got, err := a.Call(scenario.Request{Method: http.MethodPost, Path: "/admin/instances/" + parked + "/cancel", Key: scenario.AdminKey}); err != nil || got.Status != http.StatusOK {
		t.Fatalf("cancel: got %s, %v", got, err)
	}
	f.Eventually("it retires", func() error {
		if d := deployments(t, a)[one.DeploymentID]; d.Phase != "Retired" {
			return fmt.Errorf("it is %s: %+v", d.Phase, d.Blockers)
		}
		return nil
	})
	again := mustDeploy(t, a, "", edition(t, "1.0.0", "one"))
	if again.DeploymentID != one.DeploymentID || again.Revision <= one.Revision {
		t.Errorf("got %+v, want the retired bytes active again under the next number", again)
	}
}

// load starts orders on replicas in turn, without a pause, and holds every one to its answer.
type load struct {
	t        *testing.T
	replicas []*scenario.Replica
	next     atomic.Int64
	stopped  atomic.Bool
	wg       sync.WaitGroup
	mu       sync.Mutex
	ids      map[int]string
}

const loaders = 6

func newLoad(t *testing.T, replicas []*scenario.Replica) *load {
	t.Helper()
	l := &load{t: t, replicas: replicas, ids: map[int]string{}}
	for range loaders {
		l.wg.Go(func() {
			for !l.stopped.Load() {
				n := int(l.next.Add(1))
				a, err := l.replicas[n%len(l.replicas)].Send(start(n))
				if err != nil || !a.Good() || a.Duplicate() {
					t.Errorf("order %d: got %s, %v; want it started", n, a, err)
				}
				l.mu.Lock()
				l.ids[n] = a.Instance()
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) run(d time.Duration) { time.Sleep(d) }

func (l *load) stop() { l.stopped.Store(true); l.wg.Wait() }

func (l *load) count() int { return int(l.next.Load()) }

func (l *load) inFlight() int { return loaders }

func (l *load) started() map[int]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids
}
