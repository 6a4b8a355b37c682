package step_test

import "testing"

// Whole processes, as people draw them, each with what a sceptic of engines looks at: what waits after every step.

const errorNamed = `<errorEventDefinition errorRef="e1"/>`

func TestBoundaryEventsOfSubProcessesAndLoops(t *testing.T) {
	for _, c := range []struct{ name, model, script string }{
		{
			"an error of one iteration leaves the whole multi-instance", process(start("s"),
				sub("sub", start("is"), sub("inner", start("iis"), worker("a"), path("iis", "a")), path("is", "inner"), multi("", over("[1, 2, 3]", "item"))),
				boundary("err", "sub", errorNamed), worker("h"), worker("after"), path("s", "sub", "after"), path("err", "h")), `
			want task a, task a, task a
			error a E1
			want task h
			done h
			want completed`,
		},
		{
			"a message of a multi-instance comes again and again", process(start("s"), worker("a", multi("", over("[1, 2]", "item"))), boundaryOn("b", "a", message("m1")), worker("h"), worker("after"),
				path("s", "a", "after"), path("b", "h")), `
			message m1
			message m1
			want message b, task a, task a, task h, task h
			done a
			done a
			want task after, task h, task h
			late m1`,
		},
		{
			"the boundary of a sub-process stays armed while an event sub-process runs on", process(start("s"),
				sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("ev", startOn("es", message("m1")), worker("h"), path("es", "h"))),
				boundary("late", "sub", after("PT1H")), worker("l"), worker("after"), path("s", "sub", "after"), path("late", "l")), `
			message m1
			done a
			want task h, timer late
			fire late
			want task l`,
		},
		{
			"an error that a boundary path throws again is caught further out", process(start("s"),
				sub("sub", start("is"), worker("a"), boundary("b", "a", errorNamed), end("x", errorNamed), path("is", "a"), path("b", "x")), boundary("ob", "sub", errorNamed), worker("h"), path("s", "sub"), path("ob", "h")), `
			error a E1
			want task h`,
		},
		{
			"what an event sub-process does not catch goes to the boundary", process(start("s"),
				sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("ev", start("es", errorDef("e2")), worker("h"), path("es", "h"))), boundary("ob", "sub", anyError()), worker("o"), path("s", "sub"), path("ob", "o")), `
			error a E1
			want task o`,
		},
		{
			"a boundary event sees what the inputs of its activity made", process(start("s"), worker("a", input("patience", `"PT2H"`), input("key", "order.id")), boundary("late", "a", `<timerEventDefinition><timeDuration>=duration(patience)</timeDuration></timerEventDefinition>`),
				boundary("off", "a", message("keyed")), worker("b"), path("s", "a"), path("off", "b")), `
			want message off, task a, timer late
			late keyed 8
			message keyed 7
			want task b`,
		},
		{
			"a receive task finds its key among its inputs", process(start("s"), elWith("receiveTask", "r", `messageRef="keyed"`, input("key", "order.id")), path("s", "r")), `
			want message r
			late keyed 8
			message keyed 7
			want completed`,
		},
	} {
		t.Run(c.name, func(t *testing.T) { whole(t, c.model, `{"order": {"id": "7"}}`, c.script) })
	}
}

func TestEventSubProcessesWithTimers(t *testing.T) {
	for _, c := range []struct{ name, model, script string }{
		{
			"interrupting, in one iteration of three", process(start("s"), sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("ev", start("es", after("PT1H")), worker("h"), path("es", "h")), multi("", over("[1, 2, 3]", "item"))),
				worker("after"), path("s", "sub", "after")), `
			want task a, task a, task a, timer es, timer es, timer es
			fire es
			want task a, task a, task h, timer es, timer es
			done h
			done a
			done a
			want task after`,
		},
		{
			"non-interrupting, three times by its cycle", process(start("s"), sub("sub", start("is"), worker("a"), path("is", "a"), eventSub("ev", startOn("es", every("R3/PT1H")), worker("h"), path("es", "h"))), worker("after"), path("s", "sub", "after")), `
			fire es
			want task a, task h, timer es
			fire es
			fire es
			want task a, task h, task h, task h
			done a
			done h
			done h
			want task h
			done h
			want task after`,
		},
		{
			"of the process, while a called one runs", family(start("s"), callActivity("c", "child"), path("s", "c"), eventSub("ev", start("es", after("PT1H")), worker("h"), path("es", "h"))), `
			deliver
			want call c, timer es
			fire es
			deliver
			want task h
			done h
			want completed
			on 1
			want cancelled`,
		},
		{
			"one inside the other: only its own is interrupted", process(start("s"), worker("a"), path("s", "a"),
				eventSub("ev", startOn("es", message("m1")), worker("h"), path("es", "h"), eventSub("ev2", start("es2", after("PT1H")), worker("h2"), path("es2", "h2")))), `
			message m1
			message m1
			want message es, task a, task h, task h, timer es2, timer es2
			fire es2
			want message es, task a, task h, task h2, timer es2
			done a
			done h
			want task h2
			done h2
			want completed`,
		},
	} {
		t.Run(c.name, func(t *testing.T) { whole(t, c.model, "", c.script) })
	}
}

