package step_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports"
)

var update = flag.Bool("update", false, "write docs/bpmn-coverage.md anew")

// schema is every element that the BPMN 2.0 schema (Semantic.xsd) declares for all to use, the abstract ones too, and below the line
// the elements declared in place that carry behaviour or data.
var schema = strings.Fields(`activity adHocSubProcess artifact assignment association auditing baseElement baseElementWithMixedContent boundaryEvent
	businessRuleTask callActivity callChoreography callConversation callableElement cancelEventDefinition catchEvent category categoryValue
	choreography choreographyActivity choreographyTask collaboration compensateEventDefinition complexBehaviorDefinition complexGateway
	conditionalEventDefinition conversation conversationAssociation conversationLink conversationNode correlationKey correlationProperty
	correlationPropertyBinding correlationPropertyRetrievalExpression correlationSubscription dataAssociation dataInput dataInputAssociation
	dataObject dataObjectReference dataOutput dataOutputAssociation dataState dataStore dataStoreReference documentation endEvent endPoint error
	errorEventDefinition escalation escalationEventDefinition event eventBasedGateway eventDefinition exclusiveGateway expression extension
	extensionElements flowElement flowNode formalExpression gateway globalBusinessRuleTask globalChoreographyTask globalConversation
	globalManualTask globalScriptTask globalTask globalUserTask group humanPerformer implicitThrowEvent import inclusiveGateway inputSet interface
	intermediateCatchEvent intermediateThrowEvent ioBinding ioSpecification itemDefinition lane laneSet linkEventDefinition loopCharacteristics
	manualTask message messageEventDefinition messageFlow messageFlowAssociation monitoring multiInstanceLoopCharacteristics operation outputSet
	parallelGateway participant participantAssociation participantMultiplicity partnerEntity partnerRole performer potentialOwner process property
	receiveTask relationship rendering resource resourceAssignmentExpression resourceParameter resourceParameterBinding resourceRole rootElement
	scriptTask sendTask sequenceFlow serviceTask signal signalEventDefinition standardLoopCharacteristics startEvent subChoreography
	subConversation subProcess task terminateEventDefinition text textAnnotation throwEvent timerEventDefinition transaction userTask

	activationCondition completionCondition condition conditionExpression eventDefinitionRef from incoming inputDataItem loopCardinality
	loopCondition loopDataInputRef loopDataOutputRef outgoing outputDataItem script sourceRef supports targetRef timeCycle timeDate
	timeDuration to transformation source target`)

// A sample shows one element at work: in its model, what stands between « and » is the element, and the model without it is another.
type sample struct {
	name  string
	proof string // the test of what it does when it is executed
	model string
}

// group is a section of the page.
type group struct {
	title   string
	samples []sample
}

// flowing is a process in which x stands between a start and a task of a worker.
func flowing(x string, more ...string) string {
	return process(append([]string{start("s"), worker("z"), path("s", "x", "z"), x}, more...)...)
}

// between is like flowing; x is the element shown, with the flow that leads to it.
func between(x string) string {
	return process(start("s"), "«"+x+path("s", "x")+"»")
}

// beside is a process with something in it that no flow touches.
func beside(x string) string { return process(start("s"), "«"+x+"»") }

// onTask is a process with a task that has something in it.
func onTask(x string) string { return flowing(pass("x", x)) }

// root is a process with something beside it.
// empty is an element with nothing in it.
func empty(names ...string) []sample {
	var out []sample
	for _, name := range names {
		out = append(out, sample{name: name, model: beside(el(name, "x"))})
	}
	return out
}

func empties(in func(string) string, names ...string) []sample {
	var out []sample
	for _, name := range names {
		out = append(out, sample{name: name, model: in("«" + el(name, "y") + "»")})
	}
	return out
}

