package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func emission(host string, n int) ports.Stamped {
	return ports.Stamped{Emission: ports.Emission{Tenant: "a", Destination: "http://" + host + "/x", Seq: int64(n)}}
}

// started takes all places that are free, and says whose they are.
func started(p *places) (all []ports.Stamped, hosts map[string]int) {
	hosts = map[string]int{}
	for e, ok := p.next(); ok; e, ok = p.next() {
		all = append(all, e)
		hosts[e.Destination]++
	}
	return all, hosts
}

func TestDestinationsHaveTheirTurnAndTheirPlaces(t *testing.T) {
	p := newPlaces(8, 3, 100)
	for _, host := range []string{"flood", "calm", "other"} {
		for n := range map[string]int{"flood": 50, "calm": 2, "other": 4}[host] {
			if added, _ := p.add(emission(host, n), time.Time{}); !added {
				t.Fatalf("%s %d was put off", host, n)
			}
		}
	}
	first, hosts := started(p)
	if got, want := fmt.Sprint(hosts), "map[http://calm/x:2 http://flood/x:3 http://other/x:3]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.over(first[1], time.Second) // calm's first: its place is the pool's
	if more, _ := started(p); len(more) != 0 {
		t.Errorf("got %d more; want none: flood and other have all their places", len(more))
	}
	p.over(first[0], time.Millisecond) // flood's first
	if more, _ := started(p); len(more) != 1 || more[0].Destination != "http://flood/x" || more[0].Seq != 3 {
		t.Errorf("got %+v, want flood's fourth", more)
	}
}

// What a slow destination has no room for is put off until its turn can come, each a little later than the one before; a quick one has
// room for all that may wait.
func TestWhatIsPutOffComesWhenItsTurnDoes(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := newPlaces(64, 4, 40)
	for _, host := range []string{"slow", "quick"} {
		for n := range 5 {
			p.add(emission(host, n), now)
		}
	}
	all, _ := started(p)
	for _, e := range all {
		if e.Destination == "http://slow/x" {
			p.over(e, 2*time.Second)
		} else {
			p.over(e, time.Millisecond)
		}
	}
	var until []time.Duration
	for n := range 9 {
		if added, at := p.add(emission("slow", 10+n), now); !added {
			until = append(until, at.Sub(now))
		}
	}
	if got, want := fmt.Sprint(until), "[2.5s 3s 3.5s 4s 4.5s 5s]"; got != want {
		t.Errorf("put off until %s, want %s", got, want)
	}
	for n := range 39 {
		if added, _ := p.add(emission("quick", 10+n), now); !added {
			t.Fatalf("quick's %d was put off", n)
		}
	}
	if added, _ := p.add(emission("quick", 99), now); added {
		t.Error("more waits than may")
	}
}

func TestIdleDestinationsAreForgotten(t *testing.T) {
	p := newPlaces(8, 3, 100)
	for n := range 20 {
		p.add(emission(fmt.Sprint(n), n), time.Time{})
	}
	for e, ok := p.next(); ok; e, ok = p.next() {
		p.over(e, 0)
	}
	if len(p.hosts) != 0 || len(p.turn) != 0 || p.busy != 0 {
		t.Errorf("got %d destinations, %d in turn, %d busy; want none", len(p.hosts), len(p.turn), p.busy)
	}
}
