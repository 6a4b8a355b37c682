package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func timerTests() []test {
	return []test{
		{"DueTimerIsHandedOutOnceALease", dueTimer},
		{"DeferMovesTheAttemptAndKeepsTheDueDate", deferMovesTheAttempt},
		{"DroppedTimerIsNotDue", droppedTimer},
	}
}

func (f *fixture) timers(s ports.Store, limit int) []ports.Timer {
	f.Helper()
	got, err := s.Timers().Due(f.Context(), 30*time.Second, limit)
	f.must(err)
	return got
}

func dueTimer(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	due := f.clock.Now().Add(time.Hour)
	all := f.parked(20)
	f.want("before its time", len(f.timers(a, 100)), 0)
	f.clock.move(time.Hour)
	var mu sync.Mutex
	seen := map[ports.InstanceID]int{}
	var wg sync.WaitGroup
	for _, s := range []ports.Store{a, b, a, b} {
		wg.Go(func() {
			for range 6 {
				got, err := s.Timers().Due(f.Context(), 30*time.Second, 3)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, timer := range got {
					seen[timer.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f.want("timers", len(seen), 20)
	for id, n := range seen {
		f.want(fmt.Sprint("hands out of ", id), n, 1)
	}
	f.clock.move(31 * time.Second)
	got := f.timers(a, 100)
	f.want("after the lease", len(got), 20)
	for i, timer := range got {
		f.want("timer", timer, ports.Timer{Ref: all[i].Ref, Deployment: f.active, Wait: 2, Kind: ports.WaitTimer, Due: due})
	}
}

func deferMovesTheAttempt(t *testing.T, h Harness) {
	f := own(t, h)
	due := f.clock.Now().Add(time.Hour)
	n := f.parked(1)[0]
	f.clock.move(time.Hour)
	got := f.timers(f.store, 10)
	f.must(f.store.Timers().Defer(f.Context(), got, f.clock.Now().Add(time.Hour), "held"))
	refused := ports.Refusal{Code: "held", At: f.clock.Now()}
	f.clock.move(time.Hour - time.Microsecond)
	f.want("before the attempt", len(f.timers(f.store, 10)), 0)
	f.clock.move(time.Microsecond)
	got = f.timers(f.store, 10)
	f.want("due date", []any{len(got), got[0].Due}, []any{1, due})
	waits, err := f.store.Views().Waits(f.Context(), n.Ref)
	f.must(err)
	f.want("waits", []any{len(waits), waits[1].Due, waits[1].Attempt}, []any{2, due, f.clock.Now().Add(30 * time.Second)})
	f.want("refusals", []ports.Refusal{waits[0].Refused, waits[1].Refused}, []ports.Refusal{{}, refused})
}

func droppedTimer(t *testing.T, h Harness) {
	f := own(t, h)
	n := f.parked(1)[0]
	f.clock.move(time.Hour)
	due := f.timers(f.store, 10)
	st := f.step(f.own(f.store, "a/1", n.ID))
	st.Drop.Waits = []ports.WaitID{2}
	f.settled("fire", f.commit(f.store, st), ports.Done)
	f.must(f.store.Timers().Defer(f.Context(), due, f.clock.Now(), "held"))
	f.clock.move(time.Hour)
	f.want("due", len(f.timers(f.store, 10)), 0)
}
