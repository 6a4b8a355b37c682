package step_test

import (
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestInnermostCatcherWins(t *testing.T) {
	w := newWorld(t, process(start("s"),
		sub("outer", start("os"), sub("inner", start("is"), worker("a"), path("is", "a")), path("os", "inner"),
			boundary("in", "inner", errorDef("e1")), worker("handled"), path("in", "handled")),
		boundary("out", "outer", errorDef("e1")), worker("wrong"), path("s", "outer"), path("out", "wrong")))
	i := w.start("")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("a").ID, Code: "E1", Message: "no", Payload: value(t, `{"n": 1}`)})
	i.want("task handled")
	if i.variable("code") != `"E1"` || i.variable("message") != `"no"` || i.variable("data") != `{"n":1}` {
		t.Errorf("code %s message %s data %s", i.variable("code"), i.variable("message"), i.variable("data"))
	}
}

func TestInlineBeforeBoundary(t *testing.T) {
	w := newWorld(t, process(start("s"),
		sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("es", start("caught", errorDef("e1")), worker("inline"), path("caught", "inline"))),
		boundary("b", "sub", errorDef("e1")), worker("outside"), path("s", "sub"), path("b", "outside")))
	i := w.start("")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("a").ID, Code: "E1"})
	i.want("task inline")
}

func TestCodeBeforeCatchAll(t *testing.T) {
	xml := process(start("s"), worker("a"), boundary("all", "a", anyError()), boundary("one", "a", errorDef("e1")), worker("any"), worker("exact"),
		path("s", "a"), path("all", "any"), path("one", "exact"))
	for code, want := range map[string]string{"E1": "task exact", "E9": "task any"} {
		i := newWorld(t, xml).start("")
		i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("a").ID, Code: code})
		i.want(want)
	}
}

// Model 11: an interrupting message event sub-process throws an error.
func TestErrorInHandlerGoesOutward(t *testing.T) {
	inside := sub("sub", start("is"), worker("a"), path("is", "a"),
		eventSub("es", start("msg", message("m1")), end("boom", errorDef("e1")), path("msg", "boom")),
		eventSub("sibling", start("err", errorDef("e1")), worker("wrong"), path("err", "wrong")))
	w := newWorld(t, process(start("s"), inside, boundary("b", "sub", errorDef("e1")), worker("right"), path("s", "sub"), path("b", "right")))
	i := w.start("")
	i.message("m1", "", "")
	i.want("task right")

	i = newWorld(t, process(start("s"), inside, path("s", "sub"))).start("")
	i.fails(fault.ErrorUncaught, messageEvent(t, "m1", "", ""))
}

// Model 10.
func TestNoneStartsWhileCompleting(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), end("e"), path("s", "a", "e"),
		eventSub("es", startOn("msg", message("m1")), worker("side"), path("msg", "side"))))
	i := w.start("")
	i.message("m1", "", "")
	i.want("message msg, task a, task side")
	i.complete("a", "")
	i.want("task side")
	if got := i.message("m1", "", ""); got != step.Unmatched {
		t.Fatal(got)
	}
	i.complete("side", "")
	i.want("completed")
}

func TestInterruptedScopeCompletesNormally(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("after"), path("s", "sub", "after"),
		sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("es", start("msg", message("m1")), worker("side"), path("msg", "side")),
			eventSub("es2", start("msg2", message("m2")), pass("x"), path("msg2", "x")))))
	i := w.start("")
	i.want("message msg, message msg2, task a")
	i.message("m1", "", "")
	i.want("task side")
	i.complete("side", "")
	i.want("task after")
}

// Model 12: terminate in one of three iterations, each with a parked sibling.
func TestTerminateEndsOnlyItsScope(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("after"), path("s", "sub", "after"),
		sub("sub", start("is"), parallel("f"), worker("a"), worker("b"), end("stop", terminate()), path("is", "f", "a", "stop"), path("f", "b"),
			multi(`isSequential="false"`, over("[1, 2, 3]", "item")))))
	i := w.start("")
	i.want("task a, task a, task a, task b, task b, task b")
	i.complete("a", "")
	i.want("task a, task a, task b, task b")
	i.complete("a", "")
	i.complete("a", "")
	i.want("task after")
}

