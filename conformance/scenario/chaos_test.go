package scenario_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

var chaos = flag.Duration("chaos", time.Minute, "how long replicas are killed in the test of random kills")

// Four replicas, instances that each wait for a message and a timer and emit once, and a replica killed every other second. The ledger
// that must reconcile is outside the engine: what clients were told, and what the receiver got.
func TestRandomKillsLoseAndDoubleNothing(t *testing.T) {
	const number = 2000
	size := 4
	if *dialect == "sqlite" {
		size = 1
	}
	f, _ := parts(t, scenario.Settings{"sutra.datasource.max-connections": "16"})
	c := &crew{fleet: f}
	for range size {
		c.join()
	}
	c.any().Deploy(parcels)
	done := make(chan struct{})
	go func() {
		defer close(done)
		each(number, func(i int) {
			for _, m := range []scenario.Message{parcel(i), arrival(i)} {
				if err := c.insist(m); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(*chaos * 12 / number) // of 16 at once: the traffic lasts for most of the kills
		})
	}()
	kills := 0
	for end := time.Now().Add(*chaos); time.Now().Before(end); kills++ {
		c.replaceOne()
		time.Sleep(2 * time.Second)
	}
	<-done
	last := time.Now()
	wantEnded(t, f, c.any(), number)
	t.Logf("%d kills; every instance had ended %v after the last message was taken", kills, time.Since(last).Round(10*time.Millisecond))
	wantShipped(t, f, number, kills)
}

// crew is the replicas that live at a time.
type crew struct {
	fleet *scenario.Fleet

	mu       sync.Mutex
	replicas []*scenario.Replica
	joined   int
}

func (c *crew) any() *scenario.Replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicas[rand.IntN(len(c.replicas))]
}

// join starts one more replica.
func (c *crew) join() {
	r := c.fleet.Start(fmt.Sprintf("r%d", c.joined))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joined++
	c.replicas = append(c.replicas, r)
}

// replaceOne kills one at random; another joins.
func (c *crew) replaceOne() {
	c.mu.Lock()
	victim := c.replicas[rand.IntN(len(c.replicas))]
	c.mu.Unlock()
	victim.Kill()
	c.join()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicas = slices.DeleteFunc(c.replicas, func(r *scenario.Replica) bool { return r == victim })
}

// insist sends a message until some replica has taken it.
func (c *crew) insist(m scenario.Message) error {
	for deadline := time.Now().Add(time.Minute); ; {
		a, err := c.any().Send(m)
		switch {
		case err == nil && a.Good():
			return nil
		case err == nil && !a.Problem().Retryable:
			return fmt.Errorf("%s was refused for good: %s", m.Event, a)
		case time.Now().After(deadline):
			return fmt.Errorf("%s was never taken: %s, %w", m.Event, a, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
