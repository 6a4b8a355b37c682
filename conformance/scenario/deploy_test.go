package scenario_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

// TestHotDeployUnderLoad: no request fails; what is sent after the answer runs the new revision on every replica; what was started before
// finishes on the old one, which then retires by itself. A rollback goes the same way.
func TestHotDeployUnderLoad(t *testing.T) {
	f := fleet(t, nil)
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady(), f.Start("c").AwaitReady()}
	first, second := edition(t, "1.0.0", "first"), edition(t, "1.0.0", "second")
	one := mustDeploy(t, replicas[0], "wait=fleet", first)
	load := newLoad(t, replicas)
	load.run(200 * time.Millisecond)
	forth := swap{before: one.DeploymentID, called: time.Now()}
	two := mustDeploy(t, replicas[1], "", second)
	forth.answered, forth.after = time.Now(), two.DeploymentID
	load.run(300 * time.Millisecond)
	back := swap{before: two.DeploymentID, called: time.Now()}
	three := mustDeploy(t, replicas[2], "", first) // roll back: the draining revision is resurrected
	back.answered, back.after = time.Now(), three.DeploymentID
	load.run(300 * time.Millisecond)
	load.stop()
	if three.DeploymentID != one.DeploymentID || three.Revision <= two.Revision {
		t.Errorf("rolled back to %+v, want %s under a number above %d", three, one.DeploymentID, two.Revision)
	}
	t.Logf("%d orders started; deploy answered in %v, rollback in %v", load.count(), forth.answered.Sub(forth.called), back.answered.Sub(back.called))
	before := ran(replicas[0])
	load.hold(before, forth, back)

	// Those of the second revision finish on it, and then it retires; those of the first when it is replaced again.
	last := mustDeploy(t, replicas[0], "wait=fleet", edition(t, "1.0.0", "third"))
	each(load.count(), func(n int) {
		if a, err := replicas[n%3].Insist(decide(n)); err != nil || !a.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", n, a, err)
		}
	})
	wantEnded(t, f, replicas[0], load.count())
	if after := ran(replicas[0]); !maps.Equal(before, after) {
		t.Error("some instance ended on another revision than it was started on")
	}
	retires(t, f, replicas[1], two.DeploymentID)
	retires(t, f, replicas[2], one.DeploymentID)
	if d := deployments(t, replicas[0])[last.DeploymentID]; d.Phase != "Active" || len(d.ServedBy) != 3 || len(d.Behind) != 0 {
		t.Errorf("got %+v, want it active on three replicas", d)
	}
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

// TestSupersedesChangesALabelWithoutAGap: under load every request finds a door, and none is served twice; forth as the package says,
// back as the call says.
func TestSupersedesChangesALabelWithoutAGap(t *testing.T) {
	f := fleet(t, nil)
	replicas := []*scenario.Replica{f.Start("a").AwaitReady(), f.Start("b").AwaitReady(), f.Start("c").AwaitReady()}
	first := edition(t, "1.0.0", "first")
	one := mustDeploy(t, replicas[0], "wait=fleet", first)
	if a, _, err := deploy(replicas[0], "", edition(t, "1.1.0", "second")); err != nil || a.Status != http.StatusConflict || a.Problem().Code != "SUTRA.DEPLOY.DOOR.TAKEN" ||
		!strings.Contains(a.Problem().Detail, "acme--orders--1.0.0") || !strings.Contains(a.Problem().Detail, "acme--orders--1.1.0") {
		t.Fatalf("two slots with one door: got %s, %v; want 409 that names both", a, err)
	}
	next := sealed(t, replace("package.yaml", "version: 1.0.0", "version: 1.1.0"), replace("package.yaml", "engine:", "supersedes: acme--orders--1.0.0\nengine:"))
	load := newLoad(t, replicas)
	load.run(200 * time.Millisecond)
	forth := swap{before: one.DeploymentID, called: time.Now()}
	two := mustDeploy(t, replicas[1], "", next)
	forth.answered, forth.after = time.Now(), two.DeploymentID
	load.run(300 * time.Millisecond)
	back := swap{before: two.DeploymentID, called: time.Now()}
	three := mustDeploy(t, replicas[2], "supersedes=acme--orders--1.1.0", first)
	back.answered, back.after = time.Now(), three.DeploymentID
	load.run(300 * time.Millisecond)
	load.stop()
	if two.Version != "1.1.0" || two.Phase != "Active" || three.Version != "1.0.0" || three.Phase != "Active" {
		t.Errorf("got %+v, then %+v, want 1.1.0 active, then 1.0.0", two, three)
	}
	load.hold(ran(replicas[0]), forth, back)
	each(load.count(), func(n int) {
		if a, err := replicas[n%3].Insist(decide(n)); err != nil || !a.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", n, a, err)
		}
	})
	wantEnded(t, f, replicas[0], load.count())
	wantShippedOnce(t, f, load.count())
	retires(t, f, replicas[0], two.DeploymentID)
	// What a package says of another slot holds also when that has gone; what a call says does not.
	if a, _, err := deploy(replicas[0], "supersedes=acme--orders--0.9.0", edition(t, "1.0.0", "again")); err != nil || a.Problem().Code != "SUTRA.DEPLOY.SLOT.SUPERSEDED" {
		t.Errorf("a call that supersedes what is not active: got %s, %v; want it refused", a, err)
	}
	mustDeploy(t, replicas[0], "", sealed(t, replace("package.yaml", "engine:", "supersedes: acme--orders--0.9.0\nengine:")))
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