func TestTerminateEndsTheProcess(t *testing.T) {
	w := newWorld(t, process(start("s"), parallel("f"), worker("a"), worker("b"), end("stop", terminate()), path("s", "f", "a", "stop"), path("f", "b")))
	i := w.start("")
	i.complete("a", "")
	i.want("completed")
}

func TestUncaughtEscalationGoesOn(t *testing.T) {
	w := newWorld(t, process(start("s"), throw("up", escalation("x1")), worker("a"), path("s", "up", "a")))
	w.start("").want("task a")
}

func TestEscalationInterruptsOrNot(t *testing.T) {
	inside := sub("sub", start("is"), throw("up", escalation("x1")), worker("a"), path("is", "up", "a"))
	w := newWorld(t, process(start("s"), inside, boundaryOn("b", "sub", escalation("x1")), worker("side"), path("s", "sub"), path("b", "side")))
	w.start("").want("task a, task side")
	w = newWorld(t, process(start("s"), inside, boundary("b", "sub", escalation("x1")), worker("side"), path("s", "sub"), path("b", "side")))
	w.start("").want("task side")
}

// An escalation that its own handler throws again goes outward.
func TestEscalationInItsHandlerGoesOutward(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), throw("up", escalation("x1")), worker("a"), path("is", "up", "a"),
		eventSub("es", startOn("esc", escalation("x1")), throw("again", escalation("x1")), worker("side"), path("esc", "again", "side"))),
		boundaryOn("b", "sub", escalation("x1")), worker("out"), path("s", "sub"), path("b", "out")))
	w.start("").want("task a, task out, task side")
}

func TestSignalReachesEveryArmedWaitOnce(t *testing.T) {
	w := newWorld(t, definitions(process(start("s"), catch("c", signal("s1")), worker("a"), path("s", "c", "a")),
		processNamed("thrower", start("ts"), throw("t", signal("s1")), worker("b"), path("ts", "t", "b"))))
	one, two := w.start(""), w.start("")
	thrower := w.startAt("thrower", step.Event{Kind: step.KindStart})
	thrower.want("task b")
	w.deliver()
	one.want("task a")
	two.want("task a")
}

func TestOwnSignalIsServedInTheStep(t *testing.T) {
	w := newWorld(t, process(start("s"), parallel("f"), catch("c", signal("s1")), worker("got"), worker("a"), throw("t", signal("s1")), worker("b"),
		boundaryOn("again", "b", signal("s1")), worker("twice"), path("s", "f", "c", "got"), path("f", "a", "t", "b"), path("again", "twice")))
	i := w.start("")
	i.complete("a", "")
	i.want("signal again, task b, task got")
	w.deliver() // what was armed after the throw does not hear it
	i.want("signal again, task b, task got")
}

func TestErrorsSayTheirMessage(t *testing.T) {
	w := newWorld(t, definitions(`<error id="said" errorCode="E" camunda:errorMessage="=&quot;too dear: &quot; + string(n)"/>`, process(start("s"),
		sub("sub", start("is"), end("x", errorDef("said")), path("is", "x")), boundary("b", "sub", anyError()), worker("a"), path("s", "sub"), path("b", "a"))))
	i := w.start(`{"n": 5}`)
	if i.want("task a"); i.variable("message") != `"too dear: 5"` || i.variable("code") != `"E"` {
		t.Errorf("code %s, message %s", i.variable("code"), i.variable("message"))
	}
}

