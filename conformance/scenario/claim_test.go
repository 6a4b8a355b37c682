package scenario_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

// commits are words that a step's commit sends to the database and a claim does not. A proxy that holds them stops a replica after it
// has claimed and before it can commit, so every claim in these tests was taken by the engine itself, none planted by SQL.
const commits = "INTO sutra_history"

const held = "SELECT COUNT(*) FROM sutra_instance WHERE claim_owner IS NOT NULL"

func TestKilledOwnersInstancesAreFinishedByTheOther(t *testing.T) {
	const number, claims = 200, 100
	// Long enough for a slow machine to take that many claims before the first of them is silent.
	f := fleet(t, scenario.Settings{"sutra.instance.claim-timeout": "PT10S"})
	b := f.Start("b")
	b.Deploy(orders)
	park(t, b, number)

	// A lane holds its claims until its commit is through, so a hundred claims at once need more lanes than a machine would have.
	p := f.Proxy()
	a := f.Launch("a", scenario.Settings{
		"sutra.datasource.url": f.Through(p), "sutra.engine.lanes": "256", "sutra.datasource.max-connections": "220",
	}).AwaitReady()
	p.Hold(commits)
	sends := make(chan struct{})
	go func() {
		defer close(sends)
		f.Flood(number, func(i int) { _, _ = a.Send(decide(i)) }) // every answer is lost with a
	}()
	ledger := f.Ledger()
	f.Eventually("a holds a hundred claims", func() error {
		if n := ledger.Count(held); n < claims {
			return fmt.Errorf("got %d, want %d", n, claims)
		}
		return nil
	})
	t.Logf("a held %d claims when it was killed", ledger.Count(held))
	a.Kill()
	p.Cut()
	killed := time.Now()
	<-sends

	each(number, func(i int) {
		if answer, err := b.Insist(decide(i)); err != nil || !answer.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", i, answer, err)
		}
	})
	wantEnded(t, f, b, number)
	t.Logf("b had finished all %d instances %v after the kill; the claim timeout is 10 s", number, time.Since(killed).Round(10*time.Millisecond))
	wantShippedOnce(t, f, number)
	if n := ledger.Count(held); n != 0 {
		t.Errorf("got %d claims left, want none", n)
	}
}

func TestRefusedClaimLeavesTheRowAsItWas(t *testing.T) {
	f := fleet(t, scenario.Settings{"sutra.instance.claim-timeout": "PT5M"})
	b := f.Start("b")
	b.Deploy(orders)
	id := park(t, b, 1)[1]

	p := f.Proxy()
	a := f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(p)}).AwaitReady()
	p.Hold(commits)
	first := f.Ask(func() (scenario.Answer, error) { return a.Send(decide(1)) })
	ledger := f.Ledger()
	f.Eventually("a holds the claim", func() error {
		if n := ledger.Count(held); n != 1 {
			return fmt.Errorf("got %d claims, want 1", n)
		}
		return nil
	})

	before := ledger.Rows("sutra_instance")
	second := decide(1)
	second.Event = "decision-again"
	refused, err := b.Send(second)
	if err != nil {
		t.Fatal(err)
	}
	problem := refused.Problem()
	if refused.Status != 409 || problem.Code != "SUTRA.RUNTIME.RESUME.CLAIM_HELD" || !problem.Retryable || refused.Header.Get("Retry-After") == "" {
		t.Errorf("while a holds the claim: got %s, Retry-After %q; want 409 CLAIM_HELD, retryable, with Retry-After",
			refused, refused.Header.Get("Retry-After"))
	}
	if !strings.Contains(problem.Instance, id) {
		t.Errorf("the refusal is about %q, want %s", problem.Instance, id)
	}
	if after := ledger.Rows("sutra_instance"); !slices.Equal(before, after) {
		t.Errorf("the refusal changed the row:\nbefore %s\nafter  %s", before, after)
	}

	p.Release()
	if answer := first(); !answer.Good() {
		t.Errorf("the owner's own message: got %s, want it taken", answer)
	}
	wantEnded(t, f, b, 1)
	wantShippedOnce(t, f, 1)
}

