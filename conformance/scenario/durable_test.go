package scenario_test

import (
	"testing"
	"time"
)

// What a person sees who follows the README, kills the engine, and starts it again.
func TestDevRemembersAcrossKill(t *testing.T) {
	if *dialect != "sqlite" {
		t.Skip("sutra dev runs on SQLite (-dialect=sqlite)")
	}
	const number = 20
	f := stage.Fleet(t, nil)
	first := f.Dev("first", orders)
	park(t, first, number)
	first.Kill()
	again := f.Dev("again", orders)
	if got := len(again.Instances("status=suspended")); got != number {
		t.Fatalf("after kill -9: got %d parked instances, want %d", got, number)
	}
	for i := 1; i <= number; i++ {
		again.MustSend(decide(i))
	}
	wantEnded(t, f, again, number)
	wantShippedOnce(t, f, number)
	if a := again.MustSend(start(1)); !a.Duplicate() {
		t.Errorf("the first order once more: got %s, want a duplicate", a)
	}
}

func TestServeRemembersAcrossKillInMidTraffic(t *testing.T) {
	const number = 100
	f := stage.Fleet(t, nil)
	first := f.Start("first")
	first.Deploy(orders)
	answered := make(chan map[int]bool)
	go func() {
		taken := map[int]bool{}
		for i := 1; i <= number; i++ {
			if a, err := first.Send(start(i)); err == nil && a.Good() {
				taken[i] = true
			}
		}
		answered <- taken
	}()
	time.Sleep(300 * time.Millisecond)
	first.Kill()
	taken := <-answered
	again := f.Start("again")
	t.Logf("%d of %d orders had been answered when the replica was killed", len(taken), number)
	for i := 1; i <= number; i++ {
		a, err := again.Insist(start(i))
		if err != nil || !a.Good() {
			t.Fatalf("order %d: got %s, %v; want it started", i, a, err)
		}
		if taken[i] && !a.Duplicate() {
			t.Errorf("order %d was answered before the kill and is unknown after it", i)
		}
		if _, err := again.Insist(decide(i)); err != nil {
			t.Error(err)
		}
	}
	wantEnded(t, f, again, number)
	wantShippedOnce(t, f, number)
}

func TestStoppedReplicaEndsInGoodOrder(t *testing.T) {
	f := stage.Fleet(t, nil)
	r := f.Start("a")
	r.Deploy(orders)
	park(t, r, 5)
	if code := r.Stop(); code != 0 {
		t.Errorf("SIGTERM: got exit code %d, want 0", code)
	}
	again := f.Start("again")
	if got := len(again.Instances("status=suspended")); got != 5 {
		t.Errorf("after SIGTERM: got %d parked instances, want 5", got)
	}
}
