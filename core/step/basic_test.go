package step_test

import (
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestEveryCommittedTokenIsParked(t *testing.T) { // world.check looks at every commit
	w := newWorld(t, process(start("s"), worker("a"), pass("b"), script("c", "x + 1", "y"), end("e"), path("s", "a", "b", "c", "e")))
	i := w.start(`{"x": 41}`)
	i.want("task a")
	i.complete("a", `{"z": "done"}`)
	i.want("completed")
	if i.variable("y") != "42" || i.variable("z") != `"done"` {
		t.Errorf("y=%s z=%s", i.variable("y"), i.variable("z"))
	}
}

func TestParallelJoinTakesOnePerFlow(t *testing.T) {
	w := newWorld(t, process(start("s"), parallel("f"), worker("a"), worker("b"), parallel("j"), worker("c"), end("e"),
		path("s", "f", "a", "j", "c", "e"), path("f", "b", "j")))
	i := w.start("")
	i.want("task a, task b")
	i.complete("b", "")
	i.want("task a")
	i.complete("a", "")
	i.want("task c")
	i.complete("c", "")
	i.want("completed")
}

// Model 1: arrivals a, a, b.
func TestSurplusWaitsForNextRound(t *testing.T) {
	w := newWorld(t, process(start("s"), parallel("f"), worker("a1"), worker("a2"), exclusive("m"), worker("b1"), worker("b2"), exclusive("n"), parallel("j"), worker("c"), end("e"),
		path("s", "f", "a1", "m", "j", "c", "e"), path("f", "a2", "m"), path("f", "b1", "n", "j"), path("f", "b2", "n")))
	i := w.start("")
	i.complete("a1", "")
	i.complete("a2", "")
	i.want("task b1, task b2")
	i.complete("b1", "")
	i.want("task b2, task c")
	i.complete("b2", "")
	i.want("task c, task c")
	i.complete("c", "")
	i.complete("c", "")
	i.want("completed")
}

func TestJoinInALoop(t *testing.T) {
	w := newWorld(t, process(start("s"), exclusive("m"), parallel("f"), worker("a"), worker("b"), parallel("j"), exclusive("again"), end("e"),
		path("s", "m", "f", "a", "j", "again"), path("f", "b", "j"), pathIf("again", "m", "more"), pathIf("again", "e", "not(more)")))
	i := w.start(`{"more": true}`)
	for range 3 {
		i.complete("a", "")
		i.complete("b", "")
		i.want("task a, task b")
	}
	i.complete("a", `{"more": false}`)
	i.complete("b", "")
	i.want("completed")
}

// Model 2: an exclusive split into a parallel join.
func TestUnjoinableTokensFail(t *testing.T) {
	w := newWorld(t, process(start("s"), exclusive("x"), pass("a"), pass("b"), parallel("j"), end("e"),
		path("s", "x"), pathIf("x", "a", "true"), pathIf("x", "b", "false"), path("a", "j", "e"), path("b", "j")))
	w.start("").isFailed(fault.JoinDeadlock)

	w = newWorld(t, process(start("s"), parallel("f"), exclusive("x"), pass("a"), pass("b"), parallel("j"), end("e"), catch("t", after("PT1H")), end("e2"),
		path("s", "f", "x"), path("f", "t", "e2"), pathIf("x", "a", "true"), pathIf("x", "b", "false"), path("a", "j", "e"), path("b", "j")))
	i := w.start("")
	i.want("timer t")
	i.fails(fault.JoinDeadlock, i.timerEvent("t"))
}

// Model 7.
func TestGatewaysNeverReevaluate(t *testing.T) {
	w := newWorld(t, process(start("s"), el("sendTask", "emit", send("out")), exclusive("x"), catch("m", source("decisions")), worker("no"), end("e"),
		path("s", "emit", "x"), pathIf("x", "m", "payload = 1"), pathIf("x", "no", "payload != 1"), path("m", "e"), path("no", "e")))
	i := w.start(`{"payload": 1}`)
	i.want("message m")
	if got := i.message("decisions", "", `2`); got != step.Applied {
		t.Fatal(got)
	}
	i.want("completed")
	if len(w.emitted) != 1 {
		t.Errorf("%d emissions, want 1", len(w.emitted))
	}
}

func TestImplicitStartAndEnd(t *testing.T) {
	w := newWorld(t, process(worker("a"), worker("b"), sub("c", worker("d")), path("b", "c")))
	i := w.start("")
	i.want("task a, task b")
	i.complete("a", "")
	i.complete("b", "")
	i.want("task d")
	i.complete("d", "")
	i.want("completed")
}

func TestCompletionBeatsTimeoutOfTheSameInstant(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundary("late", "a", after("PT1H")), end("e"), worker("b"), end("e2"), path("s", "a", "e"), path("late", "b", "e2")))
	i := w.start("")
	timer := i.timerEvent("late")
	w.now = timer.At
	done := i.completion("a", "")
	done.At = timer.At
	got := i.drive(timer, done)
	if got[0] != step.Unmatched || got[1] != step.Applied {
		t.Fatalf("outcomes %v", got)
	}
	i.want("completed")
}

