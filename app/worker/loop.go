// Package worker drives what is durable and due: inbox rows, emissions, timers. Every replica runs the same workers; the database says
// who gets what. No worker ends on an error: it says so, waits a little and goes on until its context ends.
package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// bell wakes a loop early. Ringing never blocks, and rings that nobody heard yet are one.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait sleeps until the bell rings, the time is over, or ctx ends; it says whether ctx stands.
func (b bell) wait(ctx context.Context, atMost time.Duration) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-b:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// pause sleeps until the time is over or ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// jitter is a duration between half of d and one and a half of it.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// Backoff is exponential with full jitter.
type Backoff struct{ Base, Max time.Duration }

// After is the pause after so many attempts, at least a tenth of the base.
func (b Backoff) After(attempts int) time.Duration {
	ceiling := b.Max
	if attempts < 30 {
		ceiling = min(b.Max, b.Base<<attempts)
	}
	return b.Base/10 + rand.N(max(ceiling, 1))
}
