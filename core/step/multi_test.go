package step_test

import (
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

func each(attrs, collection string, more ...string) string {
	return multi(attrs, append([]string{gathering(collection, "item", "all", "r")}, more...)...)
}

func TestParallelIterationsAllWait(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each("", "[10, 20, 30]")), worker("b"), path("s", "a", "b")))
	i := w.start("")
	i.want("task a, task a, task a")
}

func TestResultsByIndex(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each("", "[10, 20, 30]")), worker("b"), path("s", "a", "b")))
	i := w.start("")
	all := i.all("a")
	for _, n := range []int{2, 0, 1} {
		i.applied(step.Event{Kind: step.KindTaskDone, Wait: all[n].ID, Payload: value(t, `{"r": `+string(rune('0'+n))+`}`)})
	}
	i.want("task b")
	if got := i.variable("all"); got != "[0,1,2]" {
		t.Errorf("all is %s", got)
	}
	if i.variable("r") != "" {
		t.Error("the output element leaked out of its iteration")
	}
}

func TestConditionCancelsTheRest(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each("", "[10, 20, 30]", until("numberOfCompletedInstances = 2 and nrOfActiveInstances = 1"))), worker("b"), path("s", "a", "b")))
	i := w.start("")
	all := i.all("a")
	i.applied(step.Event{Kind: step.KindTaskDone, Wait: all[2].ID, Payload: value(t, `{"r": 3}`)}, step.Event{Kind: step.KindTaskDone, Wait: all[0].ID, Payload: value(t, `{"r": 1}`)})
	i.want("task b")
	if got := i.variable("all"); got != "[1,null,3]" {
		t.Errorf("all is %s", got)
	}
}

func TestEmptyCollectionLeaves(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each("", "[]")), worker("b"), path("s", "a", "b")))
	i := w.start("")
	i.want("task b")
	if got := i.variable("all"); got != "[]" {
		t.Errorf("all is %s", got)
	}
	for _, bad := range []string{"null", "7", "-1"} {
		newWorld(t, process(start("s"), worker("a", each("", bad)), path("s", "a"))).start("").isFailed(fault.CollectionInvalid)
	}
	for _, bad := range []string{"null", "1.5", "-1"} {
		newWorld(t, process(start("s"), worker("a", multi("", `<loopCardinality>`+bad+`</loopCardinality>`)), path("s", "a"))).start("").isFailed(fault.CollectionInvalid)
	}
}

func TestEachKeyWakesItsOwnIteration(t *testing.T) {
	for name, inside := range map[string]string{
		"q:alias":      pass("k", alias("order", "item")) + catch("c", source("decisions"), alias("order", "payload")) + worker("a") + path("k", "c", "a"),
		"subscription": script("k", "item", "key") + catch("c", message("keyed")) + worker("a") + path("k", "c", "a"),
	} {
		t.Run(name, func(t *testing.T) {
			declared := ""
			if name == "subscription" {
				declared = input("key", "item")
			}
			w := newWorld(t, process(start("s"), el("subProcess", "sub", inside, declared, multi("", over(`["A", "B", "C"]`, "item"))), path("s", "sub")))
			i := w.start("")
			channel := map[string]string{"q:alias": "decisions", "subscription": "keyed"}[name]
			second := i.all("c")[1]
			if got := i.message(channel, "B", `{"n": 2}`); got != step.Applied {
				t.Fatal(got)
			}
			if _, still := i.waits[second.ID]; still {
				t.Fatal("another iteration was woken")
			}
			i.want("message c, message c, task a")
			i.complete("a", "")
			if len(i.aliases) != 2 {
				t.Errorf("%d keys are held by two iterations", len(i.aliases))
			}
			if got := i.message(channel, "B", ""); got != step.Unmatched {
				t.Errorf("the key woke another iteration: %s", got)
			}
		})
	}
}

func TestIterationsWithTheSameKeyShareARow(t *testing.T) {
	w := newWorld(t, process(start("s"), el("subProcess", "sub", pass("k", alias("order", "item")), catch("c", source("decisions"), alias("order", "payload.id")), path("k", "c"), multi("", over(`["A", "A"]`, "item"))), path("s", "sub")))
	i := w.start("")
	for range 2 {
		if got := i.message("decisions", "", `{"id": "A"}`); got != step.Applied {
			t.Fatal(got)
		}
	}
	i.want("completed")
}

