package step_test

import (
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
)

// approval is a usual process of ten nodes: a start, two gateways, a script, a parked task with a timer, a late mark, an emission, 500
// bytes of variables.
func approval() string {
	return process(start("s", source("orders"), alias("order", "payload.id")), script("sum", "payload.amount * 1.19", "total"), exclusive("big"), worker("decide"), boundary("late", "decide", after("PT1H")),
		script("mark", "true", "overdue"), exclusive("j"), el("sendTask", "tell", send("out")), pass("file"), end("e"),
		path("s", "sum", "big"), pathIf("big", "decide", "total > 1000"), pathIf("big", "j", "total <= 1000"), path("decide", "j", "tell", "file", "e"), path("late", "mark", "j"))
}

func begun(b *testing.B, w *world) (*instance, step.Begin) {
	b.Helper()
	ev := step.Event{
		Kind: step.KindStart, Node: "s", At: w.now, Payload: value(b, `{"id": "A-2026-000123", "amount": 1234.56, "text": "`+strings.Repeat("x", 440)+`"}`),
		Consumed: &ports.Consumed{InboxRef: ports.InboxRef{Tenant: "t1", Channel: "orders", Event: ports.NewKey("k")}},
	}
	i := w.startAt("p", ev)
	return i, step.Begin{Ref: i.ref, Step: w.stepID(), Event: ev}
}

func BenchmarkStart(b *testing.B) {
	w := newWorld(b, approval())
	i, begin := begun(b, w)
	b.ReportAllocs()
	for b.Loop() {
		if r := step.New(i.p, begin); r.Start.Status != ports.Suspended {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(len(i.data)), "bytes/snapshot")
}

func BenchmarkResume(b *testing.B) {
	w := newWorld(b, approval())
	i, _ := begun(b, w)
	claimed := step.Claimed{Claim: ports.Claim{Ref: i.ref}, Row: ports.Instance{Snapshot: i.data}, Step: w.stepID(), At: w.now}
	events := []step.Event{i.completion("decide", `{"ok": true}`)}
	b.ReportAllocs()
	for b.Loop() {
		if r := step.Resume(i.p, claimed, events); r.Commit.Status != ports.Completed {
			b.Fatal(r)
		}
	}
}

// A thousand iterations that complete in one fold.
func BenchmarkFoldThousand(b *testing.B) {
	w := newWorld(b, process(start("s"), worker("a", each("", "for i in 1..1000 return i")), path("s", "a")))
	i := w.start("")
	claimed := step.Claimed{Claim: ports.Claim{Ref: i.ref}, Row: ports.Instance{Snapshot: i.data}, Step: w.stepID(), At: w.now}
	var events []step.Event
	for _, x := range i.all("a") {
		events = append(events, step.Event{Kind: step.KindTaskDone, Wait: x.ID, At: w.now, Payload: value(b, `{"r": 1}`)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := step.Resume(i.p, claimed, events); r.Commit.Status != ports.Completed {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(len(i.data)), "bytes/snapshot")
}