func TestCalledProcessesWithMappings(t *testing.T) {
	for _, c := range []struct{ name, model, script string }{
		{
			"a multi-instance of calls gathers by index", family(start("s"), callActivity("c", "child", input("n", "item * 10"), output("got", "r"), multi("", gathering("[1, 2, 3]", "item", "all", "got"))), worker("a"), path("s", "c", "a")), `
			deliver
			on 2
			var n 20
			done work {"r": "two", "private": 1}
			on 1
			done work {"r": "one"}
			on 3
			done work {"r": "three"}
			deliver
			on 0
			want task a
			var all ["one","two","three"]
			var private`,
		},
		{
			"a boundary event ends all of them", family(start("s"), callActivity("c", "child", multi("", over("[1, 2]", "item"))), boundary("late", "c", after("PT1H")), worker("b"), path("s", "c"), path("late", "b")), `
			deliver
			on 1
			done work
			on 0
			deliver
			want call c, timer late
			fire late
			deliver
			want task b
			on 2
			want cancelled`,
		},
		{
			"one after the other", family(start("s"), callActivity("c", "child", multi(`isSequential="true"`, over("[1, 2]", "item"))), worker("a"), path("s", "c", "a")), `
			deliver
			on 1
			done work
			deliver
			on 2
			want task work
			var item 2
			done work
			deliver
			on 0
			want task a`,
		},
		{
			"an error passes through the one between", definitions(process(start("s"), callActivity("c", "middle"), boundary("b", "c", errorNamed), worker("h"), path("s", "c"), path("b", "h")),
				processNamed("middle", start("ms"), callActivity("mc", "leaf"), path("ms", "mc")), processNamed("leaf", start("ls"), end("le", errorNamed), path("ls", "le"))), `
			deliver
			want task h
			on 1
			want errored
			on 2
			want errored`,
		},
		{
			"each escalation of each child", definitions(process(start("s"), callActivity("c", "child", multi("", over("[1, 2]", "item"))), boundaryOn("b", "c", escalation("x1")), worker("h"), worker("after"), path("s", "c", "after"), path("b", "h")),
				processNamed("child", start("cs"), throw("x", escalation("x1")), worker("work"), path("cs", "x", "work"))), `
			deliver
			want call c, call c, task h, task h
			on 1
			done work
			on 2
			done work
			deliver
			on 0
			want task after, task h, task h`,
		},
		{
			"what was called is undone by the handler of the call alone", family(start("s"), callActivity("c", "child"), handler("c", "uc"), throw("undo", compensateAll()), worker("after"), path("s", "c", "undo", "after")), `
			deliver
			on 1
			done work {"r": 1}
			deliver
			on 0
			want task uc
			input uc r 1
			done uc
			want task after`,
		},
		{
			"terminate ends a child too", family(start("s"), callActivity("c", "child"), worker("a"), end("x", terminate()), path("s", "c"), path("s", "a", "x")), `
			deliver
			done a
			want completed
			deliver
			on 1
			want cancelled`,
		},
	} {
		t.Run(c.name, func(t *testing.T) { whole(t, c.model, "", c.script) })
	}
}