// load starts orders on replicas in turn, without a pause, and holds every one to its answer.
type load struct {
	t        *testing.T
	replicas []*scenario.Replica
	next     atomic.Int64
	stopped  atomic.Bool
	wg       sync.WaitGroup
	mu       sync.Mutex
	started  []started
}

// started is an order, with when it was sent and answered.
type started struct {
	number         int
	replica        string
	instance       string
	sent, answered time.Time
}

const loaders = 6

func newLoad(t *testing.T, replicas []*scenario.Replica) *load {
	t.Helper()
	l := &load{t: t, replicas: replicas}
	for range loaders {
		l.wg.Go(func() {
			for !l.stopped.Load() {
				n := int(l.next.Add(1))
				r := l.replicas[n%len(l.replicas)]
				o := started{number: n, replica: r.Name, sent: time.Now()}
				a, err := r.Send(start(n))
				if err != nil || !a.Good() || a.Duplicate() {
					t.Errorf("order %d: got %s, %v; want it started", n, a, err)
				}
				o.answered, o.instance = time.Now(), a.Instance()
				l.mu.Lock()
				l.started = append(l.started, o)
				l.mu.Unlock()
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

// run lets the load go on for a while, and for as long as it takes until every replica has started something sent since.
func (l *load) run(d time.Duration) {
	l.t.Helper()
	began := time.Now()
	time.Sleep(d)
	for late := began.Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		asked := map[string]bool{}
		l.mu.Lock()
		for _, o := range l.started {
			if o.sent.After(began) {
				asked[o.replica] = true
			}
		}
		l.mu.Unlock()
		if len(asked) == len(l.replicas) {
			return
		}
		if time.Now().After(late) {
			l.t.Fatalf("since %v only %v have started something", began, asked)
		}
	}
}

func (l *load) stop() { l.stopped.Store(true); l.wg.Wait() }

func (l *load) count() int { return int(l.next.Load()) }

// swap is one deploy under load: who was active before and after it, and when it was called and answered.
type swap struct {
	before, after    string
	called, answered time.Time
}

// hold requires of every order that it runs the revision that was active: sent after a deploy's answer the new one, answered before its
// call the old one, and in between one of both. Before, between and after the deploys every replica has to have been asked.
func (l *load) hold(deployments map[string]string, swaps ...swap) {
	l.t.Helper()
	surely := make([]map[string]int, len(swaps)+1)
	for i := range surely {
		surely[i] = map[string]int{}
	}
	for _, o := range l.started {
		got := deployments[o.instance]
		want, era := []string{swaps[0].before}, 0
		for i, s := range swaps {
			switch {
			case o.sent.After(s.answered):
				want, era = []string{s.after}, i+1
			case o.answered.After(s.called):
				want = append(want, s.after)
			}
		}
		if !slices.Contains(want, got) {
			l.t.Errorf("order %d on %s, sent %v, answered %v: runs %.8s, want %.8q; swaps %+v", o.number, o.replica, o.sent, o.answered, got, want, swaps)
		}
		if len(want) == 1 {
			surely[era][o.replica]++
		}
	}
	l.t.Logf("orders that were surely sent and answered before, between and after the deploys: %v", surely)
	for i, on := range surely {
		if len(on) != len(l.replicas) {
			l.t.Errorf("after %d deploys only the replicas %v were asked: the load was too small to prove anything", i, on)
		}
	}
}

// ran is what each instance runs.
func ran(r *scenario.Replica) map[string]string {
	out := map[string]string{}
	for _, i := range r.Instances("") {
		out[i.ID] = i.DeploymentID
	}
	return out
}
