package migrate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/migrate"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

var (
	no   = migrate.Facts{}
	plan = migrate.Plan{}
)

func mapped(pairs ...string) migrate.Plan {
	p := migrate.Plan{Nodes: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		p.Nodes[pairs[i]] = pairs[i+1]
	}
	return p
}

func only(codes ...fault.Code) []fault.Code { return codes }

func linear(middle ...string) []string {
	return append([]string{start(), path("s", "a", "e"), end()}, middle...)
}

func TestATaskMovesUnderAnotherNameAndGoesOn(t *testing.T) {
	w := started(t, `{"x": 1}`, linear(task("a"))...)
	before := w.at("a")
	w.move(mapped("a", "b"), start(), path("s", "b", "c", "e"), end(), taskOn("b", "a"), task("c"))
	if w.want("task b"); w.at("b").ID != before.ID || w.at("b").Task != before.Task {
		t.Fatalf("got %+v, want the wait and task of %+v", w.at("b"), before)
	}
	if m := w.last.Move; len(m.Waits) != 1 || len(m.Tasks) != 1 || len(m.Topics) != 0 {
		t.Fatalf("got %+v, want one wait and one task under another name", m)
	}
	w.do("b")
	w.do("c")
	w.want("completed")
}

func TestTheSameModelChangesNothingButTheRevision(t *testing.T) {
	model := append(linear(task("a")), boundary("late", "a", after("PT1H")), path("late", "e"), boundary("told", "a", onMessage("keyed")), path("told", "e"))
	w := started(t, `{"key": 7}`, model...)
	w.want("message told, task a, timer late")
	due := w.at("late").Due
	w.now = w.now.Add(time.Minute)
	w.move(plan, model...)
	w.want("message told, task a, timer late")
	if !w.at("late").Due.Equal(due) {
		t.Fatalf("due %v, want %v", w.at("late").Due, due)
	}
	if m := w.last; len(m.Move.Waits)+len(m.Move.Tasks)+len(m.Waits)+len(m.Drop.Waits)+len(m.Aliases)+len(m.Drop.Aliases)+len(m.Deliveries)+len(m.Outbox) != 0 {
		t.Fatalf("got %+v, want nothing beside the move", m)
	}
	w.applied(message(t, "keyed", "7", `{}`))
	w.want("completed")
}

func TestTimersAreArmedAnewOnlyWhenAsked(t *testing.T) {
	old := linear(catching("a", after("PT1H")))
	now := linear(catching("a", after("PT2H")))
	w := started(t, `{}`, old...)
	due := w.at("a").Due
	w.now = w.now.Add(10 * time.Minute)
	w.move(plan, now...)
	if !w.at("a").Due.Equal(due) {
		t.Fatalf("kept: due %v, want %v", w.at("a").Due, due)
	}
	w = started(t, `{}`, old...)
	w.now = w.now.Add(10 * time.Minute)
	w.move(migrate.Plan{RecomputeTimers: true}, now...)
	if want := w.now.Add(2 * time.Hour); !w.at("a").Due.Equal(want) || len(w.last.Move.Waits) != 1 {
		t.Fatalf("recomputed: due %v, want %v; %+v", w.at("a").Due, want, w.last.Move)
	}
}

func TestBoundariesThatGoAreDroppedAndNewOnesAreArmed(t *testing.T) {
	w := started(t, `{"key": 1}`, append(linear(task("a")), boundary("b1", "a", onMessage("keyed")), path("b1", "e"), boundary("b2", "a", after("PT1H")), path("b2", "e"))...)
	w.move(plan, append(linear(task("a")), boundary("b1", "a", after("PT5M")), path("b1", "e"), boundary("b3", "a", onSignal("s1")), path("b3", "e"))...)
	w.want("signal b3, task a, timer b1")
	if want := w.now.Add(5 * time.Minute); !w.at("b1").Due.Equal(want) {
		t.Fatalf("due %v, want %v", w.at("b1").Due, want)
	}
	if len(w.last.Drop.Waits) != 2 || len(w.last.Drop.Aliases) != 1 || len(w.last.Waits) != 2 {
		t.Fatalf("got %+v", w.last)
	}
	for _, word := range []string{`"b1" is gone`, `"b2" is gone`, `"b1" is new`, `"b3" is new`} {
		if !slices.ContainsFunc(w.notes, func(n string) bool { return strings.Contains(n, word) }) {
			t.Errorf("notes %q do not say %s", w.notes, word)
		}
	}
	w.applied(step.Event{Kind: step.KindSignal, Wait: ports.WaitID(w.at("b3").ID)})
	w.want("completed")
}