func activities() []sample {
	return []sample{
		{"task", "TestUnjoinableTokensFail", between(pass("x"))},
		{"manualTask", "TestManualTaskPasses", between(el("manualTask", "x"))},
		{"serviceTask", "TestParallelJoinTakesOnePerFlow", between(worker("x"))},
		{"sendTask", "TestGatewaysNeverReevaluate", between(el("sendTask", "x", send("out")))},
		{"businessRuleTask", "TestFailedStartIsReplayed", between(el("businessRuleTask", "x", `<zeebe:taskDefinition type="t"/>`))},
		{"scriptTask", "TestStandardLoop", between(script("x", "1 + 1", "n"))},
		{"script", "TestScriptOfTheStandard", between(`<scriptTask id="x" camunda:resultVariable="n"><script>1 + 1</script></scriptTask>`)},
		{"userTask", "TestUserTaskIsFetchedByItsTopic", between(el("userTask", "x"))},
		{"receiveTask", "TestOneEventWinsTheGroup", between(elWith("receiveTask", "x", `messageRef="m1"`))},
		{"callActivity", "TestCallStartsAChildAndTakesItsResult", between(elWith("callActivity", "x", `calledElement="q"`)) + processNamed("q", start("qs"))},
		{"subProcess", "TestInnermostCatcherWins", between(sub("x", worker("a")))},
		{"transaction", "TestCancelKillsCompensatesLeaves", between(el("transaction", "x", worker("a")))},
		{"adHocSubProcess", "TestAdHocJoinsWork", between(el("adHocSubProcess", "x", worker("a"), worker("b")))},
	}
}

func gateways() []sample {
	two := path("x", "a") + path("x", "b") + worker("a") + worker("b")
	return []sample{
		{"exclusiveGateway", "TestGatewaysNeverReevaluate", between(exclusive("x") + worker("a") + worker("b") + pathIf("x", "a", "true") + pathIf("x", "b", "true"))},
		{"parallelGateway", "TestParallelJoinTakesOnePerFlow", between(parallel("x") + two)},
		{"inclusiveGateway", "TestInclusiveJoinWithABackEdge", between(inclusive("x") + two)},
		{"complexGateway", "TestComplexResetsAndFiresAgain", between(el("complexGateway", "x", `<activationCondition>activationCount >= 1</activationCondition>`) + two)},
		{"activationCondition", "TestComplexResetsAndFiresAgain", process(start("s"), parallel("f"), worker("late"), path("s", "f", "x", "a"), path("f", "late", "x"), worker("a"),
			el("complexGateway", "x", `«<activationCondition>activationCount &gt;= 1</activationCondition>»`))},
		{"eventBasedGateway", "TestOneEventWinsTheGroup", between(eventGate("x") + catch("a", message("m1")) + catch("b", after("PT1H")) + path("x", "a") + path("x", "b"))},
		{"sequenceFlow", "TestImplicitStartAndEnd", process(start("s"), worker("a"), "«"+path("s", "a")+"»")},
		{"conditionExpression", "TestInclusiveWithoutATrueFlowFails", process(start("s"), worker("a"), worker("b"), inclusive("x"), path("s", "x", "a"),
			`<sequenceFlow id="f" sourceRef="x" targetRef="b">«<conditionExpression>false</conditionExpression>»</sequenceFlow>`)},
	}
}

// linked is a process with two link throw events of other names than the catch event they lead to, unless they refer to it.
func linked(target, source string) string {
	away := func(n, name string) string {
		return throw("x"+n, `<linkEventDefinition id="away`+n+`" name="`+name+`">`+target+`</linkEventDefinition>`)
	}
	return process(start("s"), parallel("f"), away("1", "first"), away("2", "second"), catch("y", `<linkEventDefinition id="here1" name="here">`+source+`</linkEventDefinition>`),
		worker("a"), path("s", "f", "x1"), path("f", "x2"), path("y", "a"))
}

