package scenario_test

import (
	"sync"
	"testing"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

func TestStartedThroughOneResumedThroughTheOther(t *testing.T) {
	f := fleet(t, nil)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(orders)
	id := park(t, a, 1)[1]
	if got := b.Instance(id).Status; got != "suspended" {
		t.Errorf("after the start: got status %s, want suspended", got)
	}
	b.MustSend(decide(1))
	wantEnded(t, f, a, 1)
	wantShippedOnce(t, f, 1)
}

func TestSameEventOnTwoReplicasStartsOnce(t *testing.T) {
	const events = 100
	f := fleet(t, nil)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(orders)
	each(events, func(i int) {
		var answers [2]scenario.Answer
		var errs [2]error
		var wg sync.WaitGroup
		for j, r := range []*scenario.Replica{a, b} {
			wg.Go(func() { answers[j], errs[j] = r.Insist(start(i)) })
		}
		wg.Wait()
		for j := range answers {
			if errs[j] != nil || !answers[j].Good() || answers[j].Instance() == "" || answers[j].Instance() != answers[0].Instance() {
				t.Errorf("event %d: got %s and %s (%v, %v), want one instance", i, answers[0], answers[1], errs[0], errs[1])
			}
		}
		if answers[0].Duplicate() == answers[1].Duplicate() {
			t.Errorf("event %d: got duplicate %v and %v, want one of them", i, answers[0].Duplicate(), answers[1].Duplicate())
		}
	})
	if got := len(a.Instances("")); got != events {
		t.Errorf("got %d instances, want %d", got, events)
	}
}
