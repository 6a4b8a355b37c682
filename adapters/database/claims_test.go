package database

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// TestSweepSparesAClaimThatBeatSinceItWasListed runs the sweep's write by itself, on a list that has grown old.
func TestSweepSparesAClaimThatBeatSinceItWasListed(t *testing.T) {
	s, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ref := ports.Ref{Tenant: "t", ID: ports.ID{1}}
	a := s.Instances().Start(t.Context(), []ports.NewInstance{{Ref: ref, Pinned: true, Status: ports.Suspended, Snapshot: []byte("s")}})[0]
	if a.Outcome != ports.Done {
		t.Fatal(a)
	}
	got, err := s.Claims().Claim(t.Context(), "a/1", []ports.Ref{ref}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c := ports.Claim{Ref: ref, Owner: "a/1", Epoch: got[0].Epoch}
	listed := got[0].ClaimedAt.Add(time.Microsecond) // when it was silent
	if _, err := s.Claims().Beat(t.Context(), []ports.Claim{c}); err != nil {
		t.Fatal(err)
	}
	free := op{name: "instance_free", args: args{"tenant": nil, "silent": listed}, rows: claimRows([]ports.Claim{c}, []int{0})}
	if err := s.write(t.Context(), fleet, free); err != nil {
		t.Fatal(err)
	}
	states, err := s.states(t.Context(), fleet, []any{ref.ID})
	if err != nil || !states[ref.ID].stands(c) {
		t.Errorf("got %+v, %v; want the claim to stand", states[ref.ID], err)
	}
}
