package telemetry

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Tracing says where spans go. What it leaves open, the environment that OpenTelemetry knows (OTEL_…) says.
type Tracing struct {
	Endpoint string   // of OTLP over HTTP; empty: of the environment
	Ratio    *float64 // of the traces that begin here, recorded; nil: of the environment, else all
	Version  string   // of this build
	Instance string   // of this process; another with each
	Log      *slog.Logger
}

// Tracer is a Watch that counts as its Metrics do, and sends spans besides.
type Tracer struct {
	*Metrics
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Trace makes a tracer whose spans go out in the background. A collector that is away costs nothing but the spans: they are dropped, and
// counted.
func Trace(ctx context.Context, m *Metrics, t Tracing) (*Tracer, error) {
	var to []otlptracehttp.Option
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fault.PropertyInvalid.With("sutra.tracing.endpoint is %q; give the http or https address of an OTLP collector, like http://127.0.0.1:4318", t.Endpoint)
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		to = append(to, otlptracehttp.WithEndpointURL(u.String()))
	}
	out, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, fault.PropertyInvalid.With("spans cannot be sent as sutra.tracing.endpoint and OTEL_EXPORTER_OTLP_… say: %w", err)
	}
	of, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "sutra"), attribute.String("service.version", t.Version),
			attribute.String("service.instance.id", t.Instance)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fault.PropertyInvalid.With("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	options := []sdk.TracerProviderOption{
		sdk.WithResource(of), sdk.WithSpanProcessor(tally{m}), sdk.WithBatcher(&outlet{SpanExporter: out, metrics: m, log: t.Log}),
	}
	if t.Ratio != nil {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(*t.Ratio))))
	}
	return Over(m, sdk.NewTracerProvider(options...)), nil
}

// Over makes a tracer over a provider that stands, which the tracer closes.
func Over(m *Metrics, p *sdk.TracerProvider) *Tracer {
	return &Tracer{m, p, p.Tracer("github.com/sutra-engine/sutra")}
}

// Close sends what is left, as long as ctx lasts.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

var kinds = map[ports.SpanKind]trace.SpanKind{
	ports.SpanServer: trace.SpanKindServer, ports.SpanClient: trace.SpanKindClient, ports.SpanProducer: trace.SpanKindProducer,
	ports.SpanConsumer: trace.SpanKindConsumer, ports.SpanInternal: trace.SpanKindInternal,
}

// Span opens a span. An error is told by its code: what else it says may come from a payload.
func (t *Tracer) Span(ctx context.Context, s ports.Span) (context.Context, func(ports.Ending)) {
	if s.Parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, carrier(s.Parent))
	}
	ctx, span := t.tracer.Start(ctx, s.Name, trace.WithSpanKind(kinds[s.Kind]))
	return ctx, func(e ports.Ending) {
		if span.IsRecording() {
			for _, link := range e.Links {
				nowhere := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
				span.AddLink(trace.LinkFromContext(propagation.TraceContext{}.Extract(nowhere, carrier(link))))
			}
			span.SetAttributes(attributes(e.Attributes)...)
			if e.Err != nil {
				code := string(fault.Of(e.Err).Code)
				span.SetAttributes(attribute.String("error.type", code))
				span.SetStatus(codes.Error, code)
			}
		}
		span.End()
	}
}

// longestState is how much of a tracestate is kept, as W3C Trace Context asks for at least. What is longer is left out.
const longestState = 512

// Trace is where ctx stands.
func (t *Tracer) Trace(ctx context.Context) ports.Trace {
	into := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, into)
	out := into["traceparent"]
	if state := into["tracestate"]; state != "" && len(state) <= longestState {
		out += " " + state
	}
	return ports.Trace(out)
}

func carrier(t ports.Trace) propagation.MapCarrier {
	out := propagation.MapCarrier{}
	for _, h := range t.Headers() {
		out[h.Name] = h.Value
	}
	return out
}

func attributes(pairs []any) []attribute.KeyValue {
	var out []attribute.KeyValue
	for pair := range slices.Chunk(pairs, 2) {
		name, _ := pair[0].(string)
		switch v := pair[1].(type) {
		case string:
			if v != "" {
				out = append(out, attribute.String(name, v))
			}
		case int:
			out = append(out, attribute.Int(name, v))
		case int64:
			out = append(out, attribute.Int64(name, v))
		}
	}
	return out
}

// tally counts the spans that are to be sent.
type tally struct{ metrics *Metrics }

func (tally) OnStart(context.Context, sdk.ReadWriteSpan) {}

func (c tally) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.metrics.Count("sutra_trace_spans_total", 1, "outcome", "ended")
	}
}

func (tally) Shutdown(context.Context) error   { return nil }
func (tally) ForceFlush(context.Context) error { return nil }

// outlet is an exporter whose failures are counted, and told once.
type outlet struct {
	sdk.SpanExporter
	metrics *Metrics
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans sends spans. It never fails: the SDK would tell every failure to the whole process's standard error.
func (o *outlet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := o.SpanExporter.ExportSpans(ctx, spans)
	outcome := "sent"
	if err != nil {
		outcome = "lost"
	}
	o.metrics.Count("sutra_trace_spans_total", int64(len(spans)), "outcome", outcome)
	switch failed := err != nil; {
	case o.failing.Swap(failed) == failed:
	case failed:
		o.log.WarnContext(ctx, "spans cannot be sent; they are dropped, and counted, until the collector takes them again", "error", err)
	default:
		o.log.InfoContext(ctx, "spans are sent again")
	}
	return nil
}
