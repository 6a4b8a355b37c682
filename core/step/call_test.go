package step_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func callActivity(id, called string, inside ...string) string {
	return elWith("callActivity", id, `calledElement="`+called+`"`, inside...)
}

func family(parent ...string) string {
	return definitions(process(parent...), processNamed("child", start("cs"), worker("work"), end("ce"), path("cs", "work", "ce")))
}

func TestCallStartsAChildAndTakesItsResult(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child", input("n", "x + 1"), output("got", "r")), worker("a"), path("s", "c", "a")))
	i := w.start(`{"x": 1}`)
	i.want("call c")
	w.deliver()
	child := w.nth(1)
	child.want("task work")
	if child.variable("n") != "2" || child.variable("x") != "" {
		t.Errorf("the child got n=%s x=%s", child.variable("n"), child.variable("x"))
	}
	if n := child.last.Start; n.Parent == nil || n.Parent.Instance != i.ref.ID || !n.Pinned || n.Consumed == nil {
		t.Errorf("the child's row: %+v", n)
	}
	child.complete("work", `{"r": "done", "more": 1}`)
	child.want("completed")
	if ev, err := step.EventOf(w.pending[0]); err != nil || feel.Text(ev.Payload) != `{r: "done"}` {
		t.Errorf("the child reports %s, and only r is wanted (%v)", feel.Text(ev.Payload), err)
	}
	w.deliver()
	i.want("task a")
	if i.variable("got") != `"done"` || i.variable("more") != "" {
		t.Errorf("got=%s more=%s", i.variable("got"), i.variable("more"))
	}
}

func TestCallThatPropagatesEverythingMapsToo(t *testing.T) {
	w := newWorld(t, family(start("s"), el("callActivity", "c", `<zeebe:calledElement processId="=which" propagateAllChildVariables="true"/>`, output("got", "r + 1")), path("s", "c")))
	i := w.start(`{"which": "child"}`)
	w.deliver()
	w.nth(1).complete("work", `{"r": 1, "more": 2}`)
	w.deliver()
	i.want("completed")
	if i.variable("got") != "2" || i.variable("more") != "2" {
		t.Errorf("got=%s more=%s", i.variable("got"), i.variable("more"))
	}
}

func TestInterruptedCallNeverStartsItsChild(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child"), boundary("b", "c", message("m1")), worker("a"), path("s", "c"), path("b", "a")))
	i := w.start("")
	began := w.pending[0]
	i.message("m1", "", "")
	i.want("task a")
	if len(i.last.Commit.Void) != 1 || i.last.Commit.Void[0] != began.InboxRef {
		t.Fatalf("void %+v, want the start's row %+v", i.last.Commit.Void, began.InboxRef)
	}
	w.deliver()
	if len(w.instances) != 1 {
		t.Error("the child started all the same")
	}
}

func TestChildDoneAfterInterruptIsDropped(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child"), boundary("b", "c", message("m1")), worker("a"), path("s", "c"), path("b", "a")))
	i := w.start("")
	w.deliver()
	child := w.nth(1)
	child.complete("work", "")
	done := w.pending
	i.message("m1", "", "")
	ev, err := step.EventOf(done[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := i.drive(ev); got[0] != step.Unmatched {
		t.Fatal(got)
	}
	i.want("task a")
}

func TestCancelReachesTheChild(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child"), path("s", "c")))
	i := w.start("")
	w.deliver()
	child := w.nth(1)
	refused := step.Resume(child.p, step.Claimed{Claim: ports.Claim{Ref: child.ref}, Row: ports.Instance{Snapshot: child.data}, At: w.now}, []step.Event{{Kind: step.KindCancel}})
	if !errors.Is(refused.Err, fault.CancelHasParent) || refused.Commit != nil {
		t.Errorf("cancelling a child gave %+v", refused)
	}
	i.applied(step.Event{Kind: step.KindCancel})
	i.want("cancelled")
	w.deliver()
	w.nth(1).want("cancelled")
	if len(w.pending) != 0 {
		t.Error("a cancelled child reports nothing")
	}
}

// Model 15: the child escalates and completes at once.
func TestInterruptingEscalationOfAChildDropsItsResult(t *testing.T) {
	w := newWorld(t, definitions(process(start("s"), callActivity("c", "child"), boundary("b", "c", escalation("x1")), worker("side"), worker("a"), path("s", "c", "a"), path("b", "side")),
		processNamed("child", start("cs"), throw("up", escalation("x1")), end("ce"), path("cs", "up", "ce"))))
	i := w.start("")
	child := w.pending[0]
	w.pending = nil
	w.deliverOne(child)
	var events []step.Event
	for _, m := range w.pending {
		ev, err := step.EventOf(m)
		if err != nil {
			t.Fatal(err)
		}
		events = append([]step.Event{ev}, events...) // handed over in the wrong order
	}
	if got := i.drive(events...); got[1] != step.Applied || got[0] != step.Unmatched {
		t.Fatalf("%v", got)
	}
	i.want("task side")
}

func TestDeliveriesKeepTheirOrder(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("b", "a", message("m1")), script("c", "n", "last"), path("s", "a"), path("b", "c")))
	i := w.start("")
	from := ports.InstanceID{1}
	var events []step.Event
	for n, at := range []int{3, 1, 2} {
		ev := messageEvent(t, "m1", "", `{"n": `+string(rune('0'+at))+`}`)
		ev.From = step.Source{Instance: from, Step: int64(at)}
		ev.At = w.now.Add(time10(n)) // clocks that say otherwise
		events = append(events, ev)
	}
	i.applied(events...)
	if i.variable("last") != "3" {
		t.Errorf("last is %s", i.variable("last"))
	}
}

