package database

import (
	"context"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/adapters/system"
)

// The habits of a disciplined clock.
const (
	sampleEvery = 10 * time.Second
	slewRate    = 10          // running ahead, it gives back one part in ten
	jump        = time.Second // a difference worth a line in the log
)

// clock is the process's monotonic clock disciplined to the database's: it slews back, steps forward, never runs back.
type clock struct {
	local func() time.Time
	mu    sync.Mutex
	ref   time.Time     // local, when value was right
	value time.Time     // the database's time at ref, as far as known
	ahead time.Duration // how much it has to lose since ref
}

// Now is the database's time: UTC, cut to microseconds.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(c.local()).Truncate(time.Microsecond)
}

func (c *clock) at(local time.Time) time.Time {
	run := local.Sub(c.ref)
	return c.value.Add(run - min(c.ahead, run/slewRate))
}

// sample takes what the database said between two local instants, and answers how far off the clock was at least: the answer may have
// waited for a connection before it was asked for, or for the machine afterwards, so that nobody knows when in between it was true.
func (c *clock) sample(before, after, said time.Time) time.Duration {
	took := after.Sub(before)
	said = said.UTC()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ref.IsZero() {
		c.ref, c.value = after, said.Add(took/2)
		return 0
	}
	now := c.at(after)
	off := max(0, said.Sub(now)) + min(0, said.Add(took).Sub(now))
	c.ref, c.value, c.ahead = after, now, max(0, -off)
	if off > 0 {
		c.value = said
	}
	return off
}

// discipline gives the store its clock, and keeps it right until Close.
func (s *Store) discipline(ctx context.Context) error {
	if !s.book.dialect.Caps.DatabaseTime {
		s.clock = system.Clock{}
		return nil
	}
	c := &clock{local: system.Now}
	if _, err := s.sample(ctx, c); err != nil {
		return err
	}
	s.clock = c
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for nap(ctx, sampleEvery) == nil {
			switch off, err := s.sample(ctx, c); {
			case err != nil && ctx.Err() == nil:
				s.log.WarnContext(ctx, "the database's time cannot be read; the clock runs on by itself", "error", err)
			case off.Abs() > jump:
				s.log.WarnContext(ctx, "the database's clock jumped", "by", off)
			}
		}
	}()
	s.closers = append(s.closers, func() error {
		cancel()
		<-done
		return nil
	})
	return nil
}

func (s *Store) sample(ctx context.Context, c *clock) (time.Duration, error) {
	var said time.Time
	before := c.local()
	err := s.read(ctx, fleet, op{name: "store_now", scan: func(r row) error { return r.Scan(&said) }})
	if err != nil {
		return 0, err
	}
	after := c.local()
	off := c.sample(before, after, said)
	s.book.watch.Observe("sutra_clock_correction_seconds", off.Abs())
	s.log.DebugContext(ctx, "compared the clock with the database's", "off", off, "known_to", after.Sub(before)/2)
	return off, nil
}