// Nudges for an instance that a holds are taken up by b, bounce off the claim, and are applied when a has let go: each once.
func TestWorkForAHeldInstanceBouncesAndCompletes(t *testing.T) {
	const nudges = 10
	f := fleet(t, scenario.Settings{"sutra.instance.claim-timeout": "PT5M", "scenario.slow": "http://127.0.0.1:1"})
	b := f.Start("b")
	b.Deploy(crowd)
	b.MustSend(scenario.Message{Channel: "begin", Event: "begin", Body: order{nudges}})
	p := f.Proxy()
	a := f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(p)}).AwaitReady()
	b.Pause() // so that a takes up the first itself
	p.Hold(commits)
	a.MustSend(nudge(1))
	ledger := f.Ledger()
	f.Eventually("a holds the instance", func() error {
		if n := ledger.Count(held); n != 1 {
			return fmt.Errorf("got %d claims, want 1", n)
		}
		return nil
	})
	b.Continue()
	for i := 2; i <= nudges; i++ {
		b.MustSend(nudge(i))
	}
	f.Eventually("b is refused the claim", func() error {
		if n := b.Metric("sutra_claims_refused_total", ""); n < 2 {
			return fmt.Errorf("%d claims were refused", n)
		}
		return nil
	})
	p.Release()
	wantApplied(t, f, nudges)
}

// A is stopped between its claim and its commit for longer than the claim timeout, and wakes when the sweep has freed its claim. Nobody
// has taken the instance since, so nothing but owner and epoch can tell A that it comes too late.
func TestSweptOwnersCommitWritesNothingAndSaysSo(t *testing.T) {
	f := fleet(t, nil)
	l := sleeper(t, f)
	f.Eventually("the sweep frees the claim", func() error {
		if n := l.ledger.Count(held); n != 0 {
			return fmt.Errorf("got %d claims, want none", n)
		}
		return nil
	})
	l.wakesInVain()
	if answer, err := l.other.Insist(decide(1)); err != nil || !answer.Good() {
		t.Fatalf("the decision through b, afterwards: got %s, %v; want it taken", answer, err)
	}
	wantEnded(t, f, l.other, 1)
	wantShippedOnce(t, f, 1)
}

// As above, but A wakes when B has taken the instance over and finished it.
func TestLateOwnersCommitLeavesItsSuccessorsState(t *testing.T) {
	f := fleet(t, nil)
	l := sleeper(t, f)
	if answer, err := l.other.Insist(decide(1)); err != nil || !answer.Good() {
		t.Fatalf("b, after the claim timeout: got %s, %v; want it taken", answer, err)
	}
	wantEnded(t, f, l.other, 1)
	wantShippedOnce(t, f, 1)
	l.wakesInVain()
	wantShippedOnce(t, f, 1)
}

// late is a replica that sleeps between its claim and its commit.
type late struct {
	t      *testing.T
	proxy  *scenario.Proxy
	owner  *scenario.Replica
	other  *scenario.Replica
	answer func() scenario.Answer // of the message that the owner was about to apply
	ledger *scenario.Ledger
}

// sleeper parks an instance and puts its owner to sleep.
func sleeper(t *testing.T, f *scenario.Fleet) *late {
	t.Helper()
	l := &late{t: t, proxy: f.Proxy(), other: f.Start("b"), ledger: f.Ledger()}
	l.other.Deploy(orders)
	park(t, l.other, 1)
	l.owner = f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(l.proxy)}).AwaitReady()
	l.proxy.Hold(commits)
	m := decide(1)
	m.Event = "decision-late"
	l.answer = f.Ask(func() (scenario.Answer, error) { return l.owner.Send(m) })
	f.Eventually("a holds the claim", func() error {
		if n := l.ledger.Count(held); n != 1 {
			return fmt.Errorf("got %d claims, want 1", n)
		}
		return nil
	})
	l.owner.Pause()
	return l
}

// wakesInVain wakes the owner and requires that its commit writes nothing and that its sender is told.
func (l *late) wakesInVain() {
	l.t.Helper()
	before := dump(l.ledger)
	l.owner.Continue()
	l.proxy.Release()
	answer := l.answer()
	if answer.Status != http.StatusConflict || answer.Problem().Code != "SUTRA.RUNTIME.COMMIT.CLAIM_LOST" || !answer.Problem().Retryable {
		l.t.Errorf("the late owner answers %s, want 409 CLAIM_LOST, retryable", answer)
	}
	if after := dump(l.ledger); !slices.Equal(before, after) {
		l.t.Errorf("the late commit wrote something:\nbefore %s\nafter  %s", before, after)
	}
}

// dump is everything that a step could write.
func dump(l *scenario.Ledger) []string {
	var all []string
	for _, table := range []string{"sutra_instance", "sutra_wait", "sutra_alias", "sutra_history", "sutra_outbox", "sutra_inbox", "sutra_task"} {
		all = append(all, l.Rows(table)...)
	}
	return all
}
