package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestMessagesAreRuledByWhatTheIntakeAnswers(t *testing.T) {
	soon, late := loop.Backoff{Base: time.Second, Max: time.Minute}, time.Minute
	c := consumer{Deps: Deps{Again: soon}}
	for name, tc := range map[string]struct {
		receipt ports.Receipt
		err     error
		want    ports.Disposal
		most    time.Duration // before it comes again
	}{
		"taken":                      {ports.Receipt{Durable: true}, nil, ports.Acknowledge, 0},
		"a duplicate":                {ports.Receipt{Durable: true, Duplicate: true}, nil, ports.Acknowledge, 0},
		"its instance is FAILED":     {ports.Receipt{Durable: true}, fault.StartFailed.With("…"), ports.Acknowledge, 0},
		"durable when the wait ends": {ports.Receipt{Durable: true}, errors.New("the context ended"), ports.Acknowledge, 0},
		"undecodable":                {ports.Receipt{}, fault.BodyUndecodable.With("…"), ports.Refuse, 0},
		"fits no wait":               {ports.Receipt{}, fault.NoMatch.With("…"), ports.Refuse, 0},
		"claim held":                 {ports.Receipt{}, fault.ClaimHeld.With("…"), ports.Requeue, 2 * time.Second},
		"term passed":                {ports.Receipt{}, fault.TermPassed.With("…"), ports.Requeue, 2 * time.Second},
		"database away":              {ports.Receipt{}, fault.StoreUnavailable.With("…"), ports.Requeue, 2 * time.Second},
		"perhaps committed":          {ports.Receipt{}, fault.StoreUncertain.With("…"), ports.Requeue, 2 * time.Second},
		"the door was just shut":     {ports.Receipt{}, fault.ChannelUnknown.With("…"), ports.Requeue, 2 * time.Second},
		"a FAILED instance's":        {ports.Receipt{}, fault.InstanceFailed.With("…"), ports.Requeue, late},
		"a bug":                      {ports.Receipt{}, errors.New("nobody knows"), ports.Requeue, late},
	} {
		if got := c.rule(tc.receipt, tc.err); got.Disposal != tc.want || got.After > tc.most || got.Disposal != ports.Requeue && got.After != 0 {
			t.Errorf("%s: got %+v, want %s within %v", name, got, tc.want, tc.most)
		}
	}
}

// heard is an intake that takes everything, and remembers where its caller stood.
type heard struct {
	ports.Intake
	watch ports.Watch
	trace ports.Trace
}

func (h *heard) Enter(context.Context, string) (ports.Entrance, error) {
	return ports.Entrance{Limit: 1}, nil
}

func (h *heard) Take(ctx context.Context, _ ports.Incoming) (ports.Receipt, error) {
	h.trace = h.watch.Trace(ctx)
	return ports.Receipt{Durable: true}, nil
}

type still struct{}

func (still) Now() time.Time { return time.Time{} }

func TestAMessageIsTakenInTheTraceItBrings(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	watch := telemetry.Over(telemetry.New(), sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	intake := &heard{watch: watch}
	c := consumer{Deps: Deps{Intake: intake, Watch: watch, Clock: still{}}, door: door{transport: "rabbitmq", channel: "orders"}}
	const from = ports.Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	c.take(t.Context(), ports.Incoming{Headers: from.Headers()}, ports.Term{})
	s := spans.GetSpans()[0]
	if intake.trace.ID() != from.ID() || s.Parent.SpanID().String() != "b7ad6b7169203331" || s.SpanKind.String() != "consumer" || s.Name != "process orders" {
		t.Errorf("got trace %s and span %+v", intake.trace, s)
	}
}

func TestPositionsRiseWithinATermAndWithTheTerms(t *testing.T) {
	c := consumer{}
	var last int64
	for _, term := range []int64{1, 1, 1, 2, 2, 3} {
		now := c.next(ports.Term{Number: term})
		if now <= last {
			t.Errorf("in term %d: got position %d after %d, want it to rise", term, now, last)
		}
		last = now
	}
	if first := (&consumer{}).next(ports.Term{Number: 2}); first <= (&consumer{position: 1 << 40}).next(ports.Term{Number: 1}) {
		t.Errorf("the first position of another holder is %d, want it above all of the term before", first)
	}
}
