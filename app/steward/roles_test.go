package steward_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/app/steward"
	"github.com/sutra-engine/sutra/ports"
)

// candidate is a replica that asks for a role.
type candidate struct {
	*steward.Roles
	fit atomic.Bool
}

func candidates(t *testing.T, names ...string) []*candidate {
	t.Helper()
	store, err := database.Open(t.Context(), database.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		_ = store.Close()
	})
	var out []*candidate
	for _, name := range names {
		c := &candidate{}
		c.fit.Store(true)
		c.Roles = &steward.Roles{
			Leases: store.Leases(), Now: system.Now, Log: slog.New(slog.DiscardHandler), Watch: ports.Blind{}, Holder: name,
			TTL: 3 * time.Second, Poll: 100 * time.Millisecond, Fit: c.fit.Load,
		}
		c.Ask("role")
		running.Go(func() { c.Run(ctx) })
		out = append(out, c)
		out[0].leads(t, "at first")
	}
	return out
}

func (c *candidate) leads(t *testing.T, when string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, leads := c.Leads("role"); leads {
			return
		}
	}
	t.Fatalf("%s: %s does not lead", when, c.Holder)
}

// TestWhoCannotLoadARevisionLeavesItsRolesToOthers: its timers would fire nowhere while the other could fire them.
func TestWhoCannotLoadARevisionLeavesItsRolesToOthers(t *testing.T) {
	all := candidates(t, "a", "b")
	a, b := all[0], all[1]
	a.fit.Store(false)
	b.leads(t, "when a is not fit")
	time.Sleep(10 * a.Poll)
	if _, leads := a.Leads("role"); leads {
		t.Error("a leads beside b")
	}
	b.fit.Store(false)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, one := a.Leads("role")
		if _, other := b.Leads("role"); one || other {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody leads where nobody is fit")
		}
	}
}