func TestSequentialSurvivesRestart(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each(`isSequential="true"`, "[10, 20, 30]")), worker("b"), path("s", "a", "b")))
	i := w.start("")
	for _, item := range []string{"10", "20", "30"} {
		i.want("task a")
		for _, task := range i.tasks {
			if got := value(t, string(task.Inputs)); got == nil {
				t.Fatal("no inputs")
			}
		}
		i.complete("a", `{"r": `+item+`}`)
	}
	i.want("task b")
	if got := i.variable("all"); got != "[10,20,30]" {
		t.Errorf("all is %s", got)
	}
}

func TestBoundaryBelongsToTheWholeMultiInstance(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each("", "[1, 2]")), boundary("late", "a", after("PT1H")), boundary("err", "a", errorDef("e1")), worker("b"), worker("c"), path("s", "a"), path("late", "b"), path("err", "c")))
	i := w.start("")
	i.want("task a, task a, timer late")
	i.fire("late")
	i.want("task b")
	i = w.start("")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("a").ID, Code: "E1"})
	i.want("task c")
}

func TestStandardLoop(t *testing.T) {
	loop := func(attrs, condition string) string {
		return `<standardLoopCharacteristics ` + attrs + `><loopCondition>` + esc(condition) + `</loopCondition></standardLoopCharacteristics>`
	}
	w := newWorld(t, process(start("s"), script("a", "n + 1", "n", loop("", "n < 3")), worker("b"), path("s", "a", "b")))
	i := w.start(`{"n": 5}`)
	if i.want("task b"); i.variable("n") != "6" {
		t.Errorf("run, test: n is %s", i.variable("n"))
	}
	w = newWorld(t, process(start("s"), script("a", "n + 1", "n", loop(`testBefore="true"`, "n < 3")), worker("b"), path("s", "a", "b")))
	i = w.start(`{"n": 5}`)
	if i.want("task b"); i.variable("n") != "5" {
		t.Errorf("test, run: n is %s", i.variable("n"))
	}
	i = w.start(`{"n": 0}`)
	if i.variable("n") != "3" {
		t.Errorf("n is %s", i.variable("n"))
	}
	w = newWorld(t, process(start("s"), worker("a", loop(`loopMaximum="2"`, "true")), worker("b"), path("s", "a", "b")))
	i = w.start("")
	i.complete("a", "")
	i.want("task a")
	i.complete("a", "")
	i.want("task b")
}

// Model 3: the token that an inclusive join waits for leaves by its timer.
func TestInclusiveJoinSeesATokenLeaveByItsBoundary(t *testing.T) {
	w := newWorld(t, process(start("s"), inclusive("f"), worker("a"), worker("b"), boundary("late", "b", after("PT1H")), end("gone"), inclusive("j"), worker("c"),
		path("s", "f", "a", "j", "c"), path("f", "b", "j"), path("late", "gone")))
	i := w.start("")
	i.complete("a", "")
	i.want("task b, timer late")
	i.fire("late")
	i.want("task c")
}

// Model 4: a back edge from the join's own output.
func TestInclusiveJoinWithABackEdge(t *testing.T) {
	xml := process(start("s"), parallel("f"), worker("a1"), worker("a2"), exclusive("m"), inclusive("j"), worker("b"), exclusive("again"), end("e"),
		path("s", "f", "a1", "m", "j", "b", "again"), path("f", "a2", "m"), pathIf("again", "j", "back"), pathIf("again", "e", "not(back)"))
	w := newWorld(t, xml)
	i := w.start(`{"back": false}`)
	i.complete("a1", "")
	i.want("task a2, task b") // the token upstream of the same flow makes another round
	i.complete("a2", "")
	i.want("task b") // one token downstream may come back by the other flow: the gateway waits
	i.complete("b", `{"back": true}`)
	i.want("task b") // it came back: both are taken at once
	i.complete("b", `{"back": false}`)
	i.want("completed")
}

// Model 5.
func TestInclusiveJoinLooksAtItsOwnIterationAlone(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("after"), path("s", "sub", "after"),
		sub("sub", start("is"), inclusive("f"), worker("a"), worker("b"), inclusive("j"), worker("c"), path("is", "f", "a", "j", "c"), path("f", "b", "j"), multi("", over("[1, 2]", "item")))))
	i := w.start("")
	first := func(node string) { i.complete(node, "") }
	first("a")
	first("b")
	i.want("task a, task b, task c")
}

