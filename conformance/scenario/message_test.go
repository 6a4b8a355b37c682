package scenario_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

var counter = filepath.Join("testdata", "counter")

func TestStartedThroughOneResumedThroughTheOther(t *testing.T) {
	f, crew := parts(t, nil, "a", "b")
	a, b := crew[0], crew[1]
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
	_, crew := parts(t, nil, "a", "b")
	a, b := crew[0], crew[1]
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

// Four clients each send four ticks, one after the other and each of them twice at once, half of them to each replica. Every tick is
// applied, once, and the ticks of one client in its order.
func TestConcurrentRelaysApplyOneAfterTheOther(t *testing.T) {
	const clients, ticks = 4, 4
	f, crew := parts(t, nil, "a", "b")
	a, b := crew[0], crew[1]
	a.Deploy(counter)
	a.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": clients * ticks}})
	f.Flood(clients, func(c int) {
		r := a
		if c%2 == 0 {
			r = b
		}
		for n := range ticks {
			number := 10*c + n
			m := scenario.Message{Channel: "tick", Event: fmt.Sprintf("tick-%d", number), Body: map[string]int{"counter": 1, "number": number}}
			f.Flood(2, func(int) {
				if answer, err := r.Insist(m); err != nil || !answer.Good() {
					t.Errorf("tick %d: got %s, %v; want it taken", number, answer, err)
				}
			})
		}
	})
	wantEnded(t, f, a, 1)
	var told struct {
		Seen []int `json:"seen"`
	}
	f.Eventually("the counter tells", func() error {
		for _, body := range f.Receiver.Bodies() {
			return json.Unmarshal([]byte(body), &told)
		}
		return errors.New("nothing arrived")
	})
	if len(told.Seen) != clients*ticks {
		t.Errorf("got %v, want %d ticks", told.Seen, clients*ticks)
	}
	last := map[int]int{}
	for _, number := range told.Seen {
		if c := number / 10; number <= last[c] {
			t.Errorf("got %v: of client %d, tick %d came after tick %d", told.Seen, c, number, last[c])
		}
		last[number/10] = number
	}
	t.Logf("applied in the order %v", told.Seen)
}