func TestErrorNobodyCatchesFailsTheChild(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child"), path("s", "c")))
	i := w.start("")
	w.deliver()
	child := w.nth(1)
	child.fails(fault.ErrorUncaught, step.Event{Kind: step.KindTaskError, Wait: child.at("work").ID, Code: "E1"})
	if len(w.pending) != 0 {
		t.Error("the failed child reports")
	}
	i.want("call c")
}

func TestErrorThatSomeCallerCatchesEndsTheChild(t *testing.T) {
	w := newWorld(t, definitions(process(start("s"), callActivity("c", "middle"), boundary("b", "c", errorDef("e1")), worker("a"), path("s", "c"), path("b", "a")),
		processNamed("middle", start("ms"), callActivity("mc", "child"), path("ms", "mc")),
		processNamed("child", start("cs"), worker("work"), path("cs", "work"))))
	i := w.start("")
	w.deliver()
	child := w.nth(2)
	child.applied(step.Event{Kind: step.KindTaskError, Wait: child.at("work").ID, Code: "E1", Message: "bad"})
	child.want("errored")
	w.deliver()
	w.nth(1).want("errored")
	i.want("task a")
	if i.variable("message") != `"bad"` {
		t.Error(i.variable("message"))
	}
	if c := i.last.Commit; len(c.Deliveries) != 0 || len(c.Void) != 0 {
		t.Errorf("a child that has ended is cancelled: %+v %+v", c.Deliveries, c.Void)
	}
}