// Model 8: completion, timer and message in one fold.
func TestSiblingBoundariesVanish(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundary("late", "a", after("PT1H")), boundary("msg", "a", message("m1")),
		worker("main"), worker("x"), worker("y"), path("s", "a", "main"), path("late", "x"), path("msg", "y")))
	i := w.start("")
	i.want("message msg, task a, timer late")
	timer, done, msg := i.timerEvent("late"), i.completion("a", ""), messageEvent(t, "m1", "", "")
	w.now = timer.At
	msg.At, done.At = timer.At.Add(1000), timer.At.Add(1000)
	if got := i.drive(done, timer, msg); got[0] != step.Unmatched || got[1] != step.Applied || got[2] != step.Unmatched {
		t.Fatalf("outcomes %v", got)
	}
	i.want("task x")
}

// Model 9.
func TestNonInterruptingKeepsScopeOpen(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("msg", "a", message("m1")), worker("side"), end("e"), path("s", "a", "e"), path("msg", "side")))
	i := w.start("")
	i.message("m1", "", "")
	i.message("m1", "", "")
	i.want("message msg, task a, task side, task side")
	i.complete("a", "")
	i.want("task side, task side")
	if got := i.message("m1", "", ""); got != step.Unmatched {
		t.Fatalf("the boundary fired again: %s", got)
	}
	i.complete("side", "")
	i.complete("side", "")
	i.want("completed")
}

func TestOneEventWinsTheGroup(t *testing.T) {
	w := newWorld(t, process(start("s"), eventGate("g"), catch("m", message("m1")), catch("tm", after("PT1H")), el("receiveTask", "r", source("orders")), worker("a"), worker("b"), worker("c"),
		path("s", "g", "m", "a"), path("g", "tm", "b"), path("g", "r", "c")))
	i := w.start("")
	i.want("message m, message r, timer tm")
	late := i.timerEvent("tm")
	i.message("orders", "", `{"id": 7}`)
	i.want("task c")
	if got := i.drive(late); got[0] != step.Unmatched {
		t.Fatal(got)
	}
	if i.variable("payload") != `{"id":7}` {
		t.Errorf("payload is %s", i.variable("payload"))
	}
}

func TestLateMessageIsUnmatched(t *testing.T) {
	w := newWorld(t, process(start("s"), catch("m", message("m1")), worker("a"), path("s", "m", "a")))
	i := w.start("")
	i.message("m1", "", "")
	if got := i.message("m1", "", ""); got != step.Unmatched || i.last.Commit != nil {
		t.Fatalf("%s, commit %v", got, i.last.Commit)
	}
}

func TestCycleDoesNotDrift(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("tick", "a", every("R4/PT10M")), pass("b"), path("s", "a"), path("tick", "b")))
	i := w.start("")
	began := w.now
	for n := 1; n <= 2; n++ {
		ev := i.timerEvent("tick")
		if want := began.Add(time10(n)); !ev.At.Equal(want) {
			t.Fatalf("tick %d is due %v, want %v", n, ev.At, want)
		}
		w.now = ev.At.Add(time10(1) / 3) // fired late
		i.applied(ev)
	}
	w.now = began.Add(time10(7) + 1) // 3 to 7 are overdue: they coalesce
	i.applied(i.timerEvent("tick"))
	if got, want := i.at("tick").Due, began.Add(time10(8)); !got.Equal(want) {
		t.Fatalf("due %v, want %v", got, want)
	}
	i.fire("tick")
	i.want("task a") // R4: fired four times
}

