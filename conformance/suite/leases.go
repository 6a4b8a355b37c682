package suite

import (
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func leaseTests() []test {
	return []test{
		{"OneHoldsARole", oneHoldsARole},
		{"TakingOverRaisesTheTerm", takingOver},
		{"GivingBackEndsATermAtOnce", givingBack},
		{"SixteenContendersHaveOneLeader", sixteenContenders},
		{"StepOfAPassedTermIsStale", stepOfAPassedTerm},
		{"ClockThatIsOffGetsNoLease", clockThatIsOff},
	}
}

const ttl, margin = 30 * time.Second, 5 * time.Second

func (f *fixture) hold(s ports.Store, role, holder string, want ports.Outcome) ports.Term {
	f.Helper()
	term, out, err := s.Leases().Hold(f.Context(), role, holder, ttl, margin)
	f.must(err)
	f.want("hold by "+holder, out, want)
	return term
}

func oneHoldsARole(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	role := "role " + f.tenant
	first := f.hold(a, role, "a", ports.Done)
	f.want("term", first, ports.Term{Role: role, Holder: "a", Number: 1, Expires: f.clock.Now().Add(ttl)})
	f.want("who leads", f.hold(b, role, "b", ports.Held), first)
	f.clock.move(10 * time.Second)
	renewed := f.hold(a, role, "a", ports.Done)
	f.want("renewed", []any{renewed.Number, renewed.Expires}, []any{int64(1), f.clock.Now().Add(ttl)})
	all, err := b.Leases().List(f.Context())
	f.must(err)
	found := false
	for _, term := range all {
		found = found || term == renewed
	}
	f.want("listed", found, true)
}

func takingOver(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	role := "role " + f.tenant
	f.hold(a, role, "a", ports.Done)
	f.clock.move(ttl - time.Microsecond)
	f.hold(b, role, "b", ports.Held)
	f.clock.move(time.Microsecond)
	f.want("its own expired term", f.hold(a, role, "a", ports.Done).Number, 2)
	f.clock.move(ttl)
	f.want("another's expired term", f.hold(b, role, "b", ports.Done).Number, 3)
}

func givingBack(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	role := "role " + f.tenant
	old := f.hold(a, role, "a", ports.Done)
	f.must(a.Leases().GiveBack(f.Context(), []ports.Term{old}))
	f.want("the next term", f.hold(b, role, "b", ports.Done).Number, 2)
	f.must(a.Leases().GiveBack(f.Context(), []ports.Term{old}))
	f.hold(a, role, "a", ports.Held)
}

func sixteenContenders(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	role := "role " + f.tenant
	for round := range int64(3) {
		var mu sync.Mutex
		var won []ports.Term
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				term, out, err := []ports.Store{a, b}[i%2].Leases().Hold(f.Context(), role, random(4), ttl, margin)
				if err != nil {
					t.Error(err)
				}
				if out == ports.Done {
					mu.Lock()
					won = append(won, term)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		f.want("leaders", len(won), 1)
		f.want("term", won[0].Number, round+1)
		f.clock.move(ttl)
	}
}

func stepOfAPassedTerm(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	role := "role " + f.tenant
	old := f.hold(a, role, "a", ports.Done)
	n := f.parked(1)[0]
	st := f.step(f.own(a, "a/1", n.ID))
	f.clock.move(ttl)
	now := f.hold(a, role, "a", ports.Done)
	st.Lease = &old
	f.settled("under the old term", f.commit(a, st), ports.Stale)
	st.Lease = &now
	f.settled("under the term that stands", f.commit(a, st), ports.Done)
}

func clockThatIsOff(t *testing.T, h Harness) {
	f := shared(t, h)
	s := f.db.Open(t, Replica{})
	role := "role " + f.tenant
	if _, out, err := s.Leases().Hold(f.Context(), role, "a", ttl, time.Hour); err != nil || out != ports.Done {
		t.Fatal(out, err)
	}
	if !h.Dialect.Caps.DatabaseTime {
		return
	}
	term, out, err := s.Leases().Hold(f.Context(), role, "a", ttl, -1) // every clock is off by more than that
	f.must(err)
	f.want("hold", out, ports.Stale)
	f.want("term", term, ports.Term{})
}