// Model 6: a nested inclusive split and join.
func TestNestedInclusiveJoin(t *testing.T) {
	w := newWorld(t, process(start("s"), inclusive("f"), worker("x"), worker("never"), inclusive("g"), worker("y"), worker("z"), inclusive("h"), inclusive("j"), worker("c"),
		path("s", "f"), pathIf("f", "x", "true"), pathIf("f", "never", "false"), pathIf("f", "g", "true"), path("x", "j"), path("never", "j"), path("g", "y", "h", "j", "c"), path("g", "z", "h")))
	i := w.start("")
	i.complete("x", "")
	i.want("task y, task z")
	i.complete("y", "")
	i.want("task z")
	i.complete("z", "")
	i.want("task c")
}

func TestInclusiveWithoutATrueFlowFails(t *testing.T) {
	w := newWorld(t, process(start("s"), inclusive("f"), worker("a"), path("s", "f"), pathIf("f", "a", "false")))
	w.start("").isFailed(fault.GatewayNoFlow)
}

func TestComplexResetsAndFiresAgain(t *testing.T) {
	w := newWorld(t, process(start("s"), exclusive("m"), parallel("f"), worker("a"), worker("b"), worker("c"), el("complexGateway", "j", `<activationCondition>activationCount >= 2</activationCondition>`), worker("d"),
		path("s", "m", "f", "a", "j", "d", "m"), path("f", "b", "j"), path("f", "c", "j")))
	i := w.start("")
	i.complete("a", "")
	i.want("task b, task c")
	i.complete("c", "")
	i.want("task b, task d")
	i.complete("b", "") // late: taken by the reset, which gives nothing
	i.want("task d")
	if s := i.snapshot(); len(s.Scopes[0].Gates) != 0 || len(s.Tokens) != 1 {
		t.Errorf("the gateway has not started again: %+v %+v", s.Scopes[0].Gates, s.Tokens)
	}
	i.complete("d", "")
	i.want("task a, task b, task c")
	i.complete("a", "")
	i.want("task b, task c") // the late token of the first round does not count
	i.complete("b", "")
	i.want("task c, task d")
}

// A token that can still come to a held flow starts another round, even if it can come to a free one too.
func TestInclusiveJoinDoesNotWaitForATokenThatMayFollow(t *testing.T) {
	w := newWorld(t, process(start("s"), parallel("f"), worker("a"), worker("b"), exclusive("x"), exclusive("m"), inclusive("j"), worker("c"),
		path("s", "f", "a", "m", "j", "c"), path("f", "b", "x"), pathIf("x", "m", "true"), pathIf("x", "j", "false")))
	i := w.start("")
	i.complete("a", "")
	i.want("task b, task c")
}

func TestLinkIsAnEdge(t *testing.T) {
	link := func(name string) string { return `<linkEventDefinition name="` + name + `"/>` }
	w := newWorld(t, process(start("s"), throw("away", link("L")), catch("here", link("L")), worker("a"), path("s", "away"), path("here", "a")))
	w.start("").want("task a")
}

func TestLinksMayReferToEachOther(t *testing.T) {
	for name, model := range map[string]string{
		"by target": linked(`<target>here1</target>`, ""), "by source": linked("", `<source>away1</source><source>away2</source>`),
	} {
		t.Run(name, func(t *testing.T) { newWorld(t, model).start("").want("task a, task a") })
	}
}

// Model 13: A (handler), a wait, sequential ×3 of B (handler), a restart, a throw, and another one.
func modelThirteen(t *testing.T) *instance {
	t.Helper()
	w := newWorld(t, process(start("s"), worker("a"), handler("a", "ua"), worker("w"), worker("b", multi(`isSequential="true"`, over(`[1, 2, 3]`, "item"))), handler("b", "ub"),
		worker("x"), throw("undo", compensateAll()), worker("y"), throw("twice", compensateAll()), worker("z"),
		path("s", "a", "w", "b", "x", "undo", "y", "twice", "z")))
	i := w.start("")
	for _, node := range []string{"a", "w", "b", "b", "b", "x"} {
		i.complete(node, "")
	}
	return i
}

