package step_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func (w *world) limited(l step.Limits) *world {
	for _, p := range w.programs {
		p.Limits = l
	}
	return w
}

func TestStepsAreBounded(t *testing.T) {
	endless := process(start("s"), exclusive("m"), pass("a"), path("s", "m", "a", "m"))
	newWorld(t, endless).start("").isFailed(fault.StepLimit)

	many := process(start("s"), worker("a", multi("", over("for i in 1..50 return i", "item"))), path("s", "a"))
	newWorld(t, many).limited(step.Limits{Tokens: 40}).start("").isFailed(fault.TokenLimit)
	newWorld(t, many).limited(step.Limits{Iterations: 49}).start("").isFailed(fault.IterationLimit)
	newWorld(t, many).limited(step.Limits{Tokens: 51, Iterations: 50}).start("")

	i := newWorld(t, process(start("s"), pass("a", multi("", over("for i in 1..900 return i", "item"))), path("s", "a"))).start("")
	if n := strings.Count(i.lastHistory(), `"what"`); n != 1000 || !strings.Contains(i.lastHistory(), `"more":`) {
		t.Errorf("history lists %d things of one step", n)
	}

	deep := pass("a")
	for n := range 10 {
		deep = sub("s"+string(rune('a'+n)), deep)
	}
	newWorld(t, process(deep)).limited(step.Limits{Scopes: 10}).start("").isFailed(fault.ScopeLimit)
	newWorld(t, process(deep)).limited(step.Limits{Scopes: 11}).start("").want("completed")
}

func TestTooLargeASnapshotFailsTheLastEvent(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("m", "a", message("m1")), pass("b"), path("s", "a"), path("m", "b"))).limited(step.Limits{SnapshotBytes: 2000})
	i := w.start("")
	big := `{"big": "` + strings.Repeat("x", 3000) + `"}`
	first, second := messageEvent(t, "m1", "", `{"n": 1}`), messageEvent(t, "m1", "", big)
	second.At = w.now.Add(time10(1))
	if got := i.drive(first, second); got[0] != step.Applied || got[1] != step.Failed {
		t.Fatalf("outcomes %v", got)
	}
	i.isFailed(fault.SnapshotLimit)
	if i.variable("n") != "1" || i.variable("big") != "" {
		t.Errorf("n=%s", i.variable("n"))
	}
	i.restore(step.ReplayEvent) // the event is kept, however large
	i.want("message m, task a")
	if len(w.pending) != 1 || len(w.pending[0].Payload) < 3000 {
		t.Error("the payload of the event is lost")
	}
}

func TestValuesThatCannotBeReadBackAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 149) + strings.Repeat("]", 149)
	w := newWorld(t, process(start("s"), worker("a", output("x.y.z.v.w", "deep")), path("s", "a")))
	i := w.start(`{"deep": ` + deep + `}`)
	i.want("task a")
	i.fails(fault.ValueNotStorable, i.completion("a", ""))
}

func TestOneStepProvesOneLock(t *testing.T) {
	w := newWorld(t, process(worker("a"), worker("b")))
	i := w.start("")
	a, b := i.completion("a", ""), i.completion("b", "")
	a.Task, b.Task = &ports.TaskLock{Epoch: 1}, &ports.TaskLock{Epoch: 2}
	if got := i.drive(a, b); got[0] != step.Applied || got[1] != step.NotTried {
		t.Fatalf("outcomes %v", got)
	}
	if i.last.Commit.Task.Epoch != 1 {
		t.Errorf("the step proves lock %+v", i.last.Commit.Task)
	}
	i.want("task b")
}

func TestTransientEndsWithTheStepAndSensitiveIsNeverShown(t *testing.T) {
	w := newWorld(t, process(`<extensionElements><q:variables><q:variable name="once" transient="true"/><q:variable name="secret" sensitive="true"/></q:variables></extensionElements>`,
		start("s", message("m1")), script("c", `once + "!"`, "seen"), worker("a"), exclusive("x"), end("e"), path("s", "c", "a", "x"), pathIf("x", "e", "secret")))
	asked := &ports.Consumed{InboxRef: ports.InboxRef{Tenant: "t1", Channel: "orders", Event: ports.NewKey("o")}}
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Payload: value(t, `{"once": "now", "secret": "hunter2"}`), Consumed: asked})
	if i.variable("seen") != `"now!"` || i.variable("once") != "" {
		t.Errorf("seen=%s once=%s", i.variable("seen"), i.variable("once"))
	}
	if strings.Contains(i.lastHistory(), "hunter2") || !strings.Contains(i.lastHistory(), "now!") {
		t.Errorf("history: %s", i.lastHistory())
	}
	i.fails(fault.ExpressionNotBoolean, i.completion("a", ""))
	if strings.Contains(i.fault.Detail, "hunter2") {
		t.Errorf("the fault shows it: %s", i.fault.Detail)
	}
	i.restore(step.DropEvent)
	i.complete("a", `{"secret": true}`)
	if got := string(w.replies[asked.Event].Body); strings.Contains(got, "secret") || !strings.Contains(got, "seen") {
		t.Errorf("the reply is %s", got)
	}
}