// A cycle with a start or an end of its own keeps to it, whenever it is armed.
func TestCycleKeepsToItsInterval(t *testing.T) {
	for cycle, want := range map[string]string{ // the world begins on the 31st at twelve
		"R3/2026-01-31T11:00:00Z/PT40M":               "12:20",
		"R/PT20M/2026-01-31T12:50:00Z":                "12:10 12:30 12:50",
		"R/2026-01-31T13:00:00Z/2026-01-31T13:30:00Z": "13:00 13:30 14:00 14:30",
		"R/PT20M/2026-01-31T12:00:00Z":                "",
	} {
		w := newWorld(t, process(start("s"), worker("a"), boundaryOn("tick", "a", every(cycle)), pass("b"), path("s", "a"), path("tick", "b")))
		i := w.start("")
		var fired []string
		for len(fired) < 4 && strings.Contains(i.waiting(), "timer") {
			fired = append(fired, i.at("tick").Due.Format("15:04"))
			i.fire("tick")
		}
		if got := strings.Join(fired, " "); got != want {
			t.Errorf("%s fired at %s, want %s", cycle, got, want)
		}
	}
}

func TestCycleOfNoRepeatsNeverFires(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundaryOn("tick", "a", every("R0/PT10M")), pass("b"), path("s", "a"), path("tick", "b")))
	w.start("").want("task a")
}

func TestMonthsAreAddedInUTC(t *testing.T) {
	w := newWorld(t, process(start("s"), catch("m", after("P1M")), path("s", "m")))
	i := w.start("")
	if got := i.at("m").Due.Format("2006-01-02T15:04"); got != "2026-02-28T12:00" {
		t.Errorf("due %s", got)
	}
}

func TestFailedKeepsTheStateBefore(t *testing.T) {
	w := newWorld(t, process(start("s", alias("order", "id")), worker("a"), exclusive("x"), worker("b"), path("s", "a", "x"), pathIf("x", "b", "ok")))
	i := w.start(`{"id": 5, "ok": true}`)
	before := i.snapshot()
	i.fails(fault.GatewayNoFlow, i.completion("a", `{"ok": false}`))
	s := i.snapshot()
	if s.Failure.Node != "x" || s.Failure.Code != string(fault.GatewayNoFlow) || len(s.Failure.Event) == 0 {
		t.Errorf("failure %+v", s.Failure)
	}
	if i.variable("ok") != "true" || len(s.Tokens) != len(before.Tokens) || s.Tokens[0] != before.Tokens[0] {
		t.Errorf("the state changed: ok=%s", i.variable("ok"))
	}
	if len(i.waits) != 0 || len(i.tasks) != 0 || len(i.aliases) != 1 {
		t.Errorf("rows of a failed instance: %d waits %d tasks %d aliases", len(i.waits), len(i.tasks), len(i.aliases))
	}
	if got := i.drive(step.Event{Kind: step.KindTimer, Wait: 1}); got[0] != step.NotTried {
		t.Errorf("a failed instance answered %s", got[0])
	}
}

func TestRestoreIsTheInverse(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), boundary("late", "a", after("PT1H")), exclusive("x"), worker("b"), path("s", "a", "x"), pathIf("x", "b", "ok"), path("late", "b")))
	i := w.start(`{"ok": true}`)
	old := i.at("a").ID
	var oldTask ports.TaskID
	for id := range i.tasks {
		oldTask = id
	}
	i.fails(fault.GatewayNoFlow, i.completion("a", `{"ok": false}`))
	i.restore(step.DropEvent)
	i.want("task a, timer late")
	if i.at("a").ID != old {
		t.Error("the wait has a new id")
	}
	if _, stale := i.tasks[oldTask]; stale {
		t.Error("a stale worker would find its task")
	}
	i.complete("a", `{"ok": true}`)
	i.want("task b")
}

func TestReplayIsExactlyOnce(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), exclusive("x"), worker("b"), path("s", "a", "x"), pathIf("x", "b", "ok")))
	i := w.start("")
	i.fails(fault.ExpressionNotBoolean, i.completion("a", `{"n": 1}`))
	i.restore(step.ReplayEvent)
	i.want("task a")
	if len(w.pending) != 1 || w.pending[0].Kind != ports.KindReplay {
		t.Fatalf("pending: %+v", w.pending)
	}
	i.applied(step.Event{Kind: step.KindSetVariables, Payload: value(t, `{"ok": true}`)})
	replay := w.pending[0]
	w.deliver()
	i.want("task b")
	if i.variable("n") != "1" {
		t.Error("the payload of the kept event is lost")
	}
	w.deliverOne(replay)
	i.want("task b")
}