func TestLastCompletedFirst(t *testing.T) {
	i := modelThirteen(t)
	for _, node := range []string{"ub", "ub", "ub", "ua"} {
		i.want("task " + node)
		i.complete(node, "")
	}
	i.want("task y")
}

func TestSeesItsOwnItem(t *testing.T) {
	i := modelThirteen(t)
	for _, item := range []string{"3", "2", "1"} {
		if got := i.input("ub", "item"); got != item {
			t.Errorf("the handler sees item %s, want %s", got, item)
		}
		i.complete("ub", "")
	}
}

func TestNeverTwice(t *testing.T) {
	i := modelThirteen(t)
	for _, node := range []string{"ub", "ub", "ub", "ua", "y"} {
		i.complete(node, "")
	}
	i.want("task z")
}

func TestLogSurvivesAWait(t *testing.T) { // and a failure, and its repair
	i := modelThirteen(t)
	i.fails(fault.ErrorUncaught, step.Event{Kind: step.KindTaskError, Wait: i.at("ub").ID, Code: "E1"})
	i.restore(step.DropEvent)
	for _, node := range []string{"ub", "ub", "ub", "ua"} {
		i.complete(node, "")
	}
	i.want("task y")
}

func TestIterationsOfAParallelMultiInstanceAreUndoneTogether(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("b", multi("", over(`[1, 2]`, "item"))), handler("b", "ub"), throw("undo", compensateAll()), worker("y"), path("s", "b", "undo", "y")))
	i := w.start("")
	i.complete("b", "")
	i.complete("b", "")
	i.want("task ub, task ub")
	i.complete("ub", "")
	i.want("task ub")
	i.complete("ub", "")
	i.want("task y")
}

func TestCompletedSubProcessIsUndone(t *testing.T) {
	inside := []string{start("is"), worker("a"), handler("a", "ua"), worker("b"), handler("b", "ub"), path("is", "a", "b"), input("local", `"L"`)}
	drive := func(xml string) *instance {
		i := newWorld(t, xml).start("")
		i.complete("a", "")
		i.complete("b", "")
		return i
	}
	i := drive(process(start("s"), sub("sub", inside...), throw("undo", compensateAll()), worker("y"), path("s", "sub", "undo", "y")))
	i.want("task ub")
	if got := i.input("ub", "local"); got != `"L"` {
		t.Errorf("the handler does not see the restored locals: %s", got)
	}
	i.complete("ub", "")
	i.complete("ua", "")
	i.want("task y")

	i = drive(process(start("s"), sub("sub", inside...), handler("sub", "usub"), throw("undo", compensateAll()), worker("y"), path("s", "sub", "undo", "y")))
	i.want("task usub") // its boundary handler, then its nested log
	i.complete("usub", "")
	i.complete("ub", "")
	i.complete("ua", "")
	i.want("task y")

	own := eventSub("es", start("esc", compensateAll()), worker("own"), throw("inner", compensate("a")), path("esc", "own", "inner"))
	i = drive(process(start("s"), sub("sub", append(inside, own)...), throw("undo", compensateAll()), worker("y"), path("s", "sub", "undo", "y")))
	i.want("task own") // its compensation event sub-process alone, which may throw for the restored scope
	i.complete("own", "")
	i.want("task ua")
	i.complete("ua", "")
	i.want("task y")
}

func TestKilledScopeHasNoLog(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), worker("b"), path("is", "a", "b")), boundary("m", "sub", message("m1")), throw("undo", compensateAll()), worker("y"),
		path("s", "sub"), path("m", "undo", "y")))
	i := w.start("")
	i.complete("a", "")
	i.message("m1", "", "")
	i.want("task y")
}

func TestCompensationWithoutWaitingLeavesAtOnce(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), handler("a", "ua"), throw("undo", `<compensateEventDefinition waitForCompletion="false"/>`), worker("y"), path("s", "a", "undo", "y")))
	i := w.start("")
	i.complete("a", "")
	i.want("task ua, task y")
	i.complete("y", "")
	i.want("task ua")
	i.complete("ua", "")
	i.want("completed")
}

