package ports

import (
	"context"
	"strings"
	"time"
)

// Watch is telemetry: counters, durations and spans. Logging is slog, injected beside it. A nil implementation is not allowed: use Blind.
type Watch interface {
	// Count adds n to a counter. Labels are name, value pairs.
	Count(name string, n int64, labels ...string)
	// Observe records a duration.
	Observe(name string, d time.Duration, labels ...string)
	// Span opens a span under s.Parent, else under the span that ctx stands in, else at the root of a trace. What happens in it, and is
	// logged, takes the context that comes back. The function ends it, once.
	Span(ctx context.Context, s Span) (context.Context, func(Ending))
	// Trace is where ctx stands, to be kept or sent where ctx does not go. Empty: nobody traces.
	Trace(ctx context.Context) Trace
}

// Span is a piece of work that takes time. Neither it nor its ending holds a payload, a variable or a secret.
type Span struct {
	Name   string // one of few: it says the kind of work, never the very piece
	Kind   SpanKind
	Parent Trace
}

// SpanKind is how a span stands to what is outside the process.
type SpanKind string

// The kinds of spans, as OpenTelemetry has them.
const (
	SpanInternal SpanKind = ""
	SpanServer   SpanKind = "server"
	SpanClient   SpanKind = "client"
	SpanProducer SpanKind = "producer"
	SpanConsumer SpanKind = "consumer"
)

// Ending is what a span has come to.
type Ending struct {
	Err        error
	Links      []Trace // spans of other traces, or of other places in this one, that had a part in it
	Attributes []any   // name, value pairs; values are texts and whole numbers, and an empty text is none
}

// Trace is a place in a trace as it is kept and sent: a W3C traceparent and, after a blank, the tracestate, if there is one.
type Trace string

// The headers of W3C Trace Context, in the one spelling that carriers with case know them by.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// TraceOf is the trace that headers carry. Nothing is checked: what is no trace is none to whoever reads it.
func TraceOf(headers []Header) Trace {
	var parent, state string
	for _, h := range headers {
		switch {
		case strings.EqualFold(h.Name, traceParent):
			parent = h.Value
		case strings.EqualFold(h.Name, traceState):
			state = h.Value
		}
	}
	return Trace(strings.TrimSpace(parent + " " + state))
}

// Headers are the headers that carry t; none when it is empty.
func (t Trace) Headers() []Header {
	parent, state, _ := strings.Cut(string(t), " ")
	switch {
	case parent == "":
		return nil
	case state == "":
		return []Header{{traceParent, parent}}
	}
	return []Header{{traceParent, parent}, {traceState, state}}
}

// ID is the trace itself, as log lines name it; empty: there is none.
func (t Trace) ID() string {
	if parts := strings.SplitN(string(t), "-", 3); len(parts) == 3 {
		return parts[1]
	}
	return ""
}

// Sampled says that somebody records the trace.
func (t Trace) Sampled() bool {
	parts := strings.SplitN(string(t), "-", 4)
	return len(parts) == 4 && len(parts[3]) >= 2 && strings.ContainsRune("13579bdf", rune(parts[3][1]))
}

// Blind is a Watch that records nothing.
type Blind struct{}

// Count does nothing.
func (Blind) Count(string, int64, ...string) {}

// Observe does nothing.
func (Blind) Observe(string, time.Duration, ...string) {}

// Span answers ctx as it is.
func (Blind) Span(ctx context.Context, _ Span) (context.Context, func(Ending)) {
	return ctx, func(Ending) {}
}

// Trace is empty.
func (Blind) Trace(context.Context) Trace { return "" }

// Pool is how one pool of connections stands.
type Pool struct {
	Name             string
	Max, Open, InUse int
	Waits            int64         // times that somebody had to wait for a connection
	Waited           time.Duration // all of them together
}
