// Package loop is what the loops of a replica have in common: how they nap, are woken, and back off.
package loop

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bell wakes a loop early. Ringing never blocks, and rings that nobody heard yet are one.
type Bell chan struct{}

// NewBell makes a bell that nobody has rung.
func NewBell() Bell { return make(Bell, 1) }

// Ring wakes whoever waits, or the next who does.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Wait sleeps until the bell rings, the time is over, or ctx ends; it says whether ctx stands.
func (b Bell) Wait(ctx context.Context, atMost time.Duration) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-b:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// Pause sleeps until the time is over, or ctx ends, which it answers.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Jitter is a duration between half of d and one and a half of it.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

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