// A signal takes along what the event that throws it names, in the words of either Camunda.
func TestSignalCarriesWhatItsThrowNames(t *testing.T) {
	for _, thrower := range []string{
		throw("t", `<signalEventDefinition signalRef="s1"><extensionElements><camunda:in source="n" target="total"/><camunda:in sourceExpression="=n * 2" target="twice"/></extensionElements></signalEventDefinition>`),
		throw("t", input("total", "n"), input("twice", "n * 2"), signal("s1")),
	} {
		w := newWorld(t, definitions(process(start("s"), catch("c", signal("s1")), worker("a"), path("s", "c", "a")), processNamed("thrower", start("ts"), thrower, path("ts", "t"))))
		i := w.start("")
		w.startAt("thrower", step.Event{Kind: step.KindStart, Payload: value(t, `{"n": 4, "other": 1}`)})
		w.deliver()
		if i.want("task a"); i.variable("total") != "4" || i.variable("twice") != "8" || i.variable("other") != "" {
			t.Errorf("total %s, twice %s, other %q", i.variable("total"), i.variable("twice"), i.variable("other"))
		}
	}
}

func TestConditionFiresOncePerEdge(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("c", "a", when("x > 5")), worker("high"), path("s", "a"), path("c", "high")))
	i := w.start(`{"x": 1}`)
	set := func(vars string) { i.applied(step.Event{Kind: step.KindSetVariables, Payload: value(t, vars)}) }
	i.want("task a")
	set(`{"x": 7}`)
	i.want("task a, task high")
	set(`{"x": 8}`)
	i.want("task a, task high")
	set(`{"x": 2}`)
	set(`{"x": 9}`)
	i.want("task a, task high, task high")
}

func TestConditionTrueWhenArmedFires(t *testing.T) {
	w := newWorld(t, process(start("s"), eventGate("g"), catch("c", when("x > 5")), catch("tm", after("PT1H")), worker("a"), worker("b"), path("s", "g", "tm", "b"), path("g", "c", "a")))
	w.start(`{"x": 6}`).want("task a")
	w.start(`{"x": 5}`).want("timer tm")
}

func TestMessageFeedsOneWaitInnermostFirst(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), worker("a"), path("is", "a"),
		eventSub("es", startOn("inner", message("m1")), worker("in"), path("inner", "in"))),
		boundaryOn("outer", "sub", message("m1")), worker("out"), path("s", "sub"), path("outer", "out")))
	i := w.start("")
	i.message("m1", "", "")
	i.want("message inner, message outer, task a, task in")
}

func TestSubscriptionKeySelectsTheWait(t *testing.T) {
	w := newWorld(t, process(start("s"), catch("c", message("keyed")), worker("a"), path("s", "c", "a")))
	i := w.start(`{"key": 42.0}`)
	if got := i.message("keyed", "41", ""); got != step.Unmatched {
		t.Fatal(got)
	}
	if got := i.message("keyed", "42", `{"n": 1}`); got != step.Applied {
		t.Fatal(got)
	}
	i.want("task a")
	if i.variable("n") != "1" {
		t.Errorf("n is %s", i.variable("n"))
	}
	if len(i.aliases) != 0 {
		t.Error("the key of a wait that is gone is still registered")
	}
}

func TestAliasOfTheInstanceMatchesTheMessage(t *testing.T) {
	w := newWorld(t, process(start("s", source("orders"), alias("order", "id")), catch("c", source("decisions"), alias("order", "payload.order")), worker("a"), path("s", "c", "a")))
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Payload: value(t, `{"id": "A-1"}`)})
	if got := i.message("decisions", "A-2", ""); got != step.Unmatched {
		t.Fatal(got)
	}
	if got := i.message("decisions", "A-1", `{"order": "A-1"}`); got != step.Applied {
		t.Fatal(got)
	}
	i.want("task a")
	if len(i.aliases) != 1 {
		t.Error("an alias of the instance lives as long as it does")
	}
}

func TestAliasIsMadeAsSoonAsItHasAValue(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", alias("order", "id")), boundary("b", "a", source("decisions"), alias("order", "payload.id")), worker("late", alias("other", "late")), worker("x"), path("s", "a", "late"), path("b", "x")))
	i := w.start(`{"id": "A-1"}`)
	if got := i.message("decisions", "", `{"id": "A-1"}`); got != step.Applied {
		t.Fatal(got)
	}
	i.want("task x")
	i = w.start(`{"id": null}`)
	if len(i.aliases) != 0 {
		t.Error("null is no key")
	}
	i.complete("a", `{"id": "A-2"}`)
	i.complete("late", `{"late": 7}`)
	if i.want("completed"); len(i.snapshot().Aliases) != 0 {
		t.Error("aliases outlive the instance")
	}
}