func events() []sample {
	thrown := func(kind, definition string) string { // an end event in a sub-process, with what catches it
		return process(start("s"), sub("sub", start("is"), end("x", "«"+definition+"»"), path("is", "x")), boundary("b", "sub", kind), worker("a"), path("s", "sub"), path("b", "a"))
	}
	return slices.Concat([]sample{
		{"startEvent", "TestImplicitStartAndEnd", process("«"+start("s")+path("s", "a")+"»", worker("a"))},
		{"endEvent", "TestTerminateEndsTheProcess", between(end("x"))},
		{"intermediateCatchEvent", "TestLateMessageIsUnmatched", between(catch("x", message("m1")))},
		{"intermediateThrowEvent", "TestOwnSignalIsServedInTheStep", between(throw("x", signal("s1")))},
		{"boundaryEvent", "TestSiblingBoundariesVanish", flowing(worker("x") + "«" + boundary("b", "x", after("PT1H")) + "»")},
		{"messageEventDefinition", "TestMessageFeedsOneWaitInnermostFirst", flowing(catch("x", "«"+message("m1")+"»"))},
		{"signalEventDefinition", "TestSignalReachesEveryArmedWaitOnce", flowing(catch("x", "«"+signal("s1")+"»"))},
		{"timerEventDefinition", "TestCompletionBeatsTimeoutOfTheSameInstant", flowing(catch("x", "«"+after("PT1H")+"»"))},
		{"timeDate", "TestTimerOfADate", flowing(catch("x", `<timerEventDefinition>«<timeDate>2030-01-01T00:00:00Z</timeDate>»</timerEventDefinition>`))},
		{"timeDuration", "TestCompletionBeatsTimeoutOfTheSameInstant", flowing(catch("x", `<timerEventDefinition>«<timeDuration>PT1H</timeDuration>»</timerEventDefinition>`))},
		{"timeCycle", "TestCycleDoesNotDrift", flowing(worker("x") + boundaryOn("b", "x", `<timerEventDefinition>«<timeCycle>R3/PT1H</timeCycle>»</timerEventDefinition>`))},
		{"conditionalEventDefinition", "TestConditionFiresOncePerEdge", flowing(catch("x", "«"+when("y")+"»"))},
		{"condition", "TestConditionTrueWhenArmedFires", flowing(catch("x", `<conditionalEventDefinition>«<condition>true</condition>»</conditionalEventDefinition>`))},
		{"linkEventDefinition", "TestLinkIsAnEdge", process(start("s"), throw("x", `«<linkEventDefinition name="L"/>»`), catch("y", `<linkEventDefinition name="L"/>`), worker("a"), path("s", "x"), path("y", "a"))},
		{"errorEventDefinition", "TestCodeBeforeCatchAll", thrown(anyError(), errorDef("e1"))},
		{"escalationEventDefinition", "TestEscalationInterruptsOrNot", thrown(escalation("x1"), escalation("x1"))},
		{"terminateEventDefinition", "TestTerminateEndsOnlyItsScope", process(start("s"), worker("a"), end("x", "«"+terminate()+"»"), path("s", "a"), path("s", "x"))},
		{"cancelEventDefinition", "TestCancelKillsCompensatesLeaves", process(start("s"), el("transaction", "tx", start("is"), end("x", "«"+cancelDef()+"»"), path("is", "x")), boundary("b", "tx", cancelDef()), path("s", "tx"))},
		{"compensateEventDefinition", "TestIterationsOfAParallelMultiInstanceAreUndoneTogether", process(start("s"), pass("a"), handler("a", "u"), throw("x", "«"+compensateAll()+"»"), path("s", "a", "x"))},
		{"eventDefinitionRef", "TestEventDefinitionsMayBeShared", `<timerEventDefinition id="td"><timeDuration>PT1H</timeDuration></timerEventDefinition>` + flowing(catch("x", `«<eventDefinitionRef>td</eventDefinitionRef>»`))},
		{"message", "TestLateMessageIsUnmatched", `«<message id="mm" name="mm"/>»` + flowing(catch("x", message("mm")))},
		{"signal", "TestSignalReachesEveryArmedWaitOnce", `«<signal id="ss" name="ss"/>»` + flowing(catch("x", signal("ss")))},
		{"error", "TestCodeBeforeCatchAll", `«<error id="ee" errorCode="EE"/>»` + strings.NewReplacer("«", "", "»", "").Replace(thrown(anyError(), errorDef("ee")))},
		{"escalation", "TestEscalationInterruptsOrNot", `«<escalation id="xx" escalationCode="XX"/>»` + strings.NewReplacer("«", "", "»", "").Replace(thrown(escalation("xx"), escalation("xx")))},
		{"source", "TestLinksMayReferToEachOther", linked("", `«<source>away1</source><source>away2</source>»`)},
		{"target", "TestLinksMayReferToEachOther", linked(`«<target>here1</target>»`, "")},
	}, empty("implicitThrowEvent", "event", "catchEvent", "throwEvent", "eventDefinition"))
}

