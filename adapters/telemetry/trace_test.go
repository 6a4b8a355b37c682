package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

const (
	sampled   = ports.Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	unsampled = ports.Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
)

func kept(t *testing.T) (*Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	return Over(New(), sdk.NewTracerProvider(sdk.WithSyncer(spans))), spans
}

func TestASpanGoesOnWhereItsParentIs(t *testing.T) {
	for _, tc := range []struct {
		parent   ports.Trace
		trace    string // of the span; empty: another
		state    string
		recorded int
	}{
		{sampled, sampled.ID(), "", 1},
		{sampled + " vendor=x", sampled.ID(), "vendor=x", 1},
		{sampled + ports.Trace(" vendor="+strings.Repeat("x", 250)+",other="+strings.Repeat("y", 250)+",third="+strings.Repeat("z", 20)), sampled.ID(), "", 1}, // longer than is kept
		{unsampled, unsampled.ID(), "", 0}, // its caller does not record it, nor do we, and whoever comes next hears so
		{"", "", "", 1},
		{"00-nonsense", "", "", 1},
	} {
		w, spans := kept(t)
		ctx, end := w.Span(t.Context(), ports.Span{Name: "s", Parent: tc.parent})
		end(ports.Ending{})
		got := w.Trace(ctx)
		if tc.trace != "" && got.ID() != tc.trace || tc.trace == "" && got.ID() == sampled.ID() || got.Sampled() != (tc.recorded > 0) {
			t.Errorf("under %q: got %q", tc.parent, got)
		}
		if _, state, _ := strings.Cut(string(got), " "); state != tc.state {
			t.Errorf("under %q: got state %q, want %q", tc.parent, state, tc.state)
		}
		if n := len(spans.GetSpans()); n != tc.recorded {
			t.Errorf("under %q: got %d spans, want %d", tc.parent, n, tc.recorded)
		}
	}
}

func TestAnErrorIsToldByItsCodeAlone(t *testing.T) {
	w, spans := kept(t)
	_, end := w.Span(t.Context(), ports.Span{Name: "s", Kind: ports.SpanServer})
	end(ports.Ending{
		Err: fault.ClaimHeld.With("of %s", "hush"), Links: []ports.Trace{sampled}, Attributes: []any{"n", 1, "none", ""},
	})
	s := spans.GetSpans()[0]
	if text := fmt.Sprintf("%+v %+v", s.Status, s.Attributes); strings.Contains(text, "hush") || !strings.Contains(text, string(fault.ClaimHeld)) {
		t.Errorf("got %s", text)
	}
	if len(s.Links) != 1 || s.Links[0].SpanContext.TraceID().String() != sampled.ID() || len(s.Attributes) != 2 || s.SpanKind.String() != "server" {
		t.Errorf("got %+v", s)
	}
}

// away is a collector that comes and goes.
type away struct{ err error }

func (a *away) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return a.err }
func (a *away) Shutdown(context.Context) error                        { return nil }

func TestACollectorThatIsAwayCostsTheSpansAndOneLine(t *testing.T) {
	var log bytes.Buffer
	collector, m := &away{errors.New("connection refused")}, New()
	w := Over(m, sdk.NewTracerProvider(sdk.WithSpanProcessor(tally{m}),
		sdk.WithSyncer(&outlet{SpanExporter: collector, metrics: m, log: slog.New(slog.NewTextHandler(&log, nil))})))
	for range 3 {
		_, end := w.Span(t.Context(), ports.Span{Name: "s"})
		end(ports.Ending{})
	}
	collector.err = nil
	_, end := w.Span(t.Context(), ports.Span{Name: "s"})
	end(ports.Ending{})
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("got %d lines, want one when it went and one when it came:\n%s", lines, log.String())
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			if f.GetName() == "sutra_trace_spans_total" {
				got[s.GetLabel()[0].GetValue()] = s.GetCounter().GetValue()
			}
		}
	}
	if got["ended"] != 4 || got["lost"] != 3 || got["sent"] != 1 {
		t.Errorf("got %v, want 4 ended, 3 lost, 1 sent", got)
	}
}

func TestALogLineNamesItsTrace(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(Logs(slog.NewJSONHandler(&out, nil))).With("a", 1)
	w, _ := kept(t)
	ctx, end := w.Span(t.Context(), ports.Span{Name: "s", Parent: sampled})
	defer end(ports.Ending{})
	log.InfoContext(ctx, "in a span")
	log.InfoContext(t.Context(), "in none")
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], `"trace_id":"`+sampled.ID()+`"`) || strings.Contains(lines[1], "trace_id") {
		t.Errorf("got %s", out.String())
	}
}