func TestATargetMayBeInsideAContext(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a", output("order.customer.name", "n"), output("fresh.x", "n")), path("s", "a")))
	i := w.start(`{"order": {"id": 1, "customer": {"age": 3}}}`)
	i.complete("a", `{"n": "Ann"}`)
	if got := i.variable("order"); got != `{"customer":{"age":3,"name":"Ann"},"id":1}` || i.variable("fresh") != `{"x":"Ann"}` {
		t.Errorf("order %s fresh %s", got, i.variable("fresh"))
	}
}

func TestFailedStartIsReplayed(t *testing.T) {
	w := newWorld(t, process(start("s"), el("businessRuleTask", "d", `<zeebe:calledDecision decisionId="rate" resultVariable="rate"/>`), worker("a"), path("s", "d", "a")))
	asked := ports.InboxRef{Tenant: "t1", Channel: "orders", Event: ports.NewKey("1")}
	i := w.startAt("p", step.Event{Kind: step.KindStart, Payload: value(t, `{"n": 2}`), Consumed: &ports.Consumed{InboxRef: asked}})
	i.isFailed(fault.DecisionFailed)
	i.restore(step.ReplayEvent)
	w.deliver()
	i.isFailed(fault.DecisionFailed) // nothing has been repaired: the event is still kept
	i.p.Decisions = doubling{}
	i.restore(step.ReplayEvent)
	w.deliver()
	i.want("task a")
	if i.variable("rate") != "4" {
		t.Errorf("rate is %s", i.variable("rate"))
	}
	i.complete("a", "")
	if w.replies[asked.Event].Status != 200 {
		t.Error("who asked first has no answer")
	}
}

// doubling decides every decision as twice n.
type doubling struct{}

func (doubling) Decide(_ string, env feel.Env) (feel.Value, error) {
	x, err := feel.Compile("n * 2")
	if err != nil {
		return nil, err
	}
	return x.Eval(env)
}

func (doubling) Rows(decision string, v feel.Value) feel.List {
	return feel.List{feel.Context{decision: v}}
}

func TestCancelEndsEvenAFailedInstance(t *testing.T) {
	w := newWorld(t, process(`<extensionElements><q:alias name="order" expression="id" unique="true"/></extensionElements>`, start("s"), worker("a"), exclusive("x"), worker("b"), path("s", "a", "x"), pathIf("x", "b", "ok")))
	i := w.start(`{"id": 1}`)
	if len(i.aliases) != 1 {
		t.Fatal("the process has no alias")
	}
	i.fails(fault.ExpressionNotBoolean, i.completion("a", ""))
	i.applied(step.Event{Kind: step.KindCancel})
	i.want("cancelled")
	if len(i.aliases) != 0 {
		t.Error("the key is still reserved")
	}
	if got := i.drive(step.Event{Kind: step.KindCancel}); got[0] != step.Unmatched || i.last.Commit != nil {
		t.Errorf("an instance that has ended answered %s", got[0])
	}
}

func TestStartsOnlyAtStarts(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), worker("b"), path("s", "a", "b")))
	for _, node := range []string{"b", "nowhere"} {
		w.startAt("p", step.Event{Kind: step.KindStart, Node: node}).isFailed(fault.NodeUnknown)
	}
}

func TestFailedStartLeavesARow(t *testing.T) {
	xml := process(start("s"), exclusive("x"), worker("b"), path("s", "x"), pathIf("x", "b", "ok"))
	w := newWorld(t, xml)
	consumed := &ports.Consumed{InboxRef: ports.InboxRef{Tenant: "t1", Channel: "orders", Event: ports.NewKey("1")}}
	i := w.startAt("p", step.Event{Kind: step.KindStart, Payload: value(t, `{"n": 1}`), Consumed: consumed})
	i.isFailed(fault.ExpressionNotBoolean)
	if s := i.snapshot(); len(s.Scopes) != 0 || len(s.Failure.Event) == 0 {
		t.Errorf("the snapshot is not empty, or its event is lost: %+v", s)
	}
	if i.last.Start.Consumed == nil {
		t.Error("the message is not consumed")
	}
	if got := i.drive(step.Event{Kind: step.KindTimer, Wait: 3}); got[0] != step.NotTried {
		t.Error(got)
	}
}

func (i *instance) restore(what step.KeptEvent) {
	i.w.t.Helper()
	i.last = step.Restore(i.p, step.Claimed{
		Claim: ports.Claim{Ref: i.ref, Owner: "r/1", Epoch: 1}, Row: ports.Instance{Ref: i.ref, Snapshot: i.data}, Step: i.w.stepID(), At: i.w.now,
	}, what)
	if i.last.Err != nil {
		i.w.t.Fatal(i.last.Err)
	}
	i.take(i.last.Commit)
}
