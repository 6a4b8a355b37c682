package bpmn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

const head = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
<message id="m" name="m"/><signal id="s" name="s"/><error id="err" errorCode="E"/><escalation id="esc" escalationCode="X"/>
`

// within puts elements into a process that is otherwise sound.
func within(elements string) string {
	return head + `<process id="p" isExecutable="true"><startEvent id="start"/><task id="after"/><sequenceFlow id="f0" sourceRef="start" targetRef="after"/>
` + elements + `</process></definitions>`
}

func read(text string) (*bpmn.Model, []lint.Finding) {
	return bpmn.Read("models/test.bpmn", []byte(text), bpmn.Limits{})
}

const (
	msg   = `<messageEventDefinition messageRef="m"/>`
	timer = `<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>`
	cycle = `<timerEventDefinition><timeCycle>R3/PT1H</timeCycle></timerEventDefinition>`
	errd  = `<errorEventDefinition errorRef="err"/>`
	undo  = `<compensateEventDefinition/>`
	job   = `<extensionElements><zeebe:taskDefinition type="t"/></extensionElements>`
)

func ext(inside string) string { return "<extensionElements>" + inside + "</extensionElements>" }

// refusals are models that are refused, and why: one for each thing that section 4 of the token page lists.
var refusals = []struct {
	name  string
	code  fault.Code
	model string
}{
	{"choreography", fault.ModelElement, within(`<choreographyTask id="x"/>`)},
	{"global task", fault.ModelElement, within(`<globalUserTask id="x"/>`)},
	{"several event definitions", fault.ModelElement, within(`<intermediateCatchEvent id="x">` + msg + timer + `</intermediateCatchEvent>`)},
	{"parallel multiple", fault.ModelElement, within(`<intermediateCatchEvent id="x" parallelMultiple="true">` + msg + `</intermediateCatchEvent>`)},
	{"a start nothing can trigger", fault.ModelElement, within(`<startEvent id="x"><conditionalEventDefinition><condition>x</condition></conditionalEventDefinition></startEvent>`)},
	{"a reference to nothing", fault.ModelElement, within(`<intermediateCatchEvent id="x"><messageEventDefinition messageRef="none"/></intermediateCatchEvent>`)},
	{"a catch of no message", fault.ModelElement, within(`<intermediateCatchEvent id="x"><messageEventDefinition/></intermediateCatchEvent>`)},
	{"a catch of nothing", fault.ModelElement, within(`<intermediateCatchEvent id="x"/>`)},
	{"a signal without name", fault.ModelElement, within(`<intermediateThrowEvent id="x"><signalEventDefinition/></intermediateThrowEvent>`)},
	{"an error thrown without code", fault.ModelElement, within(`<endEvent id="x"><errorEventDefinition/></endEvent>`)},
	{"a service task that says not how", fault.ModelElement, within(`<serviceTask id="x"/>`)},
	{"a script task without script", fault.ModelElement, within(`<scriptTask id="x"/>`)},
	{"a message that goes nowhere", fault.ModelElement, within(`<endEvent id="x">` + msg + `</endEvent>`)},
	{"a parallel event gateway in the middle", fault.ModelElement, within(`<eventBasedGateway id="x" eventGatewayType="Parallel"/><intermediateCatchEvent id="y">` + msg + `</intermediateCatchEvent><sequenceFlow id="f" sourceRef="x" targetRef="y"/>`)},

	{"a call of a global task", fault.ModelElement, strings.Replace(within(`<callActivity id="x" calledElement="g"/>`), "<process", `<globalUserTask id="g"/><process`, 1)},
	{"a value from a data store", fault.ModelElement, within(`<dataStoreReference id="d"/><task id="x"><dataInputAssociation><sourceRef>d</sourceRef><assignment><from>1</from><to>a</to></assignment></dataInputAssociation></task>`)},
	{"a value into a data store", fault.ModelElement, within(`<dataStoreReference id="d"/><task id="x"><dataOutputAssociation><targetRef>d</targetRef><transformation>1</transformation></dataOutputAssociation></task>`)},

	{"start quantity", fault.ModelAttribute, within(`<task id="x" startQuantity="2"/>`)},
	{"multi-instance behavior", fault.ModelAttribute, within(`<task id="x"><multiInstanceLoopCharacteristics behavior="One"><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></task>`)},
	{"transaction method", fault.ModelAttribute, within(`<transaction id="x" method="##Store"/>`)},
	{"camunda:class", fault.ModelAttribute, within(`<serviceTask id="x" camunda:class="c">` + job + `</serviceTask>`)},
	{"camunda:delegateExpression", fault.ModelAttribute, within(`<serviceTask id="x" camunda:delegateExpression="c">` + job + `</serviceTask>`)},
	{"camunda:class in its old namespace", fault.ModelAttribute, within(`<serviceTask id="x" xmlns:a="http://activiti.org/bpmn" a:class="c">` + job + `</serviceTask>`)},
	{"operaton:class", fault.ModelAttribute, within(`<serviceTask id="x" xmlns:o="http://operaton.org/schema/1.0/bpmn" o:class="c">` + job + `</serviceTask>`)},
	{"flowable:eventType", fault.ModelAttribute, within(`<startEvent id="x">` + ext(`<f:eventType xmlns:f="http://flowable.org/bpmn">e</f:eventType>`) + msg + `</startEvent>`)},
	{"a signal of a scope", fault.ModelAttribute, strings.Replace(within(`<intermediateCatchEvent id="x"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>`), `<signal id="s"`, `<signal id="s" xmlns:f="http://flowable.org/bpmn" f:scope="processInstance"`, 1)},
	{"camunda:type", fault.ModelAttribute, within(`<serviceTask id="x" camunda:type="mail"/>`)},
	{"listener", fault.ModelAttribute, within(`<task id="x">` + ext(`<camunda:executionListener class="c"/>`) + `</task>`)},
	{"connector", fault.ModelAttribute, within(`<serviceTask id="x">` + ext(`<zeebe:taskDefinition type="t"/><camunda:connector/>`) + `</serviceTask>`)},
	{"retry time cycle", fault.ModelAttribute, within(`<task id="x">` + ext(`<camunda:failedJobRetryTimeCycle>R3/PT1M</camunda:failedJobRetryTimeCycle>`) + `</task>`)},
	{"unknown zeebe", fault.ModelAttribute, within(`<task id="x">` + ext(`<zeebe:wishes/>`) + `</task>`)},
	{"an extension beside extensionElements", fault.ModelAttribute, within(`<task id="x"><zeebe:ioMapping><zeebe:input source="=1" target="a"/></zeebe:ioMapping></task>`)},
	{"unknown q", fault.ModelAttribute, within(`<task id="x">` + ext(`<q:wishes/>`) + `</task>`)},
	{"unknown attribute of q", fault.ModelAttribute, within(`<receiveTask id="x">` + ext(`<q:source channel="c" wish="1"/>`) + `</receiveTask>`)},
	{"q where it means nothing", fault.ModelAttribute, within(`<task id="x">` + ext(`<q:source channel="c"/>`) + `</task>`)},
	{"a reply that continues", fault.ModelAttribute, within(`<task id="x">` + ext(`<q:reply continue="true"/>`) + `</task>`)},
	{"a destination and a channel", fault.ModelAttribute, within(`<sendTask id="x">` + ext(`<q:send destination="http://x" channel="c"/>`) + `</sendTask>`)},
	{"a send that matches what it does not answer", fault.ModelAttribute, within(`<sendTask id="x">` + ext(`<q:send channel="c" mode="match-inbound"/>`) + `</sendTask>`)},
	{"an error code that nothing throws", fault.ModelAttribute, within(`<receiveTask id="x">` + ext(`<q:source channel="c"/><q:onValidation mode="route" errorCode="E"/>`) + `</receiveTask>`)},
	{"neither true nor false", fault.ModelAttribute, within(`<task id="x">` + ext(`<q:alias name="a" expression="b" unique="maybe"/>`) + `</task>`)},
	{"an output collection without element", fault.ModelAttribute, within(`<task id="x"><multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics inputCollection="=a" outputCollection="b"/></extensionElements></multiInstanceLoopCharacteristics></task>`)},

	{"a loop of an event sub-process", fault.ModelElement, within(`<subProcess id="x" triggeredByEvent="true"><startEvent id="y">` + msg + `</startEvent><standardLoopCharacteristics loopMaximum="2"/></subProcess>`)},
	{"a key of an event sub-process", fault.ModelAttribute, within(`<subProcess id="x" triggeredByEvent="true">` + ext(`<q:alias name="a" expression="b"/>`) + `<startEvent id="y">` + msg + `</startEvent></subProcess>`)},
	{"an ad-hoc output collection without element", fault.ModelAttribute, within(`<adHocSubProcess id="x">` + ext(`<zeebe:adHoc outputCollection="all"/>`) + `<task id="y"/></adHocSubProcess>`)},
	{"a decision's result in a form that there is not", fault.ModelAttribute, within(`<businessRuleTask id="x" camunda:decisionRef="d" camunda:mapDecisionResult="single"/>`)},
	{"inputs of a catch event", fault.ModelAttribute, within(`<intermediateCatchEvent id="x">` + ext(`<zeebe:ioMapping><zeebe:input source="=1" target="a"/></zeebe:ioMapping>`) + msg + `</intermediateCatchEvent>`)},
	{"retries of a worker's task", fault.ModelAttribute, within(`<serviceTask id="x">` + ext(`<zeebe:taskDefinition type="t"/><q:retry maxAttempts="3"/>`) + `</serviceTask>`)},
	{"a timeout of a worker's task", fault.ModelAttribute, within(`<serviceTask id="x">` + ext(`<zeebe:taskDefinition type="t"/><q:timeout duration="PT1S"/>`) + `</serviceTask>`)},

	{"JUEL", fault.ModelLanguage, within(`<exclusiveGateway id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"><conditionExpression>${a == 'b'}</conditionExpression></sequenceFlow>`)},
	{"JUEL within a parameter", fault.ModelLanguage, within(`<task id="x">` + ext(`<camunda:inputOutput><camunda:inputParameter name="a">Dear ${name}</camunda:inputParameter></camunda:inputOutput>`) + `</task>`)},
	{"JUEL within a name", fault.ModelLanguage, strings.Replace(within(`<intermediateCatchEvent id="x">`+msg+`</intermediateCatchEvent>`), `name="m"`, `name="m-${a}"`, 1)},
	{"JUEL within a topic", fault.ModelLanguage, within(`<serviceTask id="x" camunda:type="external" camunda:topic="pay-#{how}"/>`)},
	{"XPath", fault.ModelLanguage, within(`<exclusiveGateway id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"><conditionExpression>bpmn:getDataObject('a') = 'b'</conditionExpression></sequenceFlow>`)},
	{"groovy", fault.ModelLanguage, within(`<scriptTask id="x" scriptFormat="groovy"><script>println 1</script></scriptTask>`)},
	{"javascript condition", fault.ModelLanguage, within(`<exclusiveGateway id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"><conditionExpression language="javascript">a</conditionExpression></sequenceFlow>`)},
	{"a script parameter", fault.ModelLanguage, within(`<task id="x">` + ext(`<camunda:inputOutput><camunda:inputParameter name="a"><camunda:script scriptFormat="groovy">1</camunda:script></camunda:inputParameter></camunda:inputOutput>`) + `</task>`)},

	{"no FEEL", fault.ModelExpression, within(`<scriptTask id="x"><script>1 +</script></scriptTask>`)},
	{"an empty condition", fault.ModelExpression, within(`<intermediateCatchEvent id="x"><conditionalEventDefinition><condition/></conditionalEventDefinition></intermediateCatchEvent>`)},
	{"a condition on the clock", fault.ModelExpression, within(`<intermediateCatchEvent id="x"><conditionalEventDefinition><condition>now() > x</condition></conditionalEventDefinition></intermediateCatchEvent>`)},
	{"a timer of no text", fault.ModelExpression, within(`<intermediateCatchEvent id="x"><timerEventDefinition><timeDate/></timerEventDefinition></intermediateCatchEvent>`)},
	{"no duration", fault.ModelExpression, within(`<intermediateCatchEvent id="x"><timerEventDefinition><timeDuration>5 minutes</timeDuration></timerEventDefinition></intermediateCatchEvent>`)},
	{"a computed code that is caught", fault.ModelExpression, strings.Replace(within(`<boundaryEvent id="x" attachedToRef="after">`+errd+`</boundaryEvent>`), `errorCode="E"`, `errorCode="=x"`, 1)},
	{"a computed message name", fault.ModelExpression, strings.Replace(within(`<intermediateCatchEvent id="x">`+msg+`</intermediateCatchEvent>`), `name="m"`, `name="=x"`, 1)},
	{"a start by a computed signal", fault.ModelExpression, strings.Replace(within(`<startEvent id="x"><signalEventDefinition signalRef="s"/></startEvent>`), `name="s"`, `name="=x"`, 1)},
	{"a cycle of nothing", fault.ModelExpression, within(`<subProcess id="x" triggeredByEvent="true"><startEvent id="y" isInterrupting="false"><timerEventDefinition><timeCycle>R/PT0S</timeCycle></timerEventDefinition></startEvent></subProcess>`)},

	{"cancel outside a transaction", fault.ModelEventMisplaced, within(`<endEvent id="x"><cancelEventDefinition/></endEvent>`)},
	{"cancel without boundary", fault.ModelEventMisplaced, within(`<transaction id="x"><endEvent id="y"><cancelEventDefinition/></endEvent></transaction>`)},
	{"cancel boundary on a task", fault.ModelEventMisplaced, within(`<boundaryEvent id="x" attachedToRef="after"><cancelEventDefinition/></boundaryEvent>`)},
	{"non-interrupting error", fault.ModelEventMisplaced, within(`<boundaryEvent id="x" attachedToRef="after" cancelActivity="false">` + errd + `</boundaryEvent>`)},
	{"event sub-process without start", fault.ModelEventMisplaced, within(`<subProcess id="x" triggeredByEvent="true"><task id="y"/></subProcess>`)},
	{"event sub-process with two starts", fault.ModelEventMisplaced, within(`<subProcess id="x" triggeredByEvent="true"><startEvent id="y">` + msg + `</startEvent><startEvent id="z">` + timer + `</startEvent></subProcess>`)},
	{"process started by an error", fault.ModelEventMisplaced, within(`<startEvent id="x">` + errd + `</startEvent>`)},
	{"process compensated", fault.ModelEventMisplaced, within(`<subProcess id="x" triggeredByEvent="true"><startEvent id="y">` + undo + `</startEvent></subProcess>`)},
	{"two cancel boundaries", fault.ModelCatchDuplicate, within(`<transaction id="t"/><boundaryEvent id="b" attachedToRef="t"><cancelEventDefinition/></boundaryEvent><boundaryEvent id="x" attachedToRef="t"><cancelEventDefinition/></boundaryEvent>`)},
	{"two compensation handlers", fault.ModelCatchDuplicate, within(`<boundaryEvent id="a" attachedToRef="after">` + undo + `</boundaryEvent><boundaryEvent id="x" attachedToRef="after">` + undo + `</boundaryEvent><task id="u" isForCompensation="true"/><task id="v" isForCompensation="true"/><association id="l1" sourceRef="a" targetRef="u"/><association id="l2" sourceRef="x" targetRef="v"/>`)},
	{"two compensation event sub-processes", fault.ModelCatchDuplicate, within(`<subProcess id="y"><subProcess id="e1" triggeredByEvent="true"><startEvent id="s1">` + undo + `</startEvent></subProcess><subProcess id="e2" triggeredByEvent="true"><startEvent id="x">` + undo + `</startEvent></subProcess></subProcess>`)},
	{"an activity that a handler names", fault.ModelAttribute, within(`<subProcess id="y"><subProcess id="e1" triggeredByEvent="true"><startEvent id="x"><compensateEventDefinition activityRef="after"/></startEvent></subProcess></subProcess>`)},
	{"two none starts", fault.ModelEventMisplaced, within(`<startEvent id="x"/>`)},
	{"sub-process started by a message", fault.ModelEventMisplaced, within(`<subProcess id="x"><startEvent id="y">` + msg + `</startEvent></subProcess>`)},
	{"cycle on a catch", fault.ModelEventMisplaced, within(`<intermediateCatchEvent id="x">` + cycle + `</intermediateCatchEvent>`)},
	{"cycle on an interrupting event", fault.ModelEventMisplaced, within(`<boundaryEvent id="x" attachedToRef="after">` + cycle + `</boundaryEvent>`)},
	{"boundary on an event sub-process", fault.ModelEventMisplaced, within(`<subProcess id="y" triggeredByEvent="true"><startEvent id="z">` + msg + `</startEvent></subProcess><boundaryEvent id="x" attachedToRef="y">` + timer + `</boundaryEvent>`)},
	{"boundary on nothing", fault.ModelEventMisplaced, within(`<boundaryEvent id="x" attachedToRef="none">` + timer + `</boundaryEvent>`)},
	{"a thrown timer", fault.ModelEventMisplaced, within(`<intermediateThrowEvent id="x">` + timer + `</intermediateThrowEvent>`)},
	{"a timer of two parts", fault.ModelEventMisplaced, within(`<intermediateCatchEvent id="x"><timerEventDefinition><timeDuration>PT1H</timeDuration><timeDate>2026-01-01T00:00:00Z</timeDate></timerEventDefinition></intermediateCatchEvent>`)},
	{"an instantiating gateway behind a flow", fault.ModelEventMisplaced, within(`<eventBasedGateway id="x" instantiate="true"/><intermediateCatchEvent id="y">` + msg + `</intermediateCatchEvent><sequenceFlow id="f" sourceRef="x" targetRef="y"/><sequenceFlow id="g" sourceRef="after" targetRef="x"/>`)},

	{"dangling flow", fault.ModelFlow, within(`<sequenceFlow id="x" sourceRef="after" targetRef="none"/>`)},
	{"flow across a border", fault.ModelFlow, within(`<subProcess id="y"><task id="z"/></subProcess><sequenceFlow id="x" sourceRef="after" targetRef="z"/>`)},
	{"flow into a start", fault.ModelFlow, within(`<sequenceFlow id="x" sourceRef="after" targetRef="start"/>`)},
	{"flow out of an end", fault.ModelFlow, within(`<endEvent id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"/>`)},
	{"flow on a handler", fault.ModelFlow, within(`<task id="x" isForCompensation="true"/><sequenceFlow id="f" sourceRef="after" targetRef="x"/>`)},
	{"a default that is no outgoing flow", fault.ModelFlow, within(`<exclusiveGateway id="x" default="f0"/>`)},
	{"a second flow into an event gateway's target", fault.ModelFlow, within(`<eventBasedGateway id="x"/><intermediateCatchEvent id="y">` + msg + `</intermediateCatchEvent><sequenceFlow id="f" sourceRef="x" targetRef="y"/><sequenceFlow id="g" sourceRef="after" targetRef="y"/>`)},
	{"an event gateway before a task", fault.ModelFlow, within(`<eventBasedGateway id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"/>`)},

	{"a link to nowhere", fault.ModelLinkUnknown, within(`<intermediateThrowEvent id="x"><linkEventDefinition name="L"/></intermediateThrowEvent>`)},
	{"a link from nowhere", fault.ModelLinkUnknown, within(`<intermediateCatchEvent id="x"><linkEventDefinition name="L"/></intermediateCatchEvent>`)},
	{"a link to another's definition", fault.ModelLinkUnknown, within(`<intermediateThrowEvent id="x"><linkEventDefinition name="L"><target>none</target></linkEventDefinition></intermediateThrowEvent><intermediateCatchEvent id="y"><linkEventDefinition id="d" name="L"/></intermediateCatchEvent>`)},
	{"a link from another's definition", fault.ModelLinkUnknown, within(`<intermediateThrowEvent id="x"><linkEventDefinition id="a" name="L"/></intermediateThrowEvent><intermediateCatchEvent id="y"><linkEventDefinition name="L"><source>none</source></linkEventDefinition></intermediateCatchEvent>`)},
	{"a compensation without handler", fault.ModelCompensationUnknown, within(`<boundaryEvent id="x" attachedToRef="after">` + undo + `</boundaryEvent>`)},
	{"a compensation of nothing", fault.ModelCompensationUnknown, within(`<intermediateThrowEvent id="x"><compensateEventDefinition activityRef="none"/></intermediateThrowEvent>`)},
	{"a compensation of what is out of sight", fault.ModelCompensationUnknown, within(`<subProcess id="y"><task id="z"/></subProcess><intermediateThrowEvent id="x"><compensateEventDefinition activityRef="z"/></intermediateThrowEvent>`)},
	{"a call of nothing", fault.ModelCallUnknown, within(`<callActivity id="x"/>`)},
	{"a source without channel", fault.ModelChannelUnknown, within(`<receiveTask id="x">` + ext(`<q:source/>`) + `</receiveTask>`)},
	{"an external task without topic", fault.ModelTopicUnknown, within(`<serviceTask id="x" camunda:type="external"/>`)},
	{"two catchers of one code", fault.ModelCatchDuplicate, within(`<boundaryEvent id="x" attachedToRef="after">` + errd + `</boundaryEvent><boundaryEvent id="y" attachedToRef="after">` + errd + `</boundaryEvent>`)},
	{"two catchers in one scope", fault.ModelCatchDuplicate, within(`<subProcess id="a" triggeredByEvent="true"><startEvent id="b">` + errd + `</startEvent></subProcess><subProcess id="c" triggeredByEvent="true"><startEvent id="d">` + errd + `</startEvent></subProcess>`)},
	{"an id twice", fault.ModelIDDuplicate, within(`<task id="after"/>`)},
	{"an element without id", fault.ModelIDDuplicate, within(`<task/>`)},
	{"an endless loop", fault.ModelLoopEndless, within(`<task id="x"><standardLoopCharacteristics/></task>`)},
	{"a multi-instance over nothing", fault.ModelLoopEndless, within(`<task id="x"><multiInstanceLoopCharacteristics/></task>`)},
	{"a reserved name", fault.ModelNameReserved, within(`<task id="x">` + ext(`<zeebe:ioMapping><zeebe:output source="=1" target="loopCounter"/></zeebe:ioMapping>`) + `</task>`)},

	{"no XML", fault.ModelXMLInvalid, "this is text"},
	{"XML that is not well-formed", fault.ModelXMLInvalid, head + "<process>"},
	{"a document type", fault.ModelXMLDTD, `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>` + within("")},
	{"an unknown encoding", fault.ModelXMLEncoding, `<?xml version="1.0" encoding="KLINGON"?>` + within("")},
	{"bytes that are not UTF-8", fault.ModelXMLEncoding, strings.Replace(within(""), `id="after"`, "id=\"after\" name=\"\xff\"", 1)},
	{"too deep", fault.ModelXMLLimit, head + strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200) + "</definitions>"},
	{"no process", fault.ModelNoProcess, head + "</definitions>"},
	{"an empty process", fault.ModelNoProcess, head + `<process id="p" isExecutable="true"/></definitions>`},
}