func TestHandlersErrorIsThrownAtTheThrowEvent(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), handler("a", "ua"), path("s", "a", "sub"),
		sub("sub", start("is"), worker("b"), handler("b", "ub"), throw("undo", compensateAll()), path("is", "b", "undo")), boundary("err", "sub", errorDef("e1")), worker("caught"), path("err", "caught")))
	i := w.start("")
	i.complete("a", "")
	i.complete("b", "")
	i.want("task ub")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("ub").ID, Code: "E1"})
	i.want("task caught")
}

// Model 14.
func TestCancelKillsCompensatesLeaves(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("after"), worker("cancelled"), path("s", "tx", "after"), path("c", "cancelled"), boundary("c", "tx", cancelDef()),
		el("transaction", "tx", start("is"), parallel("f"), worker("done"), handler("done", "undone"), worker("running"), handler("running", "wrong"), worker("decide"), end("cancel", cancelDef()),
			path("is", "f", "done"), path("f", "running"), path("f", "decide", "cancel"))))
	i := w.start("")
	i.complete("done", "")
	i.complete("decide", "")
	i.want("task undone")
	i.complete("undone", "")
	i.want("task cancelled")
}

func TestAdHocJoinsWork(t *testing.T) {
	inside := []string{worker("a"), worker("b"), parallel("j"), worker("c"), path("a", "j", "c"), path("b", "j")}
	w := newWorld(t, process(start("s"), el("adHocSubProcess", "ah", inside...), worker("after"), path("s", "ah", "after")))
	i := w.start("")
	i.complete("a", "")
	i.complete("b", "")
	i.want("task c")
	i.complete("c", "")
	i.want("task after")
}

func TestAdHocElementsOrderAndCompletion(t *testing.T) {
	inside := func(more ...string) []string {
		return append([]string{worker("a"), worker("b"), worker("c")}, more...)
	}
	w := newWorld(t, process(start("s"), el("adHocSubProcess", "ah", inside(`<zeebe:adHoc activeElementsCollection="=pick"/>`)...), worker("after"), path("s", "ah", "after")))
	w.start(`{"pick": ["c", "a"]}`).want("task a, task c")
	w.start(`{"pick": ["nobody"]}`).isFailed(fault.CollectionInvalid)

	w = newWorld(t, process(start("s"), elWith("adHocSubProcess", "ah", `ordering="Sequential"`, inside()...), worker("after"), path("s", "ah", "after")))
	i := w.start("")
	for _, node := range []string{"a", "b", "c"} {
		i.want("task " + node)
		i.complete(node, "")
	}
	i.want("task after")

	w = newWorld(t, process(start("s"), el("adHocSubProcess", "ah", inside(until("enough"))...), worker("after"), path("s", "ah", "after")))
	i = w.start("")
	i.complete("b", "")
	i.want("task a, task c")
	i.complete("a", `{"enough": true}`)
	i.want("task after")

	w = newWorld(t, process(start("s"), elWith("adHocSubProcess", "ah", `cancelRemainingInstances="false"`, inside(until("enough"))...), worker("after"), path("s", "ah", "after")))
	i = w.start("")
	i.complete("a", `{"enough": true}`)
	i.want("task b, task c")
	i.complete("b", "")
	i.complete("c", "")
	i.want("task after")
}

func TestAdHocCompletionStartsNoMore(t *testing.T) {
	w := newWorld(t, process(start("s"), elWith("adHocSubProcess", "ah", `ordering="Sequential"`, worker("a"), worker("b"), until("enough")), worker("after"), path("s", "ah", "after")))
	i := w.start("")
	i.complete("a", `{"enough": true}`)
	i.want("task after")
}

func TestOutputsOfAnIterationStayInIt(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", output("mine", "x * 2"), multi("", gathering("[1, 2]", "item", "all", "mine"))), worker("b"), path("s", "a", "b")))
	i := w.start("")
	i.complete("a", `{"x": 1}`)
	i.complete("a", `{"x": 2}`)
	i.want("task b")
	if i.variable("all") != "[2,4]" || i.variable("mine") != "" || i.variable("x") != "" {
		t.Errorf("all=%s mine=%s x=%s", i.variable("all"), i.variable("mine"), i.variable("x"))
	}
	w = newWorld(t, process(start("s"), worker("a", output("other", "x"), multi("", over("[1, 2]", "item"))), path("s", "a")))
	i = w.start("")
	i.complete("a", `{"x": 1}`)
	if i.variable("other") != "" {
		t.Error("a mapped value left its iteration")
	}
}

