package suite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func claimTests() []test {
	return []test{
		{"ClaimIsExclusive", claimIsExclusive},
		{"ClaimIsReentrantAndRaisesTheEpoch", claimIsReentrant},
		{"ClaimAnswersTheSnapshot", claimAnswersTheSnapshot},
		{"ClaimNeverWaits", claimNeverWaits},
		{"ClaimOfManyByManyHasOneWinnerEach", claimOfMany},
		{"SilentClaimIsTakenOver", silentClaimIsTakenOver},
		{"OldEpochCommitsNothing", oldEpochCommitsNothing},
		{"BeatKeepsTheEpoch", beatKeepsTheEpoch},
		{"ReleaseFreesItsOwnAlone", releaseFreesItsOwnAlone},
		{"SweepFreesWhatIsSilentAndTellsItsOwnerApart", sweepFreesWhatIsSilent},
		{"ForgetFreesOneReplica", forgetFreesOneReplica},
		{"AbandonedTransactionIsEnded", abandonedTransaction},
	}
}

func claimIsExclusive(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.parked(1)[0]
	f.want("a", f.claim(a, "a/1", n.ID).Outcome, ports.Done)
	got := f.claim(b, "b/1", n.ID)
	f.want("b", got.Outcome, ports.Held)
	f.want("b's ref", got.Ref, n.Ref)
	f.want("b's snapshot", len(got.Snapshot), 0)
	f.want("another lane of a", f.claim(a, "a/2", n.ID).Outcome, ports.Held)
	f.want("nobody's instance", f.claim(b, "b/1", f.ids.New()).Outcome, ports.Gone)
	f.want("the epoch", f.load(n.ID).Epoch, 1)
}

func claimIsReentrant(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.parked(1)[0]
	f.want("first", f.own(a, "a/1", n.ID).Epoch, 1)
	f.want("second", f.own(a, "a/1", n.ID).Epoch, 2)
	f.want("from another store", f.own(b, "a/1", n.ID).Epoch, 3)
	got, err := a.Claims().Claim(f.Context(), "a/1", []ports.Ref{n.Ref, n.Ref}, f.silent())
	f.must(err)
	f.want("twice in one group", []int64{got[0].Epoch, got[1].Epoch}, []int64{4, 4})
}

func claimAnswersTheSnapshot(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.parked(1)[0]
	got := f.claim(f.store, "a/1", n.ID)
	f.want("snapshot", got.Snapshot, n.Snapshot)
	f.want("deployment", got.Deployment, f.active)
	f.want("status", got.Status, ports.Suspended)
	f.want("claimed at", got.ClaimedAt, f.clock.Now())
}

func claimNeverWaits(t *testing.T, h Harness) {
	f := shared(t, h)
	if !h.Dialect.Caps.Writers {
		t.Skip("there is one writer: nobody else can hold a row")
	}
	a := f.open(Replica{})
	two := f.parked(2)
	_, release := f.db.Hold(t, fmt.Sprintf("UPDATE sutra_instance SET updated_at = updated_at WHERE process = 'order' AND id = %s", h.Words.Literal(two[0].ID[:])))
	defer release()
	start := time.Now()
	got, err := a.Claims().Claim(f.Context(), "a/1", []ports.Ref{two[0].Ref, two[1].Ref}, f.silent())
	f.must(err)
	f.want("the locked one", got[0].Outcome, ports.Held)
	f.want("the other", got[1].Outcome, ports.Done)
	if took := time.Since(start); took > 2*time.Second {
		t.Fatalf("the claim waited %s for a row that somebody has locked", took)
	}
}

