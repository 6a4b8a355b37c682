package lease_test

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/lease"
)

func TestTrustEndsAMarginBeforeTheLease(t *testing.T) {
	asked := time.Now() // carries a monotonic reading, as the caller's does
	trust := lease.Since(asked, 30*time.Second, 7)
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {24 * time.Second, true}, {25 * time.Second, false}, {time.Hour, false}} {
		if got := trust.Holds(asked.Add(tc.after)); got != tc.want {
			t.Errorf("after %v: got %v, want %v", tc.after, got, tc.want)
		}
	}
}

func TestTrustEndsWhenTheWallClockJumps(t *testing.T) {
	asked := time.Now()
	trust := lease.Since(asked, 30*time.Second, 1)
	jumped := asked.Round(0).Add(time.Minute) // no monotonic reading: the wall clock alone has moved
	if trust.Holds(jumped) {
		t.Error("trusted past the wall clock")
	}
	if (lease.Trust{}).Holds(asked) {
		t.Error("the zero trust holds")
	}
}

func TestPollHasToFitTwiceIntoTheTTL(t *testing.T) {
	if lease.Valid(30*time.Second, 15*time.Second) || !lease.Valid(30*time.Second, 10*time.Second) || lease.Valid(0, 0) {
		t.Error("the rule is poll < ttl/2")
	}
}
