package scenario_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

var crowd = filepath.Join("testdata", "crowd")

func nudge(n int) scenario.Message {
	return scenario.Message{Channel: "nudge", Event: fmt.Sprintf("nudge-%d", n), Body: order{n}}
}

// One instance is flooded with messages, and one tenant emits to a receiver that hangs. The orders of another tenant go through
// meanwhile: decided, and told of, about as fast as on a fleet that has nothing else to do.
func TestAHotInstanceAndASlowTenantStarveNobody(t *testing.T) {
	const nudges, shouts, number = 2000, 1200, 40
	slow := scenario.Receive(t)
	slow.Answer(0, time.Second)
	f, crew := parts(t, scenario.Settings{"scenario.slow": slow.URL}, "a", "b")
	a := crew[0]
	a.Deploy(orders)
	a.Deploy(crowd)
	a.MustSend(scenario.Message{Channel: "begin", Event: "begin", Body: order{nudges}})
	alone := passing(t, f, crew, 1, number)

	var floods sync.WaitGroup
	flood := func(channel string, n int) {
		floods.Go(func() {
			each(n, func(i int) {
				r := crew[i%len(crew)]
				m := scenario.Message{Channel: channel, Event: fmt.Sprintf("%s-%d", channel, i), Body: order{i}}
				if answer, err := r.Insist(m); err != nil || !answer.Good() {
					t.Errorf("%s %d: got %s, %v; want it taken", channel, i, answer, err)
				}
			})
		})
	}
	flood("shout", shouts)
	flood("nudge", nudges)
	f.Eventually("the crowd is there", func() error {
		if n := len(slow.Deliveries()); n < 10 {
			return fmt.Errorf("%d shouts have arrived", n)
		}
		return nil
	})
	amid := passing(t, f, crew, number+1, 2*number)
	told := len(slow.Deliveries())
	floods.Wait()
	t.Logf("from decision to emission, median and worst: %v and %v alone, %v and %v amid %d nudges and %d shouts, of which %d had been told of",
		alone[len(alone)/2], alone[len(alone)-1], amid[len(amid)/2], amid[len(amid)-1], nudges, shouts, told)
	if slowest := amid[len(amid)*9/10]; slowest > 5*time.Second {
		t.Errorf("one order of ten took %v and more amid the crowd, want them to pass", slowest)
	}
	if told == shouts {
		t.Error("the slow receiver had kept up: this proves nothing")
	}
	slow.Answer(0, 0)
	wantApplied(t, f, nudges)
}

// passing sends the orders from first to last, letters and all, and answers how long each took from its letter to its emission, sorted.
func passing(t *testing.T, f *scenario.Fleet, crew []*scenario.Replica, first, last int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for i := first; i <= last; i++ {
		crew[i%len(crew)].MustSend(start(i))
		before := len(f.Receiver.Deliveries())
		sent := time.Now()
		crew[(i+1)%len(crew)].MustSend(letter(i))
		f.Eventually("the emission arrives", func() error {
			if len(f.Receiver.Deliveries()) == before {
				return fmt.Errorf("order %d was not told of", i)
			}
			return nil
		})
		took = append(took, time.Since(sent).Round(time.Millisecond))
	}
	slices.Sort(took)
	return took
}

// wantApplied requires that the hot instance has counted every nudge, and told of it.
func wantApplied(t *testing.T, f *scenario.Fleet, nudges int) {
	t.Helper()
	f.Eventually("every nudge is applied", func() error {
		want := fmt.Sprintf(`{"nudges":%d}`, nudges)
		for _, body := range f.Receiver.Bodies() {
			if body == want {
				return nil
			}
		}
		return fmt.Errorf("%s has not arrived", want)
	})
}