func TestNullKeyFails(t *testing.T) {
	w := newWorld(t, process(start("s"), catch("c", message("keyed")), path("s", "c")))
	w.start("").isFailed(fault.KeyMissing)
}

func TestReplyAnswersTheLatestMessage(t *testing.T) {
	w := newWorld(t, process(start("s", source("orders")), catch("c", source("decisions")), pass("r", `<q:reply body="{said: payload}" status="201"><q:header name="X-A" value="=payload.n"/></q:reply>`), worker("a"), end("e"),
		path("s", "c", "r", "a", "e")))
	origin := ports.InboxRef{Tenant: "t1", Channel: "orders", Event: ports.NewKey("o")}
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Payload: value(t, `{"n": 1}`), Consumed: &ports.Consumed{InboxRef: origin}})
	ev := messageEvent(t, "decisions", "", `{"n": 2}`)
	second := ports.InboxRef{Tenant: "t1", Channel: "decisions", Event: ports.NewKey("d")}
	ev.Consumed = &ports.Consumed{InboxRef: second}
	i.applied(ev)
	got := w.replies[second.Event]
	if got.Status != 201 || string(got.Body) != `{"said":{"n":2}}` || got.Headers[0].Value != "2" {
		t.Errorf("reply %+v %s", got, got.Body)
	}
	if i.last.Commit.Consumed[0].Reply == nil || len(i.last.Commit.Replies) != 0 {
		t.Error("the answer to a message of this step goes with it")
	}
	if _, early := w.replies[origin.Event]; early {
		t.Error("the origin is answered before the end")
	}
	i.complete("a", "")
	if got := w.replies[origin.Event]; got.Status != 200 || string(got.Body) != `{"payload":{"n":2}}` {
		t.Errorf("the origin got %+v %s", got, got.Body)
	}
	if len(i.last.Commit.Replies) != 1 {
		t.Error("an older message is answered by its row")
	}
}

func TestValuesKeepTypesAcrossAWait(t *testing.T) {
	w := newWorld(t, process(start("s"), script("c", `{n: 1.10, big: 123456789012345678901234567890, s: "1", nothing: null, d: date("2024-02-29"), dt: date and time("2024-02-29T10:00:00@Europe/Berlin"), tm: time("10:00:00+02:00"), p: duration("P1DT2H"), y: duration("P14M"), r: [1..5), l: [1, [2, null]], t: true}`, "v"),
		worker("a"), script("again", `v.d + v.p = date("2024-03-01") and v.n = 1.1 and v.s = "1" and v.nothing = null and v.y = duration("P14M") and v.r.start = 1 and v.tm.hour = 10`, "ok"), path("s", "c", "a", "again")))
	i := w.start("")
	i.complete("a", "")
	i.want("completed")
	if i.variable("ok") != "true" {
		t.Errorf("after the wait: %s", i.variable("v"))
	}
}

func TestConditionalStartAsksTheMessage(t *testing.T) {
	w := newWorld(t, process(start("s", source("orders"), when("payload.n > 1")), worker("a"), path("s", "a")))
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Payload: value(t, `{"n": 2}`)})
	i.want("task a")
	i = w.startAt("p", step.Event{Kind: step.KindStart, Node: "s", Payload: value(t, `{"n": 1}`)})
	if i.last.Start != nil || i.last.Failure == nil || i.last.Failure.Code.Status() != 422 {
		t.Errorf("%+v", i.last)
	}
}

func TestOutputsOfEventsThatBringNothing(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundary("late", "a", after("PT1H"), output("was", `"late"`)), throw("n", output("then", "was")), worker("b"), path("s", "a"), path("late", "n", "b")))
	i := w.start("")
	i.fire("late")
	i.want("task b")
	if i.variable("was") != `"late"` || i.variable("then") != `"late"` {
		t.Errorf("was=%s then=%s", i.variable("was"), i.variable("then"))
	}
}