func TestEveryRefusalHasATest(t *testing.T) {
	tested := map[fault.Code]bool{ // these need the rest of the archive
		fault.ModelDecisionUnknown: true, fault.ModelTemplateUnknown: true,
	}
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			m, findings := read(c.model)
			if m != nil || !slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Level == lint.Error && f.Code == c.code }) {
				t.Fatalf("want %s; got model %v, findings %v", c.code, m, findings)
			}
			for _, f := range findings {
				if f.Level == lint.Error && (f.Line == 0 && f.Code != fault.ModelXMLLimit || f.File == "" || !actionable(f)) {
					t.Errorf("it says not where, or not what to do: %s", f)
				}
			}
		})
		tested[c.code] = true
	}
	for _, e := range fault.Table() {
		if strings.HasPrefix(string(e.Code), "SUTRA.MODEL.") && !tested[e.Code] && !otherModel[e.Code] {
			t.Errorf("%s is tested by nothing", e.Code)
		}
	}
}

// otherModel are codes of decision models, and of what whole archives are checked for.
var otherModel = map[fault.Code]bool{
	fault.PatternInvalid: true, fault.ProcessTwice: true, fault.ModelChannelUse: true, fault.DecisionNone: true, fault.DecisionInvalid: true, fault.DecisionType: true,
}

func TestAllViolationsAtOnce(t *testing.T) {
	_, findings := read(within("<serviceTask id=\"x\"/>\n<callActivity id=\"y\"/>\n<task id=\"after\"/>"))
	var got []string
	for _, f := range findings {
		if f.Level == lint.Error {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.ID))
		}
	}
	if want := []string{"4 x", "5 y", "6 after"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if want := `models/test.bpmn:4: serviceTask "x": it says not how its work is done; give it implementation="channel:<name>", or a task definition [SUTRA.MODEL.ELEMENT.UNSUPPORTED]`; findings[0].String() != want && findings[1].String() != want {
		t.Errorf("got %v", findings)
	}
}
