package replica_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/ports"
)

// traced runs a replica whose spans are kept.
func traced(t *testing.T, channels string, models ...string) (*engine, *telemetry.Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	watch := telemetry.Over(telemetry.New(), sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	return runOn(t, func(s ports.Store) ports.Store { return s }, watch, channels, models...), watch, spans
}

// ofName waits for so many spans of a name.
func ofName(t *testing.T, spans *tracetest.InMemoryExporter, name string, n int) tracetest.SpanStubs {
	t.Helper()
	var found tracetest.SpanStubs
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found = nil
		for _, s := range spans.GetSpans() {
			if s.Name == name {
				found = append(found, s)
			}
		}
		if len(found) == n {
			return found
		}
	}
	t.Fatalf("got %d spans %s, want %d", len(found), name, n)
	return nil
}

// TestOneTraceSpansWhatAMessageBringsAbout: the instance that it starts, the one that is called, the service that is asked, and the steps
// that take their answers. Nothing of what they say to each other is told.
func TestOneTraceSpansWhatAMessageBringsAbout(t *testing.T) {
	heard := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		heard <- req.Header.Get("Traceparent")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"price": "hush"}`)
	}))
	defer server.Close()
	e, watch, spans := traced(t, fmt.Sprintf(door, "begin")+"  - {name: pricing, transport: http, url: '"+server.URL+"/hush?of=hush'}\n",
		process("parent", start("parent", "begin"), `<callActivity id="parent-1" calledElement="child"/>`, end("parent", 2, "{got: price}")),
		process("child", `<startEvent id="child-0"/>`, `<serviceTask id="child-1" implementation="channel:pricing"/>`, `<endEvent id="child-2"/>`))
	in := e.incoming(`{"key": "hush"}`)
	in.Channel = "begin"
	ctx, over := watch.Span(t.Context(), ports.Span{Name: "door"})
	if _, err := e.Intake.Take(ctx, in); err != nil {
		t.Fatal(err)
	}
	over(ports.Ending{})
	e.ended(map[string]int{"child completed": 1, "parent completed": 1})

	whole := trace.SpanContextFromContext(ctx).TraceID()
	start := ofName(t, spans, "start", 2)
	step := ofName(t, spans, "step", 2)
	asked := ofName(t, spans, "POST", 1)[0]
	for _, s := range slices.Concat(start, step, tracetest.SpanStubs{asked}) {
		if s.SpanContext.TraceID() != whole {
			t.Errorf("%s is in trace %s, want %s", s.Name, s.SpanContext.TraceID(), whole)
		}
	}
	if got := strings.Split(<-heard, "-"); len(got) != 4 || got[1] != whole.String() || got[2] != asked.SpanContext.SpanID().String() {
		t.Errorf("the service heard of %s, want the span that asked it, %s", got, asked.SpanContext.SpanID())
	}
	if step[0].Parent.SpanID() != asked.SpanContext.SpanID() || len(step[0].Links) != 1 || step[0].Links[0].SpanContext.SpanID() != start[1].SpanContext.SpanID() {
		t.Errorf("the step that took the answer: got parent %s and links %v", step[0].Parent.SpanID(), step[0].Links)
	}
	for _, s := range spans.GetSpans() {
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "hush") {
				t.Errorf("%s tells %s=%s", s.Name, a.Key, a.Value.String())
			}
		}
	}
}

// TestATimerBeginsATraceOfItsOwn, linked to the step that armed it: a wait may be long, and traces are not.
func TestATimerBeginsATraceOfItsOwn(t *testing.T) {
	e, _, spans := traced(t, fmt.Sprintf(door, "begin"), process("p", start("p", "begin"),
		`<intermediateCatchEvent id="p-1"><timerEventDefinition><timeDuration>PT0.1S</timeDuration></timerEventDefinition></intermediateCatchEvent>`,
		`<endEvent id="p-2"/>`))
	e.send("begin", `{"key": 1}`)
	e.ended(map[string]int{"p completed": 1})
	armed, fired, step := ofName(t, spans, "start", 1)[0], ofName(t, spans, "timer", 1)[0], ofName(t, spans, "step", 1)[0]
	if fired.Parent.IsValid() || step.Parent.SpanID() != fired.SpanContext.SpanID() || fired.SpanContext.TraceID() == armed.SpanContext.TraceID() {
		t.Errorf("got timer %+v and step %+v", fired, step)
	}
	if len(step.Links) != 1 || !step.Links[0].SpanContext.Equal(armed.SpanContext.WithRemote(true)) {
		t.Errorf("got links %v, want the step that armed it, %v", step.Links, armed.SpanContext)
	}
}