func loops() []sample {
	results := `<loopDataInputRef>items</loopDataInputRef><loopDataOutputRef>out</loopDataOutputRef><inputDataItem name="item"/><outputDataItem name="item"/>`
	shown := func(part string) string {
		return process(start("s"), script("v", "[1, 2]", "items"), pass("x", multi("", strings.Replace(results, part, "«"+part+"»", 1))), path("s", "v", "x"))
	}
	return []sample{
		{"standardLoopCharacteristics", "TestStandardLoop", flowing(pass("x", `«<standardLoopCharacteristics loopMaximum="2"/>»`))},
		{"loopCondition", "TestStandardLoop", flowing(pass("x", `<standardLoopCharacteristics loopMaximum="3">«<loopCondition>false</loopCondition>»</standardLoopCharacteristics>`))},
		{"multiInstanceLoopCharacteristics", "TestParallelIterationsAllWait", flowing(worker("x", "«"+multi("", `<loopCardinality>2</loopCardinality>`)+"»"))},
		{"loopCardinality", "TestEmptyCollectionLeaves", flowing(worker("x", multi("", `«<loopCardinality>2</loopCardinality>»`)))},
		{"loopDataInputRef", "TestMultiInstanceOfTheStandard", shown(`<loopDataInputRef>items</loopDataInputRef>`)},
		{"loopDataOutputRef", "TestMultiInstanceOfTheStandard", shown(`<loopDataOutputRef>out</loopDataOutputRef>`)},
		{"inputDataItem", "TestMultiInstanceOfTheStandard", shown(`<inputDataItem name="item"/>`)},
		{"outputDataItem", "TestMultiInstanceOfTheStandard", shown(`<outputDataItem name="item"/>`)},
		{"completionCondition", "TestConditionCancelsTheRest", flowing(pass("x", multi(`isSequential="true"`, `<loopCardinality>3</loopCardinality>`, "«"+until("true")+"»")))},
		{"complexBehaviorDefinition", "", flowing(pass("x", multi("", `<loopCardinality>2</loopCardinality>«<complexBehaviorDefinition id="y"/>»`)))},
		{"loopCharacteristics", "", onTask(`«<loopCharacteristics id="y"/>»`)},
	}
}

func data() []sample {
	in := func(part, whole string) string { return onTask(strings.Replace(whole, part, "«"+part+"»", 1)) }
	out := `<dataOutputAssociation id="y"><assignment><from>1</from><to>n</to></assignment></dataOutputAssociation>`
	const transformed = `<dataOutputAssociation id="y"><targetRef>n</targetRef><transformation>1</transformation></dataOutputAssociation>`
	const given = `<dataInputAssociation id="y"><assignment><from>1</from><to>n</to></assignment></dataInputAssociation>`
	const data, named = "TestDataAssociationsAreMappings", "TestInputsAndOutputsAreWrittenByName"
	return slices.Concat([]sample{
		{"dataObject", "TestDataLivesInItsScope", beside(`<dataObject id="x" name="thing"/>`)},
		{"dataObjectReference", data, process(`<dataObject id="d" name="thing"/>«<dataObjectReference id="r" dataObjectRef="d"/>»`, start("s"),
			pass("x", strings.Replace(out, ">n<", ">r<", 1)), path("s", "x"))},
		{"property", "TestDataLivesInItsScope", beside(`<property id="x" name="thing"/>`)},
		{"dataInputAssociation", data, flowing(worker("x", "«"+given+"»"))},
		{"dataOutputAssociation", data, in(out, out)},
		{"assignment", data, in(`<assignment><from>1</from><to>n</to></assignment>`, out)},
		{"from", data, in(`<from>1</from>`, out)},
		{"to", data, in(`<to>n</to>`, out)},
		{"transformation", "TestTransformationsMayBeBoxed", in(`<transformation>1</transformation>`, transformed)},
		{"targetRef", "TestTransformationsMayBeBoxed", in(`<targetRef>n</targetRef>`, transformed)},
		{"sourceRef", "", onTask(`<dataInputAssociation id="y">«<sourceRef>n</sourceRef>»</dataInputAssociation>`)},
		{"ioSpecification", "", onTask(`«<ioSpecification id="y"><inputSet/><outputSet/></ioSpecification>»`)},
		{"dataInput", named, flowing(worker("x", `<ioSpecification>«<dataInput id="i" name="n"/>»</ioSpecification>`,
			`<dataInputAssociation><targetRef>i</targetRef><transformation>1</transformation></dataInputAssociation>`))},
		{"dataOutput", named, onTask(`<ioSpecification>«<dataOutput id="n" name="m"/>»</ioSpecification>` + transformed)},
		{"inputSet", "", onTask(`<ioSpecification>«<inputSet id="y"/>»</ioSpecification>`)},
		{"outputSet", "", onTask(`<ioSpecification>«<outputSet id="y"/>»</ioSpecification>`)},
		{"dataState", "", process(start("s"), `<dataObject id="x" name="thing">«<dataState id="y" name="new"/>»</dataObject>`)},
	}, empty("dataStoreReference", "ioBinding"), empties(onTask, "dataAssociation"), empties(rootOf, "dataStore", "itemDefinition"))
}

