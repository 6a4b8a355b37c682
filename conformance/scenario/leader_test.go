package scenario_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

const timerRole = "timer-leader"

var parcels = filepath.Join("testdata", "parcels")

func TestTimersFireThroughTheOtherWhenTheLeaderIsKilled(t *testing.T) {
	const number = 20
	f, crew := parts(t, nil, "a", "b")
	a, b := crew[0], crew[1]
	a.Deploy(parcels)
	for i := number + 1; i <= 2*number; i++ { // these are armed when the leader dies
		a.MustSend(parcel(i))
		b.MustSend(arrival(i))
	}
	first, term := a, int64(0)
	if a != b {
		first, term = leader(t, f, a, b)
	}
	other := b
	if first == b {
		other = a
	}
	first.Kill()
	killed := time.Now()
	other = heir(f, first, other)
	each(number, func(i int) {
		other.MustSend(parcel(i))
		other.MustSend(arrival(i))
	})
	wantEnded(t, f, other, 2*number)
	t.Logf("all timers had fired %v after the leader was killed; ttl 3 s, poll 0.5 s, timers of 1 s", time.Since(killed).Round(10*time.Millisecond))
	if a != b {
		if _, now := leader(t, f, other); now <= term {
			t.Errorf("the term went from %d to %d, want it raised", term, now)
		}
	}
	wantShipped(t, f, 2*number, 1)
}

// The leader sleeps past its ttl and wakes while the other leads. Terms rise, timers fire once, and the sleeper leads no more.
func TestLeaderThatWakesLateLeadsNoMore(t *testing.T) {
	const number = 20
	f := fleet(t, nil)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(parcels)
	first, term := leader(t, f, a, b)
	other := b
	if first == b {
		other = a
	}
	first.Pause()
	each(number, func(i int) {
		other.MustSend(parcel(i))
		other.MustSend(arrival(i))
	})
	f.Eventually("the other leads", func() error {
		if holder, now := lease(t, other); now <= term {
			return fmt.Errorf("%s still leads in term %d", holder, now)
		}
		return nil
	})
	second, risen := leader(t, f, other)
	first.Continue()
	time.Sleep(2 * time.Second) // longer than the poll: the sleeper has looked at its lease
	if holder, now := leader(t, f, a, b); holder != second || now != risen {
		t.Errorf("after the sleeper woke: %s leads in term %d, want %s in %d", holder.Name, now, second.Name, risen)
	}
	wantEnded(t, f, other, number)
	wantShippedOnce(t, f, number)
}

// leader waits until one of the replicas leads the timers, and answers it with its term.
func leader(t *testing.T, f *scenario.Fleet, replicas ...*scenario.Replica) (*scenario.Replica, int64) {
	t.Helper()
	var found *scenario.Replica
	var term int64
	f.Eventually("somebody leads the timers", func() error {
		var holder string
		holder, term = lease(t, replicas[0])
		addresses := map[string]string{}
		for _, r := range list[wire.Replica](t, replicas[0], "/admin/replicas") {
			addresses[r.ID] = r.Address
		}
		for _, r := range replicas {
			if address := addresses[holder]; address != "" && r.URL == "http://"+address {
				found = r
				return nil
			}
		}
		return fmt.Errorf("%q leads, of %v", holder, addresses)
	})
	return found, term
}

func lease(t *testing.T, r *scenario.Replica) (holder string, term int64) {
	t.Helper()
	for _, l := range list[wire.Lease](t, r, "/admin/leases") {
		if l.Role == timerRole {
			return l.Holder, l.Term
		}
	}
	return "", 0
}

func list[T any](t *testing.T, r *scenario.Replica, path string) []T {
	t.Helper()
	a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: path, Key: scenario.AdminKey})
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s on %s: got %s, %v", path, r.Name, a, err)
	}
	var page wire.Page[T]
	if err := json.Unmarshal(a.Body, &page); err != nil {
		t.Fatalf("%s on %s: got %s: %v", path, r.Name, a, err)
	}
	return page.Items
}

func parcel(n int) scenario.Message {
	return scenario.Message{Channel: "parcel", Event: fmt.Sprintf("parcel-%d", n), Body: order{n}}
}

func arrival(n int) scenario.Message {
	return scenario.Message{Channel: "arrival", Event: fmt.Sprintf("arrival-%d", n), Body: order{n}}
}