// The events before the one that fails are applied once, although the step is made twice.
func TestFailureInsideAFoldKeepsTheEventsBefore(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", each(`isSequential="true"`, "[10, 20]")), worker("b"), boundaryOn("m", "a", message("m1")), exclusive("x"), worker("c"), path("s", "a", "b"), path("m", "x"), pathIf("x", "c", "ok")))
	i := w.start("")
	bad, after := messageEvent(t, "m1", "", ""), step.Event{Kind: step.KindTimer, Wait: 999, At: w.now.Add(time10(2))}
	bad.At = w.now.Add(time10(1))
	if got := i.drive(i.completion("a", `{"r": 1}`), bad, after); got[0] != step.Applied || got[1] != step.Failed || got[2] != step.NotTried {
		t.Fatalf("outcomes %v", got)
	}
	i.isFailed(fault.ExpressionNotBoolean)
	var body *token.Body
	for _, c := range i.snapshot().Scopes {
		if c.Body != nil {
			body = c.Body
		}
	}
	if body.Completed != 1 || body.Next != 3 || len(body.Results) != 1 {
		t.Errorf("the body is %+v", body)
	}
	i.restore(step.DropEvent)
	i.complete("a", `{"r": 2}`)
	i.want("task b")
}

func TestSubProcessThatUndoesItselfNeedsNoHandlers(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("es", start("esc", compensateAll()), worker("own"), path("esc", "own"))),
		throw("undo", compensateAll()), worker("y"), path("s", "sub", "undo", "y")))
	i := w.start("")
	i.complete("a", "")
	i.want("task own")
	i.complete("own", "")
	i.want("task y")
}

func TestHandlersErrorIsNotItsActivitysOwn(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), handler("a", "ua"), boundary("b", "a", errorDef("e1")), worker("wrong"), throw("undo", compensateAll()), path("s", "a", "undo"), path("b", "wrong")))
	i := w.start("")
	i.complete("a", "")
	i.fails(fault.ErrorUncaught, step.Event{Kind: step.KindTaskError, Wait: i.at("ua").ID, Code: "E1"})
}

func TestKillingAScopeEndsItsCompensation(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), throw("undo", compensateAll()), path("is", "a", "undo")), boundary("m", "sub", message("m1")), worker("b"), path("s", "sub"), path("m", "b")))
	i := w.start("")
	i.complete("a", "")
	i.want("message m, task ua")
	i.message("m1", "", "")
	i.want("task b")
	if n := len(i.snapshot().Undoing); n != 0 {
		t.Errorf("%d compensations still run", n)
	}
}

// The throw stands in an event sub-process, the handler in the scope around it: the error is thrown at the throw.
func TestHandlersErrorIsCaughtWhereItWasThrown(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), handler("a", "ua"), worker("b"), path("s", "a", "b"),
		eventSub("es", startOn("msg", message("m1")), throw("undo", compensateAll()), path("msg", "undo"), eventSub("inner", start("err", errorDef("e1")), worker("caught"), path("err", "caught")))))
	i := w.start("")
	i.complete("a", "")
	i.message("m1", "", "")
	i.want("message msg, task b, task ua")
	i.applied(step.Event{Kind: step.KindTaskError, Wait: i.at("ua").ID, Code: "E1"})
	i.want("message msg, task b, task caught")
}

func TestParallelInstantiatingGatewayArmsTheRest(t *testing.T) {
	w := newWorld(t, process(elWith("eventBasedGateway", "g", `instantiate="true" eventGatewayType="Parallel"`), catch("m", source("orders")), catch("n", message("m1")), worker("a"), worker("b"), path("g", "m", "a"), path("g", "n", "b")))
	i := w.startAt("p", step.Event{Kind: step.KindStart, Node: "m", Payload: value(t, `{"n": 1}`)})
	i.want("message n, task a")
	i.message("m1", "", "")
	i.want("task a, task b")
}

func (i *instance) input(node, name string) string {
	i.w.t.Helper()
	w := i.at(node)
	for _, task := range i.tasks {
		if task.Wait == w.ID {
			return json(i.w.t, string(task.Inputs), name)
		}
	}
	return ""
}