func TestReplayAnswersTheMessageThatFailed(t *testing.T) {
	w := newWorld(t, process(start("s"), catch("c", source("decisions")), exclusive("x"), end("e"), path("s", "c", "x"), pathIf("x", "e", "ok")))
	i := w.start("")
	ev := messageEvent(t, "decisions", "", `{}`)
	asked := ports.InboxRef{Tenant: "t1", Channel: "decisions", Event: ports.NewKey("d")}
	ev.Consumed = &ports.Consumed{InboxRef: asked}
	i.fails(fault.ExpressionNotBoolean, ev)
	if len(i.last.Commit.Consumed) != 1 {
		t.Error("the message that failed is not done")
	}
	i.restore(step.ReplayEvent)
	i.applied(step.Event{Kind: step.KindSetVariables, Payload: value(t, `{"ok": true}`)})
	w.deliver()
	i.want("completed")
	if w.replies[asked.Event].Status != 200 {
		t.Errorf("replies %+v", w.replies)
	}
}

func TestNobodyWaitsForAnAnswerOnAPersistentChannel(t *testing.T) {
	w := newWorld(t, process(start("s", source("persist")), worker("a"), path("s", "a")))
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Consumed: &ports.Consumed{InboxRef: ports.InboxRef{Tenant: "t1", Channel: "persist", Event: ports.NewKey("o")}}})
	if len(i.snapshot().Open) != 0 {
		t.Error("it is remembered as unanswered")
	}
}

func TestErrorVariablesOfCamunda(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundary("b", "a", `<errorEventDefinition errorRef="e1" camunda:errorCodeVariable="c" camunda:errorMessageVariable="m"/>`), worker("x"), path("s", "a"), path("b", "x")))
	i := w.start("")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("a").ID, Code: "E1", Message: "no"})
	if i.variable("c") != `"E1"` || i.variable("m") != `"no"` {
		t.Errorf("c=%s m=%s", i.variable("c"), i.variable("m"))
	}
}

func TestUnwaitedCompensationEndsWithItsScope(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), throw("undo", `<compensateEventDefinition waitForCompletion="false"/>`), worker("c"), path("is", "a", "undo", "c")),
		boundary("m", "sub", message("m1")), worker("b"), path("s", "sub"), path("m", "b")))
	i := w.start("")
	i.complete("a", "")
	i.want("message m, task c, task ua")
	i.message("m1", "", "")
	i.want("task b")
}

// A call and what interrupts it in the same step: the child is never sent for.
func TestCallInterruptedInItsOwnStep(t *testing.T) {
	w := newWorld(t, family(start("s"), sub("sub", start("is"), parallel("f"), callActivity("c", "child"), throw("up", escalation("x1")), path("is", "f", "c"), path("f", "up")),
		boundary("b", "sub", escalation("x1")), worker("a"), path("s", "sub"), path("b", "a")))
	i := w.start("")
	i.want("task a")
	if len(w.pending) != 0 {
		t.Errorf("pending %+v", w.pending)
	}
}

func TestTemplates(t *testing.T) {
	w := newWorld(t, process(start("s"), el("sendTask", "e", `<q:send destination="http://x/y" contentType="text/plain" template="mail.txt"/>`), script("n", "1", "n"), path("s", "e", "n")))
	mail, err := step.ParseTemplate("mail.txt", []byte("Dear {{ name }},\n{{ items }} {{nothing}}{{ amount * 2 }}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.programs["p"].Templates = map[string]*step.Template{"mail.txt": mail}
	w.start(`{"name": "Ann", "items": [1, {"a": null}], "amount": 1.5}`)
	if got := string(w.emitted[0].Body); got != "Dear Ann,\n[1,{\"a\":null}] 3\n" || w.emitted[0].ContentType != "text/plain" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"a {{ b", "{{ 1 + }}"} {
		if _, err := step.ParseTemplate("t", []byte("x\n"+bad)); err == nil || !strings.Contains(err.Error(), "t:2") {
			t.Errorf("%q gave %v", bad, err)
		}
	}
}

func TestIdempotentProcessStoresNoFailedStart(t *testing.T) {
	w := newWorld(t, process(`<extensionElements><q:process idempotent="true"/></extensionElements>`, start("s"), exclusive("x"), pass("a"), path("s", "x"), pathIf("x", "a", "no")))
	i := w.start("")
	if i.last.Start != nil || i.last.Failure == nil || i.last.Failure.Code != fault.ExpressionNotBoolean {
		t.Errorf("%+v", i.last)
	}
}

func TestPayloadsAndRepliesSurviveTheirBytes(t *testing.T) {
	in := step.Event{
		Kind: step.KindMessage, At: time10At(), Wait: 7, Name: ports.NewKey("n"), Match: ports.NewKey("m"), Payload: value(t, `{"a": [1, null]}`), Headers: []ports.Header{{Name: "h", Value: "v"}},
		Status: 201, Code: "E", Message: "x", Attempt: 2, Node: "n", Process: "p", From: step.Source{Instance: ports.ID{1}, Step: 2, Ordinal: 3}, Answered: true,
		Asked: ports.InboxRef{Tenant: "t", Channel: "c", Event: ports.NewKey("e")}, Parent: &step.Parent{Parent: ports.Parent{Instance: ports.ID{2}, Wait: 1, Root: ports.ID{3}}, Depth: 1, Catches: []string{"E"}, WantAll: true},
	}
	data, err := step.EncodeEvent(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := step.DecodeEvent(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := step.EncodeEvent(out)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("%v\n%+v\n%+v", err, in, out)
	}
	for _, bad := range [][]byte{nil, {0xff}, append(bytes.Clone(data), 0)} {
		if _, err := step.DecodeEvent(bad); err == nil {
			t.Errorf("%x was read", bad)
		}
	}
}
