package database

import (
	"testing"
	"time"
)

func TestClockStepsForwardSlewsBackAndNeverRunsBack(t *testing.T) {
	local := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	said := time.Date(2026, 5, 5, 5, 0, 0, 0, time.UTC) // the database's, somewhere else altogether
	c := &clock{local: func() time.Time { return local }}
	pass := func(d time.Duration) { local, said = local.Add(d), said.Add(d) }
	off := func() time.Duration { return c.Now().Sub(said) }

	c.sample(local, local, said)
	pass(time.Minute)
	if off() != 0 {
		t.Fatalf("after a sample: off by %s", off())
	}
	said = said.Add(3 * time.Second)
	if got := c.sample(local, local, said); got != 3*time.Second || off() != 0 {
		t.Fatalf("the database jumped ahead: told %s, off by %s; want 3s and 0", got, off())
	}
	said = said.Add(-2 * time.Second)
	before := c.Now()
	if got := c.sample(local, local, said); got != -2*time.Second {
		t.Fatalf("the database jumped back: told %s, want -2s", got)
	}
	if c.Now().Before(before) {
		t.Fatalf("the clock ran back from %s to %s", before, c.Now())
	}
	pass(10 * time.Second)
	if off() != time.Second {
		t.Fatalf("half way: off by %s, want 1s", off())
	}
	pass(30 * time.Second)
	if off() != 0 {
		t.Fatalf("at the end: off by %s, want 0", off())
	}
	if got := c.sample(local.Add(-200*time.Millisecond), local, said.Add(-100*time.Millisecond)); got != 0 {
		t.Fatalf("a slow answer: told %s, want 0: half of the round trip is its age", got)
	}
	if got := c.sample(local.Add(-10*time.Second), local, said); got != 0 || off() != 0 {
		t.Fatalf("an answer that waited ten seconds for a connection: told %s, off by %s; want 0 and 0: it may be just made", got, off())
	}
}