func TestThousandChildrenFoldIntoFewCommits(t *testing.T) {
	children := 1000
	if testing.Short() {
		children = 100
	}
	w := newWorld(t, definitions(process(start("s"), callActivity("c", "child", multi("", gathering(fmt.Sprintf("for i in 1..%d return i", children), "item", "all", "r"))), worker("a"), path("s", "c", "a")),
		processNamed("child", start("cs"), script("sq", "item * 2", "r"), path("cs", "sq"))))
	i := w.start("")
	starts := w.pending
	w.pending = nil
	for _, m := range starts {
		w.deliverOne(m)
	}
	var events []step.Event
	for _, m := range w.pending {
		ev, err := step.EventOf(m)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	if len(events) != children {
		t.Fatalf("%d children reported", len(events))
	}
	i.applied(events...)
	i.want("task a")
	if i.history != 2 {
		t.Errorf("%d commits, want 2", i.history)
	}
}

func TestCallDepthIsBounded(t *testing.T) {
	w := newWorld(t, process(start("s"), callActivity("c", "p"), path("s", "c")))
	w.start("")
	for range 40 {
		w.deliver()
	}
	last := w.order[len(w.order)-1]
	last.isFailed(fault.CallLimit)
	if len(w.order) != 33 {
		t.Errorf("%d instances, want a root and 32 called ones", len(w.order))
	}
}

// caller makes a call with three attempts, a timeout, and a boundary that catches every error.
func caller() string {
	return process(start("s"), elWith("serviceTask", "c", `implementation="channel:out"`, `<q:retry maxAttempts="3" initialDelay="PT2S" nonRetryableCodes="SUTRA.CALL.REJECTED"/>`, `<q:timeout duration="PT30S"/>`, input("n", "x")),
		boundary("b", "c", anyError()), worker("handled"), worker("a"), path("s", "c", "a"), path("b", "handled"))
}

func TestDeadAttemptsAnswerIsRefused(t *testing.T) {
	w := newWorld(t, caller())
	i := w.start(`{"x": 5}`)
	i.want("call c, timer c")
	e := w.emitted[0]
	if e.Destination != "channel:out" || string(e.Body) != `{"n":5}` || e.Wait != i.all("c")[0].ID || e.Attempt != 1 {
		t.Fatalf("%+v %s", e, e.Body)
	}
	dead := step.Event{Kind: step.KindCallReply, Wait: e.Wait, Attempt: 1, Status: 200, Payload: value(t, `{"r": 1}`)}
	i.applied(step.Event{Kind: step.KindCallFailed, Wait: e.Wait, Attempt: 1, Code: "SUTRA.CALL.EXHAUSTED"})
	i.want("retry c")
	if got := i.at("c").Due.Sub(w.now).Seconds(); got != 2 {
		t.Errorf("waits %v s", got)
	}
	i.fire("c")
	i.want("call c, timer c")
	if got := i.drive(dead); got[0] != step.Unmatched {
		t.Errorf("the answer of a dead attempt was %s", got[0])
	}
	again := w.emitted[1]
	if again.ID == e.ID || again.Attempt != 2 {
		t.Errorf("second attempt %+v", again)
	}
	i.applied(step.Event{Kind: step.KindCallReply, Wait: again.Wait, Attempt: 2, Payload: value(t, `{"r": 2}`)})
	i.want("task a")
	if i.variable("r") != "2" {
		t.Error(i.variable("r"))
	}
}

func TestFinalFailureOfACallIsAnError(t *testing.T) {
	w := newWorld(t, caller())
	i := w.start(`{"x": 5}`)
	i.applied(step.Event{Kind: step.KindCallFailed, Wait: w.emitted[0].Wait, Code: "SUTRA.CALL.REJECTED"})
	i.want("task handled")
}

func TestAttemptsThatTimeOutAreExhausted(t *testing.T) {
	w := newWorld(t, caller())
	i := w.start(`{"x": 5}`)
	for attempt := 1; ; attempt++ {
		limit := i.all("c")[1]
		w.now = limit.Due
		i.applied(step.Event{Kind: step.KindTimer, Wait: limit.ID, At: limit.Due})
		if attempt == 3 {
			break
		}
		i.fire("c")
	}
	i.want("task handled")
	if i.variable("code") != `"SUTRA.CALL.EXHAUSTED"` {
		t.Error(i.variable("code"))
	}
}

func TestPullAndLocalChannels(t *testing.T) {
	w := newWorld(t, process(start("s"), elWith("serviceTask", "p1", `implementation="channel:pull"`), elWith("serviceTask", "l1", `implementation="channel:near"`), end("e"), path("s", "p1", "l1", "e")))
	i := w.start(`{"x": 5}`)
	i.want("task p1")
	for _, task := range i.tasks {
		if task.Topic != "pull" {
			t.Error(task.Topic)
		}
	}
	i.complete("p1", "")
	i.want("completed")
	if len(w.pending) != 1 || w.pending[0].Kind != ports.KindMessage || w.pending[0].Channel != "near" {
		t.Fatalf("%+v", w.pending)
	}
}

func TestDispatch(t *testing.T) {
	call := func(attrs string) string {
		return definitions(process(start("s"), el("callActivity", "c", `<q:dispatch `+attrs+`><q:case when="x = 1" calledElement="child"/></q:dispatch>`), boundary("b", "c", anyError()), worker("none"), worker("a"), path("s", "c", "a"), path("b", "none")),
			processNamed("child", start("cs"), worker("w"), path("cs", "w")))
	}
	newWorld(t, call("")).start(`{"x": 1}`).want("call c")
	newWorld(t, call("")).start(`{"x": 2}`).want("task none")
	newWorld(t, call(`onNoMatch="skip"`)).start(`{"x": 2}`).want("task a")
	newWorld(t, call(`default="child"`)).start(`{"x": 2}`).want("call c")
}

// A delivery that is driven again, because nobody knows that it was: nothing happens.
func TestKillBetweenAnyTwoCommits(t *testing.T) {
	w := newWorld(t, family(start("s"), callActivity("c", "child"), worker("a"), path("s", "c", "a")))
	i := w.start("")
	twice := func() {
		for len(w.pending) > 0 {
			m := w.pending[0]
			w.pending = w.pending[1:]
			w.deliverOne(m)
			if m.Kind == ports.KindChildStart {
				continue // the child's id is in the start: the store answers that it is there
			}
			ev, err := step.EventOf(m)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.instances[m.Target].drive(ev); got[0] != step.Unmatched {
				t.Errorf("%s driven again was %s", m.Kind, got[0])
			}
		}
	}
	twice()
	child := w.nth(1)
	done := child.completion("work", "")
	child.applied(done)
	if got := child.drive(done); got[0] != step.Unmatched {
		t.Errorf("a completion driven again was %s", got[0])
	}
	twice()
	i.want("task a")
}

func TestChildStartsOnADrainingRevision(t *testing.T) { // the store lets a pinned start in
	w := newWorld(t, family(start("s"), callActivity("c", "child"), path("s", "c")))
	i := w.start("")
	if i.last.Start.Pinned {
		t.Error("a root is pinned")
	}
	w.deliver()
	if n := w.nth(1).last.Start; !n.Pinned || n.Deployment != i.last.Start.Deployment {
		t.Errorf("the child is not its caller's revision's: %+v", n)
	}
}
