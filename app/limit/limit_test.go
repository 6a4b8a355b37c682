package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// clock is the bubble's.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

// world is what the database has: other replicas' instances and this one's.
type world struct {
	living atomic.Int64
	counts atomic.Int64
	slow   time.Duration
	err    error
}

func (w *world) count(_ context.Context, _, _ string, most int) (int, error) {
	n := min(w.living.Load(), int64(most))
	time.Sleep(w.slow) // what is written meanwhile is not in the answer
	w.counts.Add(1)
	return int(n), w.err
}

func (w *world) gate(instances, rate Bound) *Gate {
	return New(Deps{Bounds: Bounds{instances, rate}, Living: w.count, Clock: clock{}, Watch: ports.Blind{}})
}

// start admits one and writes it.
func (w *world) start(t *testing.T, g *Gate) error {
	t.Helper()
	p, err := g.Admit(t.Context(), Start{Tenant: "acme"})
	if err == nil {
		w.living.Add(1)
		p.Settle(true, true)
	}
	return err
}

func TestARateLetsInWhatItSaysInASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		g := w.gate(Bound{}, Bound{All: 10})
		burst := func() (in int) {
			for range 30 {
				if err := w.start(t, g); err == nil {
					in++
				} else if !errors.Is(err, fault.TooManyStarts) {
					t.Fatal(err)
				}
			}
			return in
		}
		for _, tc := range []struct {
			after time.Duration
			want  int
		}{{0, 10}, {0, 0}, {500 * time.Millisecond, 5}, {time.Hour, 10}} {
			time.Sleep(tc.after)
			if got := burst(); got != tc.want {
				t.Errorf("%v later: %d were let in, want %d", tc.after, got, tc.want)
			}
		}
		if w.counts.Load() != 0 {
			t.Error("a rate alone counts nothing")
		}
	})
}

func TestWhatWasNoStartCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		g := w.gate(Bound{All: 1}, Bound{All: 1})
		for range 5 {
			p, err := g.Admit(t.Context(), Start{Tenant: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			p.Settle(false, false) // a duplicate
		}
		p, err := g.Admit(t.Context(), Start{Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		p.Settle(true, false) // it ended in its first step
		time.Sleep(time.Second)
		if err := w.start(t, g); err != nil {
			t.Error(err)
		}
	})
}

func TestARefusedStartDrawsNothingFromTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		w.living.Store(1)
		g := w.gate(Bound{All: 1}, Bound{All: 3})
		for range 10 {
			if err := w.start(t, g); !errors.Is(err, fault.TooManyInstances) {
				t.Fatalf("got %v, want %s", err, fault.TooManyInstances)
			}
		}
	})
}

// TestOneReplicaNeverExceedsTheBound: whatever is in flight while the instances are counted.
func TestOneReplicaNeverExceedsTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{slow: 3 * time.Millisecond}
		w.living.Store(40)
		g := w.gate(Bound{All: 100}, Bound{})
		var lanes sync.WaitGroup
		for n := range 40 {
			lanes.Go(func() {
				for range 200 {
					if p, err := g.Admit(t.Context(), Start{Tenant: "acme"}); err == nil {
						time.Sleep(time.Duration(n) * 300 * time.Microsecond) // the commit
						if now := w.living.Add(1); now > 100 {
							t.Errorf("%d live", now)
						}
						p.Settle(true, true)
					}
					if n%4 == 0 && w.living.Load() > 90 {
						w.living.Add(-1) // another step ends one
					}
					time.Sleep(7 * time.Millisecond)
				}
			})
		}
		lanes.Wait()
		if w.living.Load() < 90 {
			t.Errorf("%d live at the end: room was left", w.living.Load())
		}
	})
}

func TestCountsAreFewAndTheirAgeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		g := w.gate(Bound{All: 100}, Bound{})
		for range 50 { // half a second
			if err := w.start(t, g); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.counts.Load(); n != 1 {
			t.Errorf("far from the bound: %d counts in half a second, want 1", n)
		}
		w.living.Store(100) // others started the rest, unseen
		time.Sleep(usual)
		if err := w.start(t, g); !errors.Is(err, fault.TooManyInstances) {
			t.Errorf("got %v, want %s", err, fault.TooManyInstances)
		}
		w.living.Store(99)
		time.Sleep(atOnce)
		if err := w.start(t, g); err != nil {
			t.Errorf("there is room, seen at once: %v", err)
		}
		before := w.counts.Load()
		for range 1000 { // a second of refusals
			if err := w.start(t, g); err == nil {
				t.Error("there is no room")
			}
			time.Sleep(time.Millisecond)
		}
		if n := w.counts.Load() - before; n > 10 {
			t.Errorf("at the bound: %d counts in a second, want 10 at most", n)
		}
	})
}

func TestACountThatTakesLongIsMadeSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{slow: time.Second}
		g := w.gate(Bound{All: 5}, Bound{})
		began := time.Now()
		for time.Since(began) < time.Minute {
			_ = w.start(t, g)
			time.Sleep(10 * time.Millisecond)
		}
		if n := w.counts.Load(); n > 4 {
			t.Errorf("%d counts of a second in a minute", n)
		}
	})
}

func TestATenantHasItsOwnBoundAndOthersTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		w.living.Store(5)
		g := w.gate(Bound{All: 5, Tenants: map[string]int{"big": 6, "free": 0}}, Bound{})
		for tenant, want := range map[string]error{"acme": fault.TooManyInstances, "big": nil, "free": nil} {
			if _, err := g.Admit(t.Context(), Start{Tenant: tenant}); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", tenant, err, want)
			}
		}
	})
}

func TestACountThatFailsLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{err: fault.StoreUnavailable}
		g := w.gate(Bound{All: 5}, Bound{})
		if err := w.start(t, g); !errors.Is(err, fault.StoreUnavailable) {
			t.Errorf("got %v", err)
		}
		w.err = nil
		if err := w.start(t, g); err != nil {
			t.Error(err)
		}
	})
}

// TestWhatStartsDuringACountIsNotForgotten: it may have come too late for the answer.
func TestWhatStartsDuringACountIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		g := w.gate(Bound{All: 3}, Bound{})
		if err := w.start(t, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(usual)
		w.slow = 10 * time.Millisecond
		var counting sync.WaitGroup
		counting.Go(func() {
			if err := w.start(t, g); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Millisecond)
		if err := w.start(t, g); err != nil || w.counts.Load() != 1 {
			t.Errorf("while another counts: %v after %d counts, want to be let in by the old one", err, w.counts.Load())
		}
		counting.Wait()
		if err := w.start(t, g); !errors.Is(err, fault.TooManyInstances) {
			t.Errorf("a fourth: got %v, want %s", err, fault.TooManyInstances)
		}
	})
}
