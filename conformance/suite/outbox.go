package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func outboxTests() []test {
	return []test{
		{"EmissionIsTakenByOneWorker", emissionIsTakenByOneWorker},
		{"TakeSkipsWhatOthersHold", takeSkips},
		{"EmissionKeepsItsBytes", emissionKeepsItsBytes},
		{"StaleStampIsTakenOverAndItsOwnerSettlesNothing", staleStamp},
		{"LaterCountsAndPostponedDoesNot", laterCounts},
		{"PoisonedStaysAndIsRedriven", poisonedStays},
		{"SettlingWritesItsDelivery", settlingWritesItsDelivery},
		{"FreeTakesTheStampOff", freeTakesTheStampOff},
	}
}

func emissionIsTakenByOneWorker(t *testing.T, h Harness) {
	f := own(t, h)
	f.parked(40)
	stores := []ports.Store{f.open(Replica{}), f.open(Replica{}), f.open(Replica{}), f.open(Replica{})}
	var mu sync.Mutex
	seen := map[ports.EmissionID]int{}
	var wg sync.WaitGroup
	for k, s := range stores {
		wg.Go(func() {
			for range 6 {
				got, err := s.Outbox().Take(f.Context(), fmt.Sprint("w", k), f.clock.Now().Add(-time.Minute), 5)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, e := range got {
					seen[e.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f.want("emissions taken", len(seen), 40)
	for id, n := range seen {
		f.want("takes of "+id.String(), n, 1)
	}
}

func takeSkips(t *testing.T, h Harness) {
	f := own(t, h)
	if !h.Dialect.Caps.Writers {
		t.Skip("there is one writer: nobody else can hold a row")
	}
	f.parked(2)
	first := f.take(f.store, "w", 1)
	f.settleAll(f.store, first, ports.Postponed)
	f.clock.move(2 * time.Minute)
	_, release := f.db.Hold(t, "UPDATE sutra_outbox SET attempts = attempts WHERE id = "+h.Words.Literal(first[0].ID[:]))
	defer release()
	start := time.Now()
	f.want("taken beside a locked row", len(f.take(f.store, "w", 10)), 1)
	if took := time.Since(start); took > 2*time.Second {
		t.Fatalf("the take waited %s for a row that somebody has locked", took)
	}
}

func emissionKeepsItsBytes(t *testing.T, h Harness) {
	f := own(t, h)
	n := f.fresh()
	e := n.Outbox[0]
	e.Body, e.Trace, e.Wait, e.Attempt = []byte{0, 0xff, '\'', '"', 0x80}, "00-trace-span-01 state=1", 7, 2
	n.Outbox[0] = e
	f.start(n)
	got := f.take(f.store, "w", 10)
	f.want("taken", len(got), 1)
	f.want("emission", fmt.Sprintf("%+v", got[0].Emission), fmt.Sprintf("%+v", e))
	f.want("stamp", []any{got[0].By, got[0].At, got[0].Created, got[0].Attempts}, []any{"w", f.clock.Now(), f.clock.Now(), 0})
}

func staleStamp(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	f.parked(1)
	old := f.take(a, "a", 10)
	f.clock.move(time.Minute)
	f.want("at the timeout", len(f.take(b, "b", 10)), 0)
	f.clock.move(time.Microsecond)
	now := f.take(b, "b", 10)
	f.want("past the timeout", len(now), 1)
	for _, v := range []ports.Verdict{ports.Sent, ports.Later, ports.Postponed, ports.Poisoned} {
		f.settled("the stale stamp's "+string(v), f.settleAll(a, old, v)[0], ports.Gone)
	}
	f.settled("the new stamp", f.settleAll(b, now, ports.Sent)[0], ports.Done)
	f.want("emissions left", f.rows("outbox", "1 = 1"), 0)
}

func laterCounts(t *testing.T, h Harness) {
	f := own(t, h)
	f.parked(1)
	for i, v := range []ports.Verdict{ports.Later, ports.Postponed, ports.Later} {
		got := f.take(f.store, "w", 10)
		f.want("taken", len(got), 1)
		f.want("attempts", got[0].Attempts, []int{0, 1, 1}[i])
		f.settled(string(v), f.settleAll(f.store, got, v)[0], ports.Done)
		f.want("before its time", len(f.take(f.store, "w", 10)), 0)
		f.clock.move(time.Minute)
	}
}

func poisonedStays(t *testing.T, h Harness) {
	f := own(t, h)
	f.parked(1)
	got := f.take(f.store, "w", 10)
	f.settled("poison", f.settleAll(f.store, got, ports.Poisoned)[0], ports.Done)
	f.clock.move(time.Hour)
	f.want("taken", len(f.take(f.store, "w", 10)), 0)
	view, err := f.store.Views().Emissions(f.Context(), []string{f.tenant}, true, ports.EmissionID{}, 10)
	f.must(err)
	f.want("shown", []any{len(view), view[0].LastError, view[0].Poisoned, view[0].Attempts}, []any{1, "refused", true, 1})
	redrive := func(what string, want ports.Outcome) {
		t.Helper()
		out, err := f.store.Outbox().Redrive(f.Context(), f.tenant, got[0].ID, f.deed("redrive"))
		f.must(err)
		f.settled(what, out, want)
	}
	redrive("redrive", ports.Done)
	redrive("redrive again", ports.Gone)
	got = f.take(f.store, "w", 10)
	f.want("taken again", len(got), 1)
	f.settleAll(f.store, got, ports.Poisoned)
	f.db.Exec(t, fmt.Sprintf("UPDATE sutra_deployment SET phase = 'retired', dropped = 1 WHERE id = '%s'", f.active))
	redrive("redrive of a dropped revision's", ports.Stale)
	f.db.Exec(t, fmt.Sprintf("UPDATE sutra_deployment SET dropped = 0 WHERE id = '%s'", f.active))
	redrive("redrive of a retired revision's", ports.Done)
	f.want("draining again", f.rows("deployment", "phase = 'draining'"), 1)
}

func settlingWritesItsDelivery(t *testing.T, h Harness) {
	f := own(t, h)
	n := f.parked(1)[0]
	for i, want := range []int{1, 1} {
		got := f.take(f.store, "w", 10)
		reply := f.delivery(n.ID, "reply")
		reply.Kind = ports.KindCallReply
		verdict := []ports.Verdict{ports.Poisoned, ports.Sent}[i]
		out, err := f.store.Outbox().Settle(f.Context(), []ports.Settled{
			{Tenant: f.tenant, ID: got[0].ID, By: got[0].By, At: got[0].At, Verdict: verdict, Error: "x", Delivery: &reply},
		})
		f.must(err)
		f.settled("settle", out[0], ports.Done)
		f.want("deliveries", f.rows("inbox", "channel = '~' AND state = 'pending'"), want)
		if _, err := f.store.Outbox().Redrive(f.Context(), f.tenant, got[0].ID, f.deed("redrive")); err != nil {
			t.Fatal(err)
		}
	}
}

func freeTakesTheStampOff(t *testing.T, h Harness) {
	f := own(t, h)
	f.parked(2)
	f.want("a takes", len(f.take(f.store, "a", 1)), 1)
	f.want("ab takes", len(f.take(f.store, "ab", 1)), 1)
	n, err := f.store.Outbox().Free(f.Context(), "a")
	f.must(err)
	f.want("freed", n, 1)
	got := f.take(f.store, "b", 10)
	f.want("taken", []any{len(got), got[0].Attempts}, []any{1, 0})
}
