// Package lease decides how long a holder may trust its lease. It asks no database and reads no clock.
package lease

import "time"

// Margin is the part of a lease that is never trusted: it covers clocks that drift and answers that are slow.
func Margin(ttl time.Duration) time.Duration { return ttl / 6 }

// Valid says whether a ttl and a poll interval fit each other: a holder has to renew at least twice before the end.
func Valid(ttl, poll time.Duration) bool { return ttl > 0 && poll > 0 && poll < ttl/2 }

// Trust is the time during which a holder may act as the leader. The zero Trust is none.
type Trust struct {
	Term  int64
	until time.Time // with its monotonic reading
}

// Since is the trust that a lease gives, counted from before the attempt that won it. asked has to carry its monotonic reading.
func Since(asked time.Time, ttl time.Duration, term int64) Trust {
	return Trust{Term: term, until: asked.Add(ttl - Margin(ttl))}
}

// Until is when the trust ends at the latest.
func (t Trust) Until() time.Time { return t.until }

// Holds says whether the trust stands at now. It ends when the monotonic or the wall clock says so, whichever is first: a machine
// that slept may have stopped one of the two.
func (t Trust) Holds(now time.Time) bool {
	return !t.until.IsZero() && now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
}
