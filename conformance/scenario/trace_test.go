package scenario_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

// caller is the trace of whoever starts the order, and the span that calls.
const caller, call = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

// traced are the settings of replicas that send every span at once.
func traced(c *scenario.Collector) scenario.Settings {
	return scenario.Settings{"sutra.tracing.endpoint": c.URL, "sutra.tracing.ratio": "1", "otel.bsp.schedule.delay": "50"}
}

// TestATraceFollowsAnInstanceThroughTheFleet: an order starts at one replica within its caller's trace, and is decided at another by
// somebody without one. From the receiver of its emission the spans lead back to the first call: by parents within a trace, and by the
// link of a step to the instance's step before it where the trace is another.
func TestATraceFollowsAnInstanceThroughTheFleet(t *testing.T) {
	c := scenario.Collect(t)
	f, crew := parts(t, traced(c), "a", "b")
	a, b := crew[0], crew[1]
	a.Deploy(orders)
	order := start(1)
	order.Trace = "00-" + caller + "-" + call + "-01"
	id := a.MustSend(order).Instance()
	b.MustSend(decide(1))
	wantEnded(t, f, a, 1)
	wantShippedOnce(t, f, 1)

	var way []scenario.Span
	f.Eventually("the spans of the way have arrived", func() (err error) {
		way, err = wayBack(f, c)
		return err
	})
	names := make([]string, len(way))
	for i, s := range way {
		names[i] = s.Name
	}
	if want := []string{"POST", "step", "POST channel decision", "start", "POST channel order"}; !slices.Equal(names, want) {
		t.Fatalf("got the way %q, want %q", names, want)
	}
	send, step, decided, started, ordered := way[0], way[1], way[2], way[3], way[4]
	if ordered.Trace != caller || ordered.Parent != call || started.Trace != caller {
		t.Errorf("the start is not in its caller's trace: %+v", ordered)
	}
	if decided.Trace == caller || decided.Parent != "" || send.Trace != decided.Trace {
		t.Errorf("the decision did not begin a trace of its own, which the emission is in: %+v", decided)
	}
	if (started.Replica == step.Replica) != (*dialect == "sqlite") {
		t.Errorf("got replicas %q and %q", started.Replica, step.Replica)
	}
	for _, s := range []scenario.Span{started, step} {
		if s.Attributes["sutra.instance.id"] != id || s.Attributes["sutra.tenant"] == "" || s.Attributes["sutra.process"] != "order" || s.Attributes["sutra.deployment.id"] == "" {
			t.Errorf("got %v of %s", s.Attributes, s.Name)
		}
	}
	for name, kind := range map[string]string{send.Kind: "SPAN_KIND_CLIENT", ordered.Kind: "SPAN_KIND_SERVER"} {
		if name != kind {
			t.Errorf("got %s, want %s", name, kind)
		}
	}
}

// wayBack follows the emission that arrived to where the instance began, the commits aside.
func wayBack(f *scenario.Fleet, c *scenario.Collector) (way []scenario.Span, err error) {
	all := map[scenario.Link]scenario.Span{}
	for _, s := range c.Spans() {
		all[scenario.Link{Trace: s.Trace, ID: s.ID}] = s
	}
	at := scenario.Link{}
	for _, h := range f.Receiver.Headers() {
		if parts := strings.Split(h.Get("Traceparent"), "-"); len(parts) == 4 {
			at = scenario.Link{Trace: parts[1], ID: parts[2]}
		}
	}
	var last scenario.Span
	for {
		s, there := all[at]
		switch {
		case !there && len(way) > 0 && last.Trace == caller && at.ID == call:
			return way, nil
		case !there:
			return nil, fmt.Errorf("no span %v after %d", at, len(way))
		case len(way) > 10:
			return nil, errors.New("it goes in a circle")
		}
		way, last = append(way, s), s
		at = scenario.Link{Trace: s.Trace, ID: s.Parent}
		if s.Parent == "" {
			for _, before := range way {
				if len(before.Links) > 0 {
					at = before.Links[0]
				}
			}
		}
	}
}