// rootOf is root for what is marked already.
func rootOf(x string) string { return x + process(start("s")) }

func drawn() []sample {
	within := func(name, whole string) sample { return sample{name: name, model: process(start("s"), whole)} }
	return slices.Concat([]sample{
		{"association", "TestIterationsOfAParallelMultiInstanceAreUndoneTogether", process(start("s"), pass("a"), boundary("b", "a", compensateAll()), elWith("serviceTask", "u", `isForCompensation="true"`, `<zeebe:taskDefinition type="u"/>`),
			`«<association id="as" sourceRef="b" targetRef="u"/>»`, throw("x", compensateAll()), path("s", "a", "x"))},
		within("text", `<textAnnotation id="x">«<text>words</text>»</textAnnotation>`),
		within("lane", `<laneSet id="x">«<lane id="y"/>»</laneSet>`),
		within("incoming", el("task", "x", `«<incoming>f</incoming>»`)),
		within("outgoing", el("task", "x", `«<outgoing>f</outgoing>»`)),
		within("extensionElements", el("task", "x", `«<extensionElements><v:any xmlns:v="urn:vendor"/></extensionElements>»`)),
	}, empty("textAnnotation", "group", "laneSet", "documentation", "auditing", "monitoring", "artifact"), empties(rootOf, "category"),
		[]sample{{name: "categoryValue", model: `<category id="c">«<categoryValue id="y"/>»</category>` + process(start("s"))}})
}

func people() []sample {
	role := func(part string) string { return onTask(`<resourceRole id="y">` + part + `</resourceRole>`) }
	return slices.Concat(empties(onTask, "resourceRole", "performer", "humanPerformer", "potentialOwner"),
		empties(role, "resourceAssignmentExpression", "resourceParameterBinding"),
		[]sample{
			{name: "expression", model: role(`<resourceAssignmentExpression>«<expression>x</expression>»</resourceAssignmentExpression>`)},
			{name: "formalExpression", model: role(`<resourceAssignmentExpression>«<formalExpression>x</formalExpression>»</resourceAssignmentExpression>`)},
			{name: "rendering", model: flowing(el("userTask", "x", `«<rendering id="y"/>»`))},
			{name: "resourceParameter", model: rootOf(`<resource id="r" name="r">«<resourceParameter id="y"/>»</resource>`)},
		}, empties(rootOf, "resource"))
}

func services() []sample {
	return slices.Concat(empties(rootOf, "interface", "endPoint", "partnerEntity", "partnerRole", "correlationProperty", "import", "extension", "relationship"),
		[]sample{
			{"process", "TestImplicitStartAndEnd", "«" + process(start("s")) + "»"},
			{name: "operation", model: rootOf(`<interface id="i" name="i">«<operation id="y" name="o"/>»</interface>`)},
			{name: "correlationPropertyRetrievalExpression", model: rootOf(`<correlationProperty id="c">«<correlationPropertyRetrievalExpression messageRef="m1"/>»</correlationProperty>`)},
			{name: "correlationPropertyBinding", model: process(start("s"), `<correlationSubscription id="c" correlationKeyRef="k">«<correlationPropertyBinding correlationPropertyRef="c"/>»</correlationSubscription>`)},
		}, empty("correlationSubscription", "supports"))
}

