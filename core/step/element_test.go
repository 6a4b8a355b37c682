package step_test

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
)

// Elements of the standard that other tests write in the words of an extension, or not at all.

func TestManualTaskPasses(t *testing.T) {
	w := newWorld(t, process(start("s"), el("manualTask", "m"), worker("a"), path("s", "m", "a")))
	w.start("").want("task a")
}

func TestUserTaskIsFetchedByItsTopic(t *testing.T) {
	w := newWorld(t, process(start("s"), el("userTask", "u"), worker("a"), path("s", "u", "a")))
	i := w.start("")
	for _, task := range i.tasks {
		if task.Topic != bpmn.UserTopic {
			t.Errorf("topic %q", task.Topic)
		}
	}
	i.complete("u", `{"approved": true}`)
	if i.want("task a"); i.variable("approved") != "true" {
		t.Errorf("approved is %q", i.variable("approved"))
	}
}

// What the paths of an ad-hoc sub-process give is gathered where each ends, and none sees the answer of another.
func TestAdHocGathersWhatItsPathsGive(t *testing.T) {
	gather := `<zeebe:adHoc outputCollection="answers" outputElement="=answer"/>`
	for _, c := range []struct{ name, inside, script string }{
		{"in the order of completion, at the end of a path", path("c", "c2"), `
			done b {"answer": "B"}
			done a {"answer": "A", "more": 1}
			done c {"other": 2}
			want task after
			var answers ["B","A",null]
			var answer
			var more 1`},
		{"the completion condition sees it, and what it kills gives nothing", path("c", "c2") + `<completionCondition>count(answers) = 1</completionCondition>`, `
			done c {"answer": "C"}
			want task after
			var answers ["C"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole(t, process(start("s"), el("adHocSubProcess", "x", gather, worker("a"), worker("b"), worker("c"), pass("c2"), c.inside), worker("after"), path("s", "x", "after")), "", c.script)
		})
	}
}

func TestAnEmptyAdHocGathersNothing(t *testing.T) {
	whole(t, process(start("s"), el("adHocSubProcess", "x", `<zeebe:adHoc activeElementsCollection="=[]" outputCollection="answers" outputElement="=answer"/>`, worker("a")), worker("after"), path("s", "x", "after")), "", `
		want task after
		var answers []`)
}

// An event sub-process maps as a sub-process does: inputs when its event happens, outputs when it ends.
func TestEventSubProcessesMap(t *testing.T) {
	whole(t, process(start("s"), worker("a"), path("s", "a"),
		eventSub("e", input("limit", "total * 2"), output("said", "note + limit"), startOn("es", message("m1")), worker("h"), path("es", "h"))), `{"total": 5}`, `
		message m1 - {"note": 1}
		input h limit 10
		input h note 1
		done h {"note": 7}
		want message es, task a
		var said 17
		var limit
		var note`)
}

func TestScriptOfTheStandard(t *testing.T) {
	w := newWorld(t, process(start("s"), elWith("scriptTask", "x", `camunda:resultVariable="n"`, `<script>1 + n</script>`), worker("a"), path("s", "x", "a")))
	i := w.start(`{"n": 4}`)
	if i.want("task a"); i.variable("n") != "5" {
		t.Errorf("n is %s", i.variable("n"))
	}
}

func TestTimerOfADate(t *testing.T) { // one that has passed fires by its row, never in the step
	for _, date := range []string{"2027-01-01T00:00:00Z", "2020-01-01T00:00:00Z"} {
		w := newWorld(t, process(start("s"), catch("x", `<timerEventDefinition><timeDate>`+date+`</timeDate></timerEventDefinition>`), worker("a"), path("s", "x", "a")))
		i := w.start("")
		i.want("timer x")
		if due := i.at("x").Due.Format(time.RFC3339); due != date {
			t.Errorf("due %s, want %s", due, date)
		}
		i.fire("x")
		i.want("task a")
	}
}

func TestEventDefinitionsMayBeShared(t *testing.T) {
	shared := `<eventDefinitionRef>hour</eventDefinitionRef>`
	w := newWorld(t, definitions(`<timerEventDefinition id="hour"><timeDuration>PT1H</timeDuration></timerEventDefinition>`,
		process(start("s"), catch("x", shared), worker("a"), boundary("b", "a", shared), worker("late"), path("s", "x", "a"), path("b", "late"))))
	i := w.start("")
	i.fire("x")
	i.want("task a, timer b")
	i.fire("b")
	i.want("task late")
}

func TestMultiInstanceOfTheStandard(t *testing.T) {
	w := newWorld(t, process(start("s"), `<dataObject id="d1" name="items"/><dataObjectReference id="in" dataObjectRef="d1"/><dataObject id="d2" name="answers"/>`,
		worker("x", multi("", `<loopDataInputRef>in</loopDataInputRef><loopDataOutputRef>d2</loopDataOutputRef><inputDataItem name="item"/><outputDataItem name="answer"/>`)),
		script("fill", "[7, 8]", "items"), worker("a"), path("s", "fill", "x", "a")))
	i := w.start("")
	i.want("task x, task x")
	both := i.all("x")
	if got := i.input("x", "item"); got != "7" {
		t.Errorf("the first item is %s", got)
	}
	second := i.completion("x", `{"answer": "second"}`)
	second.Wait = both[1].ID
	i.applied(second)
	i.complete("x", `{"answer": "first"}`)
	if i.want("task a"); i.variable("answers") != `["first","second"]` {
		t.Errorf("answers are %s", i.variable("answers"))
	}
}

func TestDataAssociationsAreMappings(t *testing.T) {
	in := `<dataInputAssociation><assignment><from>n + 1</from><to>given</to></assignment></dataInputAssociation>`
	out := `<dataOutputAssociation><assignment><from>answer * 2</from><to>r</to></assignment></dataOutputAssociation>`
	w := newWorld(t, process(start("s"), `<dataObject id="d" name="thing"/><dataObjectReference id="r" dataObjectRef="d"/>`, worker("a", in, out), worker("b"), path("s", "a", "b")))
	i := w.start(`{"n": 3}`)
	if got := i.input("a", "given"); got != "4" {
		t.Errorf("given is %s", got)
	}
	i.complete("a", `{"answer": 5}`)
	if i.want("task b"); i.variable("thing") != "10" || i.variable("answer") != "" {
		t.Errorf("thing is %s, answer %q", i.variable("thing"), i.variable("answer"))
	}
}

func TestInputsAndOutputsAreWrittenByName(t *testing.T) {
	w := newWorld(t, process(`<ioSpecification><dataOutput id="o" name="total"/></ioSpecification>`, start("s"),
		worker("a", `<ioSpecification><dataInput id="i" name="given"/></ioSpecification>`,
			`<dataInputAssociation><targetRef>i</targetRef><transformation>n + 1</transformation></dataInputAssociation>`,
			`<dataOutputAssociation><targetRef>o</targetRef><transformation>answer * 2</transformation></dataOutputAssociation>`),
		worker("b"), path("s", "a", "b")))
	i := w.start(`{"n": 3}`)
	if got := i.input("a", "given"); got != "4" {
		t.Errorf("given is %s", got)
	}
	i.complete("a", `{"answer": 5}`)
	if i.want("task b"); i.variable("total") != "10" {
		t.Errorf("total is %s", i.variable("total"))
	}
}

func TestDataLivesInItsScope(t *testing.T) {
	w := newWorld(t, process(start("s"), sub("sub", `<dataObject id="d" name="object"/><property id="p" name="kept"/>`,
		start("is"), script("x", "1", "object"), script("y", "2", "kept"), script("z", "object + kept", "free"), path("is", "x", "y", "z")), worker("a"), path("s", "sub", "a")))
	i := w.start("")
	if i.want("task a"); i.variable("object") != "" || i.variable("kept") != "" || i.variable("free") != "3" {
		t.Errorf("object %q, kept %q, free %q", i.variable("object"), i.variable("kept"), i.variable("free"))
	}
}
