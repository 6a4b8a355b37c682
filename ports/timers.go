package ports

import (
	"context"
	"time"
)

// Timer is one due timer or retry wait.
type Timer struct {
	Ref
	Deployment DeploymentID
	Wait       WaitID
	Kind       WaitKind
	Due        time.Time
}

// Schedule is one armed timer start event.
type Schedule struct {
	Tenant     string
	Deployment DeploymentID
	Process    string
	Node       string
	Due        time.Time
	Anchor     time.Time // the first due date: later ones are counted from it, so that nothing drifts
	Left       int       // fires left; -1 without end
}

// Fired is a schedule's fire, part of a Start: refused with Stale unless the schedule is still due at Due.
type Fired struct {
	Deployment DeploymentID
	Process    string
	Node       string
	Due        time.Time // as read
	Next       time.Time // zero: it is done, the row goes
	Left       int
}

// Timers finds what is due. Firing is a claimed step that drops the wait; nothing is remembered outside the database.
type Timers interface {
	// Due hands out timer and retry waits whose attempt is due, oldest first, and moves their attempt by lease.
	Due(ctx context.Context, lease time.Duration, limit int) ([]Timer, error)
	// Defer moves the next attempt of waits that were refused and keeps why: a fault's code.
	Defer(ctx context.Context, timers []Timer, until time.Time, why string) error
	// Schedules reads due schedules of active revisions, oldest first.
	Schedules(ctx context.Context, limit int) ([]Schedule, error)
}