func others() []sample {
	pool := func(part string) string { return rootOf(`<collaboration id="c">` + part + `</collaboration>`) }
	var called []sample
	for _, name := range []string{"globalTask", "globalManualTask", "globalUserTask", "globalScriptTask", "globalBusinessRuleTask"} {
		called = append(called, sample{name: name, model: "«" + el(name, "g") + "»" + flowing(elWith("callActivity", "x", `calledElement="g"`))})
	}
	return slices.Concat(called,
		empties(rootOf, "collaboration", "choreography", "globalChoreographyTask", "globalConversation"),
		empties(pool, "participant", "messageFlow", "messageFlowAssociation", "participantAssociation", "conversation", "subConversation", "callConversation",
			"conversationLink", "conversationAssociation", "conversationNode", "correlationKey"),
		[]sample{{name: "participantMultiplicity", model: pool(`<participant id="p1">«<participantMultiplicity maximum="2"/>»</participant>`)}},
		empty("choreographyTask", "subChoreography", "callChoreography", "choreographyActivity"))
}

func groups() []group {
	return []group{
		{"Activities", activities()},
		{"Gateways and flows", gateways()},
		{"Events", events()},
		{"Loops and multi-instance", loops()},
		{"Data", data()},
		{"Drawing and notes", drawn()},
		{"People", people()},
		{"Definitions", services()},
		{"Collaboration, conversation, choreography, global tasks", others()},
		{"Abstract in the schema", empty("activity", "baseElement", "baseElementWithMixedContent", "callableElement", "flowElement", "flowNode", "gateway", "rootElement")},
	}
}

// trial is what becomes of a model: refused with codes, or what its first step left behind.
type trial struct {
	refused string
	process *bpmn.Process
	status  ports.Status
	left    string
}

func try(t *testing.T, body string) trial {
	t.Helper()
	xml := strings.ReplaceAll(definitions(body), "\n", " ") // lines are no difference
	m, findings := bpmn.Read("sample.bpmn", []byte(xml), bpmn.Limits{})
	if m == nil {
		var codes []string
		for _, f := range findings {
			if f.Level == lint.Error {
				codes = append(codes, string(f.Code))
			}
		}
		slices.Sort(codes)
		return trial{refused: strings.Join(slices.Compact(codes), ", ")}
	}
	w := newWorld(t, xml)
	i := w.start("")
	return trial{process: i.p.Process, status: i.status, left: fmt.Sprintf("%x %v %v %s", i.data, w.emitted, w.pending, i.lastHistory())}
}

// verdict finds what an element is: refused, when the model with it is; executed, when the model without it is refused or steps
// otherwise; documentary, when the graph is the same without it.
func (s sample) verdict(t *testing.T) string {
	t.Helper()
	before, rest, _ := strings.Cut(s.model, "«")
	shown, after, marked := strings.Cut(rest, "»")
	if !marked || !strings.Contains(shown, "<"+s.name) {
		t.Fatalf("%s: its sample does not mark it", s.name)
	}
	with, without := try(t, before+shown+after), try(t, before+after)
	switch {
	case with.refused != "" && without.refused != "":
		t.Errorf("%s: its sample is refused without it too: %s", s.name, without.refused)
	case with.refused != "":
		return "refused: `" + with.refused + "`"
	case with.status == ports.Failed:
		t.Errorf("%s: its sample fails", s.name)
	case without.refused != "" || with.left != without.left:
		return "executed"
	case !reflect.DeepEqual(with.process, without.process):
		t.Errorf("%s: its sample has another graph with it, and steps as without it; let it show a difference", s.name)
	}
	return "documentary"
}