// A boundary timer that fires once, and has, must not be armed again by moving.
func TestABoundaryThatHasFiredStaysFired(t *testing.T) {
	model := append(linear(task("a")), with("boundaryEvent", "late", `attachedToRef="a" cancelActivity="false"`, after("PT1H")), path("late", "e"))
	w := started(t, `{}`, model...)
	w.now = w.at("late").Due
	w.applied(step.Event{Kind: step.KindTimer, Wait: ports.WaitID(w.at("late").ID)})
	w.want("task a")
	w.move(plan, model...)
	w.want("task a")
}

func TestEventSubProcessesArmAndDrop(t *testing.T) {
	sub := func(id, with string, inside ...string) string {
		return `<subProcess id="` + id + `" triggeredByEvent="true">` + `<startEvent id="st_` + id + `" isInterrupting="` + with + `">` + strings.Join(inside, "") + `</startEvent>` +
			path("st_"+id, "w_"+id) + task("w_"+id) + `</subProcess>`
	}
	w := started(t, `{}`, append(linear(task("a")), sub("x", "false", onMessage("m1")), sub("y", "true", after("PT1H")))...)
	w.want("message st_x, task a, timer st_y")
	w.applied(message(t, "m1", "", `{}`))
	w.want("message st_x, task a, task w_x, timer st_y")
	w.move(mapped("x", "x2", "st_x", "st_x2", "w_x", "w_x2"), append(linear(task("a")), sub("x2", "false", onMessage("m2")), sub("z", "true", onSignal("s1")))...)
	w.want("message st_x2, signal st_z, task a, task w_x2")
	if got := w.drive(message(t, "m1", "", `{}`)); got != step.Unmatched {
		t.Fatalf("the old message was %s", got)
	}
	w.applied(message(t, "m2", "", `{}`))
	w.applied(step.Event{Kind: step.KindSignal, Wait: ports.WaitID(w.at("st_z").ID)})
	w.want("task w_z")
	w.refused(plan, no, only(fault.MigrateNode), linear(task("a"))...) // the interrupted scope's handler is gone
	w.do("w_z")
	w.want("completed")
}

func TestARunningEventSubProcessKeepsItsFlag(t *testing.T) {
	sub := func(interrupting string) string {
		return `<subProcess id="x" triggeredByEvent="true"><startEvent id="st" isInterrupting="` + interrupting + `">` + onMessage("m1") + `</startEvent>` + path("st", "w") + task("w") + `</subProcess>`
	}
	w := started(t, `{}`, append(linear(task("a")), sub("false"))...)
	w.applied(message(t, "m1", "", `{}`))
	w.refused(plan, no, only(fault.MigrateScope), append(linear(task("a")), sub("true"))...)
}

func TestTheChannelAndKeyOfAWaitFollowTheModel(t *testing.T) {
	source := func(channel string) string { return ext(`<q:source channel="` + channel + `"/>`) }
	w := started(t, `{}`, linear(el("receiveTask", "a", source("orders")))...)
	w.move(plan, linear(el("receiveTask", "a", source("letters")))...)
	if got := w.drive(message(t, "orders", "", `{}`)); got != step.Unmatched {
		t.Fatalf("the old channel's message was %s", got)
	}
	w.applied(message(t, "letters", "", `{}`))
	w.want("completed")

	w = started(t, `{"key": 1, "other": 2}`, linear(catching("a", onMessage("keyed")))...)
	w.move(plan, linear(catching("a", onMessage("keyed2")))...)
	if got := w.drive(message(t, "keyed", "1", `{}`)); got != step.Unmatched {
		t.Fatalf("the old key's message was %s", got)
	}
	w.applied(message(t, "keyed", "2", `{}`))
	w.want("completed")
}