// TestAWorkerGoesOnWithTheTraceOfItsTask: a fetched task carries the step that parked it. A worker that says so when it completes the
// task keeps the whole way in one trace, over both replicas and to the receiver of what comes of it.
func TestAWorkerGoesOnWithTheTraceOfItsTask(t *testing.T) {
	c := scenario.Collect(t)
	f, crew := parts(t, traced(c), "a", "b")
	a, b := crew[0], crew[1]
	a.Deploy(jobs)
	first := job(1)
	first.Trace = "00-" + caller + "-" + call + "-01"
	a.MustSend(first)
	w := worker{replica: b, name: "w"}
	task := fetchOne(t, f, w, time.Minute)
	var headers struct{ Traceparent string }
	if err := json.Unmarshal(task.Headers, &headers); err != nil || !strings.HasPrefix(headers.Traceparent, "00-"+caller+"-") {
		t.Fatalf("got headers %s, %v; want a traceparent of %s", task.Headers, err, caller)
	}
	w.trace = headers.Traceparent
	if answer, err := w.complete(task); err != nil || !answer.Good() {
		t.Fatalf("complete: got %s, %v", answer, err)
	}
	wantEnded(t, f, a, 1)
	wantShippedOnce(t, f, 1)
	for _, h := range f.Receiver.Headers() {
		if !strings.HasPrefix(h.Get("Traceparent"), "00-"+caller+"-") {
			t.Errorf("got traceparent %q, want one of %s", h.Get("Traceparent"), caller)
		}
	}
	parked := strings.Split(headers.Traceparent, "-")[2]
	f.Eventually("the fetch is linked to the step that parked the task", func() error {
		for _, s := range c.Spans() {
			if s.Name == "receive tasks" && slices.Contains(s.Links, scenario.Link{Trace: caller, ID: parked}) {
				return nil
			}
		}
		return errors.New("it is not")
	})
}

// TestACollectorThatIsAwayHoldsNothingUp: orders go through, what could not be sent is counted and said once, and the replica stops in
// time.
func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	settings := traced(&scenario.Collector{URL: "http://127.0.0.1:1"})
	settings["otel.exporter.otlp.timeout"] = "200"
	settings["otel.bsp.export.timeout"] = "200"
	f, crew := parts(t, settings, "a")
	a := crew[0]
	a.Deploy(orders)
	park(t, a, 20)
	each(20, func(i int) { a.MustSend(decide(i)) })
	wantEnded(t, f, a, 20)
	wantShippedOnce(t, f, 20)
	f.Eventually("spans are counted as lost", func() error {
		if n := a.Metric("sutra_trace_spans_total", `outcome="lost"`); n == 0 {
			return errors.New("none is")
		}
		return nil
	})
	begun := time.Now()
	if code := a.Stop(); code != 0 || time.Since(begun) > 15*time.Second {
		t.Errorf("stopped with %d after %v, want 0 within the grace", code, time.Since(begun))
	}
	if said := strings.Count(a.Log(), "spans cannot be sent"); said != 1 {
		t.Errorf("it was said %d times, want once", said)
	}
}

// TestTheLastSpansAreSentAtTheEnd: what a replica still has to send goes out before it is gone.
func TestTheLastSpansAreSentAtTheEnd(t *testing.T) {
	c := scenario.Collect(t)
	settings := traced(c)
	settings["otel.bsp.schedule.delay"] = "3600000"
	_, crew := parts(t, settings, "a")
	crew[0].Deploy(orders)
	park(t, crew[0], 1)
	if n := len(c.Spans()); n != 0 {
		t.Fatalf("%d spans were sent before: this test shows nothing", n)
	}
	if code := crew[0].Stop(); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	if !slices.ContainsFunc(c.Spans(), func(s scenario.Span) bool { return s.Name == "start" }) {
		t.Errorf("got %d spans, want that of the start among them", len(c.Spans()))
	}
}
