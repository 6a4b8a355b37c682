package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Logs adds to each line the trace and the span in which it was said, if there are any.
func Logs(to slog.Handler) slog.Handler { return lines{to} }

type lines struct{ slog.Handler }

// Handle writes one line.
func (l lines) Handle(ctx context.Context, r slog.Record) error {
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		r.AddAttrs(slog.String("trace_id", s.TraceID().String()), slog.String("span_id", s.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs keeps adding them.
func (l lines) WithAttrs(all []slog.Attr) slog.Handler { return lines{l.Handler.WithAttrs(all)} }

// WithGroup keeps adding them, in the group.
func (l lines) WithGroup(name string) slog.Handler { return lines{l.Handler.WithGroup(name)} }