func TestTransactionsAndCompensation(t *testing.T) {
	for _, c := range []struct{ name, model, script string }{
		{
			"a handler that waits, inside an event sub-process that rethrows", process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), worker("b"), path("is", "a", "b"),
				eventSub("ev", start("es", errorNamed), throw("undo", compensateAll()), worker("h"), end("again", errorDef("e2")), path("es", "undo", "h", "again"))), boundary("err", "sub", errorDef("e2")), worker("failed"), path("s", "sub"), path("err", "failed")), `
			done a
			error b E1
			want task ua
			done ua
			want task h
			done h
			want task failed`,
		},
		{
			"thrown in an event sub-process it undoes that one's own activities, then those around it", process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), worker("b"), path("is", "a", "b"),
				eventSub("ev", start("es", errorNamed), worker("c"), handler("c", "uc"), throw("undo", compensateAll()), worker("h"), path("es", "c", "undo", "h"))), worker("after"), path("s", "sub", "after")), `
			done a
			error b E1
			done c
			want task uc
			done uc
			want task ua
			done ua
			want task h
			done h
			want task after`,
		},
		{
			"an end event that does not wait for what it undoes: its scope does", process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), end("undo", `<compensateEventDefinition waitForCompletion="false"/>`), path("is", "a", "undo")), worker("after"), path("s", "sub", "after")), `
			done a
			want task ua
			done ua
			want task after`,
		},
		{
			"a boundary ends a compensation that runs inside", process(start("s"), sub("sub", start("is"), worker("a"), handler("a", "ua"), throw("undo", compensateAll()), worker("b"), path("is", "a", "undo", "b")),
				boundary("late", "sub", after("PT1H")), worker("l"), path("s", "sub"), path("late", "l")), `
			done a
			want task ua, timer late
			fire late
			want task l
			done l
			want completed`,
		},
		{
			"cancel undoes a completed multi-instance and kills a running call", definitions(process(start("s"), el("transaction", "tx", start("is"), worker("a", multi("", over("[1, 2]", "item"))), handler("a", "ua"), callActivity("c", "child"), handler("c", "wrong"), worker("decide"), end("no", cancelDef()),
				path("is", "a", "decide", "no"), path("a", "c")), boundary("cb", "tx", cancelDef()), worker("cancelled"), path("s", "tx"), path("cb", "cancelled")),
				processNamed("child", start("cs"), worker("work"), path("cs", "work"))), `
			done a
			done a
			deliver
			want call c, task decide
			done decide
			want task ua, task ua
			deliver
			on 1
			want cancelled
			on 0
			done ua
			done ua
			want task cancelled`,
		},
		{
			"a hazard is no cancel: nothing is undone", process(start("s"), el("transaction", "tx", start("is"), worker("a"), handler("a", "ua"), worker("b"), path("is", "a", "b")), boundary("err", "tx", errorNamed), worker("hazard"), path("s", "tx"), path("err", "hazard")), `
			done a
			error b E1
			want task hazard
			done hazard
			want completed`,
		},
	} {
		t.Run(c.name, func(t *testing.T) { whole(t, c.model, "", c.script) })
	}
}

func TestInclusiveJoinsInLoops(t *testing.T) {
	loop := process(start("s"), exclusive("m"), inclusive("f"), worker("a"), worker("b"), worker("c"), inclusive("j"), exclusive("x"), end("e"),
		path("s", "m", "f"), pathIf("f", "a", "true"), pathIf("f", "b", "both"), pathIf("f", "c", "false"), path("a", "j", "x"), path("b", "j"), path("c", "j"), pathIf("x", "m", "again"), pathIf("x", "e", "not(again)"))
	whole(t, loop, `{"again": true, "both": true}`, `
		want task a, task b
		done a
		want task b
		done b {"both": false}
		want task a
		done a {"both": true}
		want task a, task b
		done b
		done a {"again": false}
		want completed`)

	// An activity that is being undone stands before the join, and its token never comes.
	undone := process(start("s"), parallel("f"), worker("b"), worker("x"), handler("x", "ux"), exclusive("which"), throw("undo", compensateAll()), end("gone"), inclusive("j"), worker("after"),
		path("s", "f", "b", "j", "after"), path("f", "x", "which"), pathIf("which", "j", "false"), pathIf("which", "undo", "true"), path("undo", "gone"))
	whole(t, undone, "", `
		done x
		want task b, task ux
		done b
		want task after, task ux
		done ux
		done after
		want completed`)
}

func TestAdHocSubProcessesAsDrawn(t *testing.T) {
	whole(t, process(start("s"), el("adHocSubProcess", "ah", worker("a"), worker("b"), eventSub("ev", startOn("es", message("m1")), worker("h"), path("es", "h")), until("enough")), boundary("late", "ah", after("PT1H")), worker("after"), worker("l"), path("s", "ah", "after"), path("late", "l")), "", `
		want message es, task a, task b, timer late
		message m1
		want message es, task a, task b, task h, timer late
		done a {"enough": true}
		want task after`)
	whole(t, process(start("s"), elWith("adHocSubProcess", "ah", `cancelRemainingInstances="false"`, worker("a"), worker("follows"), worker("b"), path("a", "follows"), until("enough")), worker("after"), path("s", "ah", "after")), "", `
		done a {"enough": true}
		want task b
		done b
		want task after`)
}

func TestStandardLoopCountsItsRounds(t *testing.T) {
	for _, before := range []string{"true", "false"} {
		loop := `<standardLoopCharacteristics testBefore="` + before + `"><loopCondition>loopCounter &lt; 3</loopCondition></standardLoopCharacteristics>`
		whole(t, process(start("s"), script("a", "n + 1", "n", loop), worker("b"), path("s", "a", "b")), `{"n": 0}`, `
			want task b
			var n 3`)
	}
}