// spelled is how the tests of this package write elements that they have a word for.
var spelled = map[string]string{
	"task": "pass(", "serviceTask": "worker(", "scriptTask": "script(", "subProcess": "sub(", "process": "process(", "sequenceFlow": "path(",
	"conditionExpression": "pathIf(", "exclusiveGateway": "exclusive(", "parallelGateway": "parallel(", "inclusiveGateway": "inclusive(",
	"eventBasedGateway": "eventGate(", "startEvent": "start(", "endEvent": "end(", "intermediateCatchEvent": "catch(", "intermediateThrowEvent": "throw(",
	"boundaryEvent": "boundary(", "messageEventDefinition": "message(", "message": "message(", "signalEventDefinition": "signal(", "signal": "signal(",
	"timerEventDefinition": "after(", "timeDuration": "after(", "timeCycle": "every(", "conditionalEventDefinition": "when(", "condition": "when(",
	"errorEventDefinition": "errorDef(", "error": "errorDef(", "escalationEventDefinition": "escalation(", "escalation": "escalation(",
	"terminateEventDefinition": "terminate(", "cancelEventDefinition": "cancelDef(", "compensateEventDefinition": "compensateAll(",
	"association": "handler(", "multiInstanceLoopCharacteristics": "each(", "callActivity": "callActivity(", "completionCondition": "until(",
}

// proof is a test that the page may name.
type proof struct{ folder, body string }

var testBody = regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}`) //nolint:gocritic // the second ^ is the start of a line

// proofs are the tests of the reader and of the step.
func proofs(t *testing.T) map[string]proof {
	t.Helper()
	found := map[string]proof{}
	for _, folder := range []string{"bpmn", "step"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range testBody.FindAllSubmatch(text, -1) {
				found[string(m[1])] = proof{"core/" + folder, string(m[0])}
			}
		}
	}
	return found
}

// about says that a test has the element in one of its models.
func (p proof) about(element string) bool {
	word := spelled[element]
	return word != "" && strings.Contains(p.body, word) || strings.Contains(p.body, "<"+element) || strings.Contains(p.body, `"`+element+`"`)
}

const coverageHead = `# BPMN coverage

Every element of the BPMN 2.0 schema, and what the engine makes of it. This page is written by a test of ` + "`core/step`" + `
(` + "`go test ./core/step -run TestEverySchemaElementIsExecutedOrRefused -update`" + `), which compares, for each element, a model with it and the
same model without it:

- **executed**: the first step differs, or the model cannot do without it. The test named proves what it does.
- **documentary**: read, and the compiled process is the same without it.
- **refused**: the reader refuses the model because of it, with this code.
`

// Every element of the schema is executed, documentary or refused, as docs/bpmn-coverage.md says.
func TestEverySchemaElementIsExecutedOrRefused(t *testing.T) {
	const page = "../../docs/bpmn-coverage.md"
	var out bytes.Buffer
	out.WriteString(coverageHead)
	tests, seen, count := proofs(t), map[string]bool{}, map[string]int{}
	for _, g := range groups() {
		fmt.Fprintf(&out, "\n## %s\n\n| element | verdict | proved by |\n| --- | --- | --- |\n", g.title)
		for _, s := range g.samples {
			if seen[s.name] || !slices.Contains(schema, s.name) {
				t.Errorf("%s: shown twice, or not of the schema", s.name)
			}
			seen[s.name] = true
			verdict, proof := s.verdict(t), t.Name()
			if verdict == "executed" {
				proof = s.proof
				if !tests[proof].about(s.name) {
					t.Errorf("%s is executed, and no test %q has it in a model", s.name, proof)
				}
			}
			kind, _, _ := strings.Cut(verdict, ":")
			count[kind]++
			fmt.Fprintf(&out, "| `%s` | %s | `%s` %s |\n", s.name, verdict, tests[proof].folder, proof)
		}
	}
	for _, name := range schema {
		if !seen[name] {
			t.Errorf("%s has no sample", name)
		}
	}
	fmt.Fprintf(&out, "\n%d elements: %d executed, %d documentary, %d refused.\n", len(seen), count["executed"], count["documentary"], count["refused"])
	if *update {
		if err := os.MkdirAll(filepath.Dir(page), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("%s is not what the engine does; look at the difference, then run with -update", page)
	}
}