func claimOfMany(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	refs := make([]ports.Ref, 0, 32)
	for _, n := range f.parked(32) {
		refs = append(refs, n.Ref)
	}
	var won [32]atomic.Int32
	var wg sync.WaitGroup
	for k, s := range []ports.Store{a, b, a, b} {
		wg.Go(func() {
			got, err := s.Claims().Claim(f.Context(), ports.Owner(fmt.Sprint("r/", k)), refs, f.silent())
			if err != nil {
				t.Error(err)
			}
			for i, c := range got {
				if c.Outcome == ports.Done {
					won[i].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := range won {
		f.want(fmt.Sprint("winners of ", i), won[i].Load(), 1)
	}
}

func silentClaimIsTakenOver(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.parked(1)[0]
	f.own(a, "a/1", n.ID)
	f.clock.move(5 * time.Minute)
	f.want("at the timeout", f.claim(b, "b/1", n.ID).Outcome, ports.Held)
	f.clock.move(time.Microsecond)
	f.want("past the timeout", f.own(b, "b/1", n.ID).Epoch, 2)
}

func oldEpochCommitsNothing(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	n := f.parked(1)[0]
	old := f.own(a, "a/1", n.ID)
	now := f.own(b, "a/1", n.ID) // the same owner: the newest attempt alone may commit
	f.settled("the older attempt", f.commit(a, f.step(old)), ports.ClaimLost)
	other := now
	other.Owner = "b/1"
	f.settled("another owner with the right epoch", f.commit(b, f.step(other)), ports.ClaimLost)
	f.want("emissions", f.rows("outbox", "1 = 1"), 1)
	f.settled("the newest attempt", f.commit(b, f.step(now)), ports.Done)
	f.settled("it again, with another step", f.commit(b, f.step(now)), ports.ClaimLost)
}

func beatKeepsTheEpoch(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	two := f.parked(2)
	first, second := f.own(a, "a/1", two[0].ID), f.own(a, "a/1", two[1].ID)
	f.clock.move(4 * time.Minute)
	out, err := a.Claims().Beat(f.Context(), []ports.Claim{first})
	f.must(err)
	f.settled("beat", out[0], ports.Done)
	f.clock.move(4 * time.Minute)
	f.want("the one that beat", f.claim(b, "b/1", two[0].ID).Outcome, ports.Held)
	f.want("the one that did not", f.claim(b, "b/1", two[1].ID).Outcome, ports.Done)
	out, err = a.Claims().Beat(f.Context(), []ports.Claim{first, second})
	f.must(err)
	f.settled("beat of what stands", out[0], ports.Done)
	f.settled("beat of what is lost", out[1], ports.ClaimLost)
	f.want("epoch", f.load(two[0].ID).Epoch, first.Epoch)

	bold := f.open(Replica{Bold: true})
	now := f.own(bold, "a/1", two[0].ID)
	other := now
	other.Owner = "a/2"
	for what, c := range map[string]ports.Claim{"an older attempt": first, "another owner": other} {
		out, err := bold.Claims().Beat(f.Context(), []ports.Claim{c})
		f.must(err)
		f.settled("beat of "+what, out[0], ports.ClaimLost)
	}
}

func releaseFreesItsOwnAlone(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.parked(1)[0]
	old := f.own(a, "a/1", n.ID)
	now := f.own(a, "a/1", n.ID)
	f.must(a.Claims().Release(f.Context(), []ports.Claim{old}))
	f.want("after the release of an older attempt", f.claim(b, "b/1", n.ID).Outcome, ports.Held)
	f.must(a.Claims().Release(f.Context(), []ports.Claim{now, now}))
	f.want("after the release", f.own(b, "b/1", n.ID).Epoch, 3)
	f.settled("a commit after it", f.commit(a, f.step(now)), ports.ClaimLost)
}

func sweepFreesWhatIsSilent(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	three := f.parked(3)
	silent := f.own(a, "a/1", three[0].ID)
	f.clock.move(6 * time.Minute)
	f.own(a, "a/1", three[1].ID)
	freed, err := b.Claims().Sweep(f.Context(), f.silent(), 10)
	f.must(err)
	f.want("freed", freed, []ports.Ref{three[0].Ref})
	f.settled("the swept owner's commit", f.commit(a, f.step(silent)), ports.ClaimLost)
	f.want("the next claim", f.own(b, "b/1", three[0].ID).Epoch, 2)
	f.want("the one that is not silent", f.claim(b, "b/1", three[1].ID).Outcome, ports.Held)
	freed, err = b.Claims().Sweep(f.Context(), f.silent(), 10)
	f.must(err)
	f.want("freed again", len(freed), 0)
}

func forgetFreesOneReplica(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	three := f.parked(4)
	f.own(a, "hone/1", three[3].ID)
	f.own(a, "gone/1", three[0].ID)
	f.own(a, "gone/operator/x", three[1].ID)
	f.own(a, "gone-not/1", three[2].ID)
	n, err := b.Claims().Forget(f.Context(), "gone")
	f.must(err)
	f.want("freed", n, 2)
	f.want("its own", f.claim(b, "b/1", three[0].ID).Outcome, ports.Done)
	f.want("its operator's", f.claim(b, "b/1", three[1].ID).Outcome, ports.Done)
	f.want("another's", f.claim(b, "b/1", three[2].ID).Outcome, ports.Held)
	f.want("a later one's", f.claim(b, "b/1", three[3].ID).Outcome, ports.Held)
}

// abandonedTransaction locks an instance's row as a stopped process would: only ending its session brings the instance back.
func abandonedTransaction(t *testing.T, h Harness) {
	f := own(t, h)
	ender, can := f.open(Replica{}).(interface {
		EndSessions(ctx context.Context, older time.Duration) (int, error)
	})
	if !can || !h.Dialect.Caps.Shared {
		t.Skip("no other process can hold a row")
	}
	n := f.parked(1)[0]
	f.db.Abandon(t, "UPDATE sutra_instance SET updated_at = updated_at WHERE id = "+h.Words.Literal(n.ID[:]))
	f.want("claim of the locked row", f.claim(f.store, "a/1", n.ID).Outcome, ports.Held)
	ended, err := ender.EndSessions(f.Context(), time.Minute)
	f.must(err)
	f.want("ended too young", ended, 0)
	time.Sleep(1100 * time.Millisecond) // the servers count in their own time
	ended, err = ender.EndSessions(f.Context(), time.Second)
	f.must(err)
	f.want("ended", ended, 1)
	for range 50 {
		if f.claim(f.store, "a/1", n.ID).Outcome == ports.Done {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the row is still locked")
}
