package ports

import (
	"context"
	"time"
)

// Watch is telemetry: counters, durations and spans. Logging is slog, injected beside it. A nil implementation is not allowed: use Blind.
type Watch interface {
	// Count adds n to a counter. Labels are name, value pairs.
	Count(name string, n int64, labels ...string)
	// Observe records a duration.
	Observe(name string, d time.Duration, labels ...string)
	// Span opens a span under the parent trace context; the returned function ends it.
	Span(ctx context.Context, name string, parent []byte) (context.Context, func(error))
}

// Blind is a Watch that records nothing.
type Blind struct{}

// Count does nothing.
func (Blind) Count(string, int64, ...string) {}

// Observe does nothing.
func (Blind) Observe(string, time.Duration, ...string) {}

// Span answers ctx as it is.
func (Blind) Span(ctx context.Context, _ string, _ []byte) (context.Context, func(error)) {
	return ctx, func(error) {}
}
