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
		{"MessageOfAPassedTermLeavesNoTrace", messageOfAPassedTerm},
		{"StartOfAPassedTermLeavesNoTrace", startOfAPassedTerm},
		{"OnePassedTermOfTwoIsEnough", onePassedTerm},
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
	st.Leases = []ports.Term{old}
	f.settled("under the old term", f.commit(a, st), ports.Stale)
	st.Leases = []ports.Term{now}
	f.settled("under the term that stands", f.commit(a, st), ports.Done)
}

// Two consumers of a singleton channel are connected for a moment: the message of the one whose term has passed counts for nothing.
func messageOfAPassedTerm(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	role := "role " + f.tenant
	old := f.hold(a, role, "a", ports.Done)
	f.clock.move(ttl)
	now := f.hold(a, role, "b", ports.Done)
	late, free, standing := f.message("late"), f.message("of no role"), f.message("standing")
	late.Leases, standing.Leases = []ports.Term{old}, []ports.Term{now}
	got := a.Inbox().Accept(f.Context(), []ports.Message{late, free, standing})
	f.settled("under the old term", got[0], ports.Stale)
	f.settled("its neighbour of no role", got[1], ports.Done)
	f.settled("its neighbour of the term that stands", got[2], ports.Done)
	left, err := a.Inbox().Replies(f.Context(), []ports.InboxRef{late.InboxRef})
	f.must(err)
	f.want("rows of the late message", len(left), 0)
	late.Leases = []ports.Term{now}
	f.settled("by the leader", a.Inbox().Accept(f.Context(), []ports.Message{late})[0], ports.Done)
	late.Leases = []ports.Term{old}
	f.settled("late, when it is there", a.Inbox().Accept(f.Context(), []ports.Message{late})[0], ports.Duplicate)
}

func startOfAPassedTerm(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	role := "role " + f.tenant
	old := f.hold(a, role, "a", ports.Done)
	f.clock.move(ttl)
	now := f.hold(a, role, "b", ports.Done)
	n := f.fresh()
	n.Leases = []ports.Term{old}
	f.settled("under the old term", a.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Stale)
	left, err := a.Instances().Load(f.Context(), []ports.Ref{n.Ref})
	f.must(err)
	f.want("instances", len(left), 0)
	n.Leases = []ports.Term{now}
	f.start(n)
}

func onePassedTerm(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	one, two := "role 1 "+f.tenant, "role 2 "+f.tenant
	old, other := f.hold(a, one, "a", ports.Done), f.hold(a, two, "a", ports.Done)
	f.must(a.Leases().GiveBack(f.Context(), []ports.Term{old}))
	f.hold(a, one, "b", ports.Done)
	n := f.parked(1)[0]
	st := f.step(f.own(a, "a/1", n.ID))
	for _, both := range [][]ports.Term{{old, other}, {other, old}} {
		st.Leases = both
		f.settled("under an old term and one that stands", f.commit(a, st), ports.Stale)
	}
	st.Leases = []ports.Term{other}
	f.settled("under the one that stands", f.commit(a, st), ports.Done)
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