func TestKeysOfTheProcessFollowTheModel(t *testing.T) {
	alias := func(name, x, unique string) string {
		return `<q:alias name="` + name + `" expression="` + x + `" unique="` + unique + `"/>`
	}
	w := started(t, `{"n": 1, "m": 2}`, append([]string{ext(alias("n", "n", "false"))}, linear(task("a"))...)...)
	w.move(plan, append([]string{ext(alias("n", "n", "true"), alias("m", "m", "false"))}, linear(task("a"))...)...)
	var got []string
	for _, a := range w.snapshot().Aliases {
		got = append(got, a.Name+"="+a.Value)
		if a.Unique != (a.Name == "n") {
			t.Errorf("alias %+v", a)
		}
	}
	if want := []string{"n=1", "m=2"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if len(w.last.Drop.Aliases) != 1 || len(w.last.Aliases) != 2 {
		t.Fatalf("got %+v", w.last)
	}
}

func TestAnEventGatewayKeepsOneBranchAtLeast(t *testing.T) {
	gate := func(targets ...string) []string {
		parts := []string{start(), path("s", "g"), el("eventBasedGateway", "g"), end()}
		for _, target := range targets {
			id, def, _ := strings.Cut(target, " ")
			parts = append(parts, path("g", id, "e"), catching(id, def))
		}
		return parts
	}
	w := started(t, `{}`, gate("a "+onMessage("m1"), "b "+after("PT1H"))...)
	w.refused(plan, no, only(fault.MigrateGroup), gate("c "+onMessage("m2"), "d "+onSignal("s1"))...)
	w.refused(plan, no, only(fault.MigrateGroup), gate("a "+onSignal("s1"), "d "+onSignal("s2"))...) // the same id, another kind
	w.refused(mapped("g", "a"), no, only(fault.MigrateGroup), linear(catching("a", onMessage("m1")))...)
	w.move(mapped("a", "a2"), gate("a2 "+onMessage("m2"), "c "+onSignal("s1"))...)
	w.want("message a2, signal c")
	w.applied(step.Event{Kind: step.KindSignal, Wait: ports.WaitID(w.at("c").ID)})
	w.want("completed")
}

func TestSubProcessesAndLoopsKeepTheirShape(t *testing.T) {
	in := func(kind, id string, inside ...string) string {
		return el(kind, id, append(inside, el("startEvent", id+"s"), path(id+"s", id+"w", id+"e"), task(id+"w"), el("endEvent", id+"e"))...)
	}
	w := started(t, `{}`, linear(in("subProcess", "a"))...)
	w.refused(plan, no, only(fault.MigrateScope), linear(in("transaction", "a"))...)
	w.refused(mapped("aw", "w"), no, only(fault.MigrateScope), start(), path("s", "a", "w", "e"), end(), in("subProcess", "a"), task("w")) // the inner task would stand outside
	w.refused(plan, no, only(fault.MigrateScope), linear(task("a"))...)                                                                    // no sub-process any more
	w.refused(plan, no, only(fault.MigrateScope), start(), path("s", "o", "e"), end(), el("subProcess", "o", in("subProcess", "a")))
	w.move(mapped("a", "b", "aw", "bw"), start(), path("s", "b", "e"), end(), in("subProcess", "b"))
	w.want("task bw")
	w.do("bw")
	w.want("completed")

	loop := func(sequential string) string {
		return `<multiInstanceLoopCharacteristics isSequential="` + sequential + `">` + ext(`<zeebe:loopCharacteristics inputCollection="=items" inputElement="i"/>`) + `</multiInstanceLoopCharacteristics>`
	}
	w = started(t, `{"items": [1, 2]}`, linear(in("subProcess", "a", loop("false")))...)
	w.want("task aw, task aw")
	w.refused(plan, no, only(fault.MigrateScope), linear(in("subProcess", "a", loop("true")))...)
	w.refused(plan, no, only(fault.MigrateScope), linear(in("subProcess", "a"))...)
	w.move(mapped("a", "b", "aw", "bw"), start(), path("s", "b", "e"), end(), in("subProcess", "b", loop("false")))
	w.do("bw")
	w.do("bw")
	w.want("completed")

	w = started(t, `{"items": [1, 2]}`, linear(task("a"))...)
	w.refused(plan, no, only(fault.MigrateScope), linear(task("a", loop("false")))...)
}

func TestWhatWaitsKeepsItsKind(t *testing.T) {
	call := func(process string) string {
		return el("callActivity", "a", ext(`<zeebe:calledElement processId="`+process+`"/>`))
	}
	over := func(channel string, inside ...string) string {
		return with("serviceTask", "a", `implementation="channel:`+channel+`"`, inside...)
	}
	models := map[string]string{
		"task": task("a"), "message": catching("a", onMessage("m1")), "timer": catching("a", after("PT1H")), "signal": catching("a", onSignal("s1")),
		"condition": catching("a", when("x &gt; 1")), "call": call("child"), "answer": over("out"), "pull": over("pull"), "local": over("near"), "nothing": el("task", "a"),
	}
	for was, old := range models {
		if was == "local" || was == "nothing" {
			continue // they wait for nothing
		}
		for is, now := range models {
			w := started(t, `{"x": 0}`, linear(old)...)
			if was == is || was == "task" && is == "pull" || was == "pull" && is == "task" {
				w.move(plan, linear(now)...)
				continue
			}
			w.refused(plan, no, only(fault.MigrateKind), linear(now)...)
		}
	}
	w := started(t, `{}`, linear(task("a"))...)
	w.refused(plan, no, only(fault.MigrateNode), start(), path("s", "e"), end())
	w.refused(mapped("a", "nowhere"), no, only(fault.MigrateMapping, fault.MigrateNode), linear(task("a"))...)
}

func TestATaskGetsANewTopicOnlyWhileNobodyHasIt(t *testing.T) {
	w := started(t, `{}`, linear(taskOn("a", "x"))...)
	now := linear(taskOn("a", "y"))
	id := w.at("a").Task
	w.refused(plan, migrate.Facts{Locked: []ports.TaskID{id}}, only(fault.MigrateLocked), now...)
	w.refused(plan, migrate.Facts{Ending: []ports.TaskID{id}}, only(fault.MigrateEnding), now...)
	res := w.try(read(t, "new", now...), plan, migrate.Facts{Ending: []ports.TaskID{id}})
	if f := res.Refused(); f.Code != fault.MigrateEnding || f.Code.Disposition() != fault.Redeliver {
		t.Fatalf("got %v, want a refusal that passes", f)
	}
	same := w.try(read(t, "new", linear(taskOn("a", "x"))...), plan, migrate.Facts{Locked: []ports.TaskID{id}})
	if same.Refused() != nil {
		t.Fatalf("a locked task whose topic stays: %v", same.Refused())
	}
	w.move(plan, now...)
	if m := w.last.Move; len(m.Topics) != 1 || m.Topics[0].Topic != "y" || m.Topics[0].ID != id {
		t.Fatalf("got %+v", m)
	}
	w = started(t, `{"kind": "k"}`, linear(taskOn("a", "x"))...)
	w.move(plan, linear(taskOn("a", "=kind"))...)
	if m := w.last.Move; len(m.Topics) != 1 || m.Topics[0].Topic != "k" {
		t.Fatalf("computed: got %+v", m)
	}
}

func TestACallMovesOnceItsChildHasStarted(t *testing.T) {
	model := linear(el("callActivity", "a", ext(`<zeebe:calledElement processId="child"/>`)))
	w := started(t, `{}`, model...)
	child := w.at("a").Child
	if q := migrate.Ask(w.snapshot()); len(q.Children) != 1 || q.Children[0] != child {
		t.Fatalf("asks for %+v", q)
	}
	w.refused(plan, migrate.Facts{Starting: []ports.InstanceID{child}}, only(fault.MigrateStarting), model...)
	w.move(plan, model...)
	w.applied(step.Event{Kind: step.KindChildDone, Wait: ports.WaitID(w.at("a").ID), From: step.Source{Instance: child, Step: 1}})
	w.want("completed")
}

func TestARetryKeepsItsAttempts(t *testing.T) {
	call := func(retry string) string { return with("serviceTask", "a", `implementation="channel:out"`, ext(retry)) }
	w := started(t, `{}`, linear(call(`<q:retry maxAttempts="5" initialDelay="PT1M"/>`))...)
	for range 3 {
		w.applied(step.Event{Kind: step.KindCallFailed, Wait: ports.WaitID(w.at("a").ID), Attempt: int(w.at("a").Attempt), Code: "X"})
		w.want("retry a")
		if w.snapshot().Tokens[0].Tries < 3 {
			w.now = w.at("a").Due
			w.applied(step.Event{Kind: step.KindRetryDue, Wait: ports.WaitID(w.at("a").ID)})
		}
	}
	due := w.at("a").Due
	w.refused(plan, no, only(fault.MigrateRetry), linear(call(``))...)
	w.refused(plan, no, only(fault.MigrateRetry), linear(task("a"))...)
	w.move(plan, linear(call(`<q:retry maxAttempts="4"/>`))...)
	if !w.at("a").Due.Equal(due) || w.at("a").Attempt != 3 {
		t.Fatalf("got %+v, want due %v after 3 attempts", w.at("a"), due)
	}
	w.program.Deployment = "old"
	w.move(plan, linear(call(`<q:retry maxAttempts="2"/>`))...)
	if !w.at("a").Due.Equal(w.now) || w.snapshot().Tokens[0].Tries != 3 {
		t.Fatalf("got %+v, want it due now (%v)", w.at("a"), w.now)
	}
}

// forked is two tasks that join.
func forked(gateway string, flows ...string) []string {
	return append([]string{
		start(), path("s", "f"), el("parallelGateway", "f"), path("f", "a"), path("f", "b"), task("a"), task("b"), el(gateway, "j"), end(),
	}, flows...)
}

func TestTokensThatWaitToBeJoinedKeepTheirFlow(t *testing.T) {
	joined := []string{path("a", "j", "e"), path("b", "j")}
	for _, gateway := range []string{"parallelGateway", "inclusiveGateway"} {
		w := started(t, `{}`, forked(gateway, joined...)...)
		w.do("a")
		w.want("task b")
		other := map[string]string{"parallelGateway": "inclusiveGateway", "inclusiveGateway": "parallelGateway"}[gateway]
		w.refused(plan, no, only(fault.MigrateFlow), forked(other, joined...)...)
		w.refused(plan, no, only(fault.MigrateFlow), forked(gateway, path("a", "x", "j", "e"), path("b", "j"), el("task", "x"))...)
		renamed := `<sequenceFlow id="aj" sourceRef="a" targetRef="j"/>` + path("j", "e") // found between the same nodes
		w.move(plan, forked(gateway, renamed, path("b", "j"))...)
		if gateway == "inclusiveGateway" && len(w.last.Deliveries) != 1 {
			t.Fatalf("an inclusive gateway is not woken: %+v", w.last.Deliveries)
		}
		w.do("b")
		w.want("completed")
	}
	w := started(t, `{}`, forked("parallelGateway", joined...)...)
	w.do("a")
	w.move(mapped("a-j", "x-j"), forked("parallelGateway", path("a", "x", "j", "e"), path("b", "j"), el("task", "x"))...)
	w.do("b")
	w.want("completed")
}

// Three tokens join, two are there: a new model in which two are all would never be asked again.
func TestAParallelJoinThatWouldBeFullIsRefused(t *testing.T) {
	model := func(third string) []string {
		return append(forked("parallelGateway", path("a", "j", "e"), path("b", "j")), path("f", "c"), task("c"), third)
	}
	w := started(t, `{}`, model(path("c", "j"))...)
	w.do("a")
	w.do("b")
	w.want("task c")
	w.refused(plan, no, only(fault.MigrateFlow), model(path("c", "e"))...)
}

func TestTwoHeldFlowsCannotBecomeOne(t *testing.T) {
	model := func(flows ...string) []string {
		return append(forked("parallelGateway", flows...), path("f", "c"), task("c"), path("c", "j"))
	}
	w := started(t, `{}`, model(path("a", "j", "e"), path("b", "j"))...)
	w.do("a")
	w.do("b")
	w.refused(mapped("b-j", "a-j"), no, only(fault.MigrateFlow), model(path("a", "j", "e"), path("b", "j"))...)
}

func TestAnInclusiveJoinThatNeedNotWaitFiresInTheNextStep(t *testing.T) {
	w := started(t, `{}`, forked("inclusiveGateway", path("a", "j", "e"), path("b", "j"))...)
	w.do("a")
	w.move(plan, forked("inclusiveGateway", path("a", "j", "last", "e"), path("b", "e"), task("last"))...)
	w.want("task b")
	w.wake()
	w.want("task b, task last")
}

// wake delivers what a migration has sent to its instance.
func (w *world) wake() {
	w.Helper()
	if len(w.last.Deliveries) != 1 || w.last.Deliveries[0].Kind != ports.KindWake || w.last.Deliveries[0].Target != w.ref().ID {
		w.Fatalf("got %+v, want one that wakes", w.last.Deliveries)
	}
	ev, err := step.EventOf(w.last.Deliveries[0])
	if err != nil {
		w.Fatal(err)
	}
	w.applied(ev)
}

func TestAConditionThatIsTrueAlreadyFiresInTheNextStep(t *testing.T) {
	w := started(t, `{"x": 5}`, linear(task("a"))...)
	w.move(plan, append(linear(task("a")), boundary("c", "a", when("x &gt; 3")), path("c", "b"), task("b"))...)
	w.want("condition c, task a")
	w.wake()
	w.want("task b")

	w = started(t, `{"x": 5}`, linear(catching("a", when("x &gt; 9")))...)
	w.move(plan, linear(catching("a", when("x &gt; 4")))...)
	w.wake()
	w.want("completed")
}

func TestCompensationKeepsItsHandler(t *testing.T) {
	model := func(undo string) []string {
		return []string{
			start(), path("s", "a", "w", "t", "e"), end(), task("a"), undo, task("w"),
			el("intermediateThrowEvent", "t", "<compensateEventDefinition/>"),
		}
	}
	w := started(t, `{}`, model(undoing("a"))...)
	w.do("a")
	w.want("task w")
	w.refused(plan, no, only(fault.MigrateUndo), model("")...)
	w.move(plan, model(undoing("a"))...)
	w.do("w")
	w.want("task undo_a")
	w.program.Deployment = "old"
	w.refused(plan, no, only(fault.MigrateUndoing), model(undoing("a"))...)
	w.do("undo_a")
	w.want("completed")

	w = started(t, `{}`, model(undoing("a"))...)
	w.do("a")
	w.move(migrate.Plan{DropCompensation: true}, model("")...)
	w.do("w")
	w.want("completed")
}

// What a sub-process has done is kept with its own handler inside: that is no stranger to it.
func TestCompensationOfASubProcessMovesWithIt(t *testing.T) {
	model := func(inner string) []string {
		return []string{
			start(), path("s", "sub", "w", "t", "e"), end(),
			el("subProcess", "sub", el("startEvent", "ss"), path("ss", "a"), task("a"), inner), undoing("sub"), task("w"),
			el("intermediateThrowEvent", "t", "<compensateEventDefinition/>"),
		}
	}
	w := started(t, `{}`, model(undoing("a"))...)
	w.do("a")
	w.refused(plan, no, only(fault.MigrateUndo), model("")...)
	w.move(plan, model(undoing("a"))...)
	w.do("w")
	w.want("task undo_sub")
	w.do("undo_sub")
	w.want("task undo_a")
	w.do("undo_a")
	w.want("completed")
}

func TestAFailedInstanceMovesAndGoesOn(t *testing.T) {
	broken := []string{start(), path("s", "a", "g"), end(), task("a"), el("exclusiveGateway", "g"), `<sequenceFlow id="f" sourceRef="g" targetRef="e"><conditionExpression>x = 2</conditionExpression></sequenceFlow>`}
	fixed := []string{start(), path("s", "a", "g", "e"), end(), task("a"), el("exclusiveGateway", "g")}
	w := started(t, `{"x": 1}`, broken...)
	stale := w.at("a").Task
	if got := w.drive(step.Event{Kind: step.KindTaskDone, Wait: ports.WaitID(w.at("a").ID)}); got != step.Failed {
		t.Fatalf("got %s, want it failed", got)
	}
	w.want("failed")
	w.refused(mapped("a", "b"), no, only(fault.MigrateEvent, fault.MigrateKind), append([]string{catching("b", after("PT1H")), path("s", "b", "e")}, start(), end())...)
	w.move(plan, fixed...) // without resume it moves and stays what it is
	w.want("failed")
	if w.last.Fault == nil || len(w.last.Waits) != 0 || len(w.last.Deliveries) != 0 {
		t.Fatalf("got %+v", w.last)
	}
	w.program.Deployment = "old"
	w.move(migrate.Plan{Resume: true}, fixed...)
	w.want("task a")
	if len(w.last.Waits) != 1 || len(w.last.Tasks) != 1 || w.at("a").Task == stale || w.last.Fault != nil {
		t.Fatalf("got %+v", w.last)
	}
	ev, err := step.EventOf(w.last.Deliveries[0])
	if err != nil || w.last.Deliveries[0].Kind != ports.KindReplay {
		t.Fatalf("got %+v, %v, want the kept event", w.last.Deliveries, err)
	}
	w.applied(ev)
	w.want("completed")
}

func TestAKeptEventFindsItsPlaceOrIsDropped(t *testing.T) {
	gate := `<sequenceFlow id="f" sourceRef="g" targetRef="e"><conditionExpression>x = 2</conditionExpression></sequenceFlow>`
	told := func(id string) string { return boundary(id, "a", onMessage("m1")) + path(id, "g") }
	old := []string{start(), path("s", "a", "e"), end(), task("a"), told("b"), el("exclusiveGateway", "g"), gate}
	w := started(t, `{"x": 1}`, old...)
	if got := w.drive(message(t, "m1", "", `{}`)); got != step.Failed {
		t.Fatalf("got %s, want it failed", got)
	}
	resume := migrate.Plan{Resume: true}
	without := []string{start(), path("s", "a", "e"), end(), task("a")}
	w.refused(resume, no, only(fault.MigrateEvent), without...)
	drop := resume
	drop.Event = step.DropEvent
	if res := w.try(read(t, "new", without...), drop, no); res.Refused() != nil || len(res.Step.Deliveries) != 0 {
		t.Fatalf("dropped: %+v", res)
	}
	moved := mapped("b", "b2")
	moved.Resume = true
	w.move(moved, start(), path("s", "a", "e"), end(), task("a"), told("b2"), el("exclusiveGateway", "g"), path("g", "e"))
	ev, err := step.EventOf(w.last.Deliveries[0])
	if err != nil {
		t.Fatal(err)
	}
	w.applied(ev)
	w.want("completed")
}

func TestAStartThatFailedStartsUnderTheNewModel(t *testing.T) {
	broken := []string{start(), path("s", "g"), end(), el("exclusiveGateway", "g"), `<sequenceFlow id="f" sourceRef="g" targetRef="e"><conditionExpression>x = 2</conditionExpression></sequenceFlow>`}
	w := started(t, `{"x": 1}`, broken...)
	w.want("failed")
	resume := migrate.Plan{Resume: true}
	drop := resume
	drop.Event = step.DropEvent
	w.refused(drop, no, only(fault.MigrateStuck), linear(task("a"))...) // without its start it would be nothing
	w.refused(resume, no, only(fault.MigrateEvent), el("startEvent", "s", onMessage("m1")), path("s", "a"), task("a"))
	w.move(resume, linear(task("a"))...)
	ev, err := step.EventOf(w.last.Deliveries[0])
	if err != nil {
		t.Fatal(err)
	}
	w.applied(ev)
	w.want("task a")
}

func TestWhatWouldWaitForNothingIsRefused(t *testing.T) {
	sub := `<subProcess id="x" triggeredByEvent="true"><startEvent id="st" isInterrupting="false">` + onMessage("m1") + `</startEvent></subProcess>`
	joining := []string{start(), path("s", "f"), el("exclusiveGateway", "f"), path("f", "j"), path("n", "j", "e"), el("parallelGateway", "j"), el("task", "n"), end()}
	w := started(t, `{}`, append(joining, sub)...)
	w.want("message st") // a token before a join that only the event sub-process keeps alive
	w.refused(plan, no, only(fault.MigrateStuck), joining...)
}

func TestWhatCannotBeComputedIsRefused(t *testing.T) {
	w := started(t, `{}`, linear(task("a"))...)
	w.refused(plan, no, only(fault.MigrateCompute), append(linear(task("a")), boundary("b", "a", onMessage("keyed")), path("b", "e"))...) // its key is null
}

// Everything that stands against a migration is said at once.
func TestEveryViolationIsListed(t *testing.T) {
	w := started(t, `{"items": [1]}`, forked("parallelGateway", path("a", "j", "e"), path("b", "j"))...)
	w.do("a")
	w.refused(mapped("b", "gone"), no, only(fault.MigrateFlow, fault.MigrateMapping, fault.MigrateNode), forked("inclusiveGateway", path("a", "j", "e"), path("b", "j"))...)
	res := w.try(read(t, "new", forked("inclusiveGateway", path("a", "j", "e"), path("b", "j"))...), mapped("b", "gone"), no)
	f := res.Refused()
	if f.Code != fault.MigrateRefused || len(f.All) != 3 {
		t.Fatalf("got %v with %d violations", f, len(f.All))
	}
	for _, v := range f.All {
		if v.Element == "" || v.Detail == "" {
			t.Errorf("violation %+v names no node", v)
		}
	}
}

func TestAnAdHocSubProcessKeepsItsOrder(t *testing.T) {
	in := func(ordering string, inner ...string) []string {
		return linear(with("adHocSubProcess", "a", `ordering="`+ordering+`"`, inner...))
	}
	w := started(t, `{}`, in("Sequential", task("x"), task("y"))...)
	w.want("task x")
	w.refused(plan, no, only(fault.MigrateScope), in("Parallel", task("x"), task("y"))...)
	w.refused(plan, no, only(fault.MigrateScope), in("Sequential", task("x"), task("z"))...) // y is still to be started
	w.move(mapped("y", "z"), in("Sequential", task("x"), task("z"))...)
	w.do("x")
	w.want("task z")
	w.do("z")
	w.want("completed")
}

func TestAComplexGatewayKeepsWhatItHasTaken(t *testing.T) {
	model := func(kind string) []string {
		return []string{
			start(), path("s", "f"), el("parallelGateway", "f"), path("f", "a"), path("f", "b"), task("a"), task("b"), path("a", "j", "n", "e"), path("b", "j"), task("n"), end(),
			el(kind, "j", map[string]string{"complexGateway": "<activationCondition>activationCount &gt; 0</activationCondition>"}[kind]),
		}
	}
	w := started(t, `{}`, model("complexGateway")...)
	w.do("a")
	w.want("task b, task n")
	w.refused(plan, no, only(fault.MigrateFlow), model("inclusiveGateway")...)
	w.move(plan, model("complexGateway")...)
	w.do("b")
	w.want("task n")
	w.do("n")
	w.want("completed")
}
