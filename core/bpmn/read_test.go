package bpmn_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/lint"
)

func mustRead(t *testing.T, text string) *bpmn.Model {
	t.Helper()
	m, findings := read(text)
	if m == nil {
		t.Fatalf("refused: %v", findings)
	}
	return m
}

func utf16Of(text string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestReadsWhatToolsWrite(t *testing.T) {
	plain := within(`<task id="x" name="grün"/>`)
	prefixed := `<?xml version="1.0"?><b:definitions xmlns:b="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:v="http://vendor">
<b:process id="p"><b:extensionElements><v:anything a="1"><v:deep/></v:anything></b:extensionElements><b:startEvent id="start"/><b:task id="x" name="gr&#252;n" v:color="red"/></b:process>
<bpmndi:BPMNDiagram id="d"><bpmndi:BPMNPlane id="x"/></bpmndi:BPMNDiagram></b:definitions>`
	for name, text := range map[string]string{
		"plain": plain, "prefixed": prefixed, "byte order mark": "\xef\xbb\xbf" + plain, "comment": "<!-- tool -->" + plain,
		"UTF-16":       utf16Of(`<?xml version="1.0" encoding="UTF-16"?>` + plain),
		"ISO-8859-1":   `<?xml version="1.0" encoding="ISO-8859-1"?>` + strings.ReplaceAll(plain, "ü", "\xfc"),
		"windows-1252": `<?xml version="1.0" encoding="windows-1252"?>` + strings.ReplaceAll(plain, "ü", "\xfc"),
	} {
		m := mustRead(t, text)
		if n := m.Processes[0].Node("x"); n == nil || n.Name != "grün" {
			t.Errorf("%s: node x is %+v", name, n)
		}
	}
}

// The standard lets a sequence flow be without id: its ends name it, also where two lead the same way.
func TestFlowsMayBeWithoutID(t *testing.T) {
	p := mustRead(t, within(`<exclusiveGateway id="x"/><sequenceFlow sourceRef="x" targetRef="after"><conditionExpression>a</conditionExpression></sequenceFlow><sequenceFlow sourceRef="x" targetRef="after"/>`)).Processes[0]
	for id, conditional := range map[string]bool{"x>after": true, "x>after#2": false} {
		if f := p.Flow(id); f == nil || (f.Condition != nil) != conditional {
			t.Errorf("%s is %+v", id, f)
		}
	}
}

// Engines of one family have their words in namespaces of their own; messages spell them as the file does.
func TestNamespacesOfTheFamilyAreOne(t *testing.T) {
	for spelled, space := range map[string]string{
		"camunda:": "http://camunda.org/schema/1.0/bpmn", "activiti:": "http://activiti.org/bpmn", "flowable:": "http://flowable.org/bpmn",
		"operaton:": "http://operaton.org/schema/1.0/bpmn",
	} {
		task := `<userTask id="x" xmlns:e="` + space + `" e:assignee="eve" e:wish="1"/>`
		m, findings := read(within(strings.Replace(task, ` e:wish="1"`, "", 1)))
		if m == nil || len(m.Processes[0].Node("x").Task.Headers) != 1 {
			t.Errorf("%s %v", spelled, findings)
		}
		if _, findings = read(within(task)); len(findings) == 0 || !strings.HasPrefix(findings[0].Text, spelled+"wish ") {
			t.Errorf("%s is said as %v", spelled, findings)
		}
	}
}

// What stands in a namespace that means nothing is said once, however often it stands there.
func TestForeignNamespacesAreNoted(t *testing.T) {
	_, findings := read(within(`<task id="x" xmlns:v="http://vendor" v:color="red">` + ext(`<v:meta/><v:meta/>`) + `</task>`))
	if len(findings) != 2 || findings[0].Level != lint.Note && findings[1].Level != lint.Note || !strings.Contains(findings[0].Text+findings[1].Text, `"http://vendor"`) {
		t.Errorf("%v", findings)
	}
}

// References to nodes are QNames where the schema says so.
func TestReferencesMayHavePrefixes(t *testing.T) {
	p := mustRead(t, within(`<boundaryEvent id="x" attachedToRef="m.0:after">`+undo+`</boundaryEvent><task id="u" isForCompensation="true"/>
<association id="l" sourceRef="m.0:x" targetRef="m.0:u"/><intermediateThrowEvent id="y"><compensateEventDefinition activityRef="m.0:after"/></intermediateThrowEvent>`)).Processes[0]
	if at := p.Node("after"); at.Compensation != p.Node("u") || p.Node("y").Event.Activity != at {
		t.Errorf("the handler is %+v, %+v is undone", at.Compensation, p.Node("y").Event.Activity)
	}
}

// What can never happen is warned of.
func TestHandlersThatNeverRunAreWarnedOf(t *testing.T) {
	for what, elements := range map[string]string{
		"never happens": `<boundaryEvent id="x" attachedToRef="after"><escalationEventDefinition escalationRef="esc"/></boundaryEvent>`,
		"never runs": `<subProcess id="y"><subProcess id="x" triggeredByEvent="true"><startEvent id="s1">` + undo + `</startEvent></subProcess></subProcess>
<boundaryEvent id="b" attachedToRef="y">` + undo + `</boundaryEvent><task id="u" isForCompensation="true"/><association id="l" sourceRef="b" targetRef="u"/>`,
	} {
		_, findings := read(within(elements))
		if !slices.ContainsFunc(findings, func(f lint.Finding) bool {
			return f.Level == lint.Warning && f.ID == "x" && strings.Contains(f.Text, what)
		}) {
			t.Errorf("%s: %v", what, findings)
		}
	}
}

// What is no attribute of BPMN was meant to be one, as tools write none: it is said.
func TestSlipsOfThePenAreSaid(t *testing.T) {
	_, findings := read(within(`<boundaryEvent id="x" attachedToRef="after" cancelActivty="false">` + timer + `</boundaryEvent>`))
	if !slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Level == lint.Warning && strings.Contains(f.Text, "cancelActivty") }) {
		t.Errorf("%v", findings)
	}
}

func TestCDATAIsText(t *testing.T) {
	m := mustRead(t, within(`<scriptTask id="x"><script><![CDATA[ if 1 < 2 then "a" else "b" ]]></script></scriptTask>`))
	if got := m.Processes[0].Node("x").Task.Script.Source; got != `if 1 < 2 then "a" else "b"` {
		t.Error(got)
	}
}

func TestProcessesThatAreNotExecutableAreDocumentary(t *testing.T) {
	m, findings := read(head + `<process id="a"><task id="x"/></process><process id="b"><serviceTask id="y"/></process></definitions>`)
	if m == nil || len(m.Processes) != 0 || len(findings) != 1 || findings[0].Level != lint.Warning {
		t.Errorf("%v %v", m, findings)
	}
	m = mustRead(t, head+`<process id="a"><serviceTask id="x"/></process><process id="b" isExecutable="true"><task id="y"/></process></definitions>`)
	if len(m.Processes) != 1 || m.Processes[0].ID != "b" {
		t.Errorf("%+v", m.Processes)
	}
}

func TestStartsAndCatches(t *testing.T) {
	m := mustRead(t, head+`<process id="p" isExecutable="true"><startEvent id="none"/>
<startEvent id="door">`+ext(`<q:source channel="orders" name="order"/><q:alias name="k" expression="order.id" unique="true" onConflict="correlate"/>`)+`</startEvent>
<startEvent id="named">`+msg+`</startEvent><startEvent id="nightly">`+strings.Replace(cycle, "R3/PT1H", "R/P1D", 1)+`</startEvent><startEvent id="sig"><signalEventDefinition signalRef="s"/></startEvent>
<task id="t"/><boundaryEvent id="b" attachedToRef="t">`+ext(`<q:source channel="decisions"/><q:alias name="k" expression="payload.id"/>`)+msg+`</boundaryEvent>
<receiveTask id="r" messageRef="m"/></process></definitions>`)
	p := m.Processes[0]
	var got []string
	for _, s := range p.Starts {
		got = append(got, s.Node.ID+" "+string(s.Kind)+" "+s.Wakes())
	}
	if want := "none  ,door message orders,named message m,nightly timer ,sig signal s"; strings.Join(got, ",") != want {
		t.Errorf("starts %q, want %q", strings.Join(got, ","), want)
	}
	if p.Starts[3].Timer.Cycle.Literal != "R/P1D" {
		t.Errorf("timer %+v", p.Starts[3].Timer)
	}
	if len(p.Catches) != 2 || p.Catches[0].Channel != "decisions" || p.Catches[0].Aliases[0].Name != "k" || p.Catches[1].Message != "m" {
		t.Errorf("catches %+v", p.Catches)
	}
	if a := p.Node("door").Aliases[0]; !a.Unique || !a.Correlate {
		t.Errorf("alias %+v", a)
	}
}

func TestForeignExtensionsHaveEquals(t *testing.T) {
	m := mustRead(t, within(`
<serviceTask id="z">`+ext(`<zeebe:taskDefinition type="=topic" retries="5"/><zeebe:taskHeaders><zeebe:header key="k" value="v"/></zeebe:taskHeaders>`)+`</serviceTask>
<serviceTask id="c" camunda:type="external" camunda:topic="t" camunda:asyncBefore="true"/>
<task id="io">`+ext(`<camunda:inputOutput><camunda:inputParameter name="a">text</camunda:inputParameter><camunda:inputParameter name="l"><camunda:list><camunda:value>1</camunda:value><camunda:value>=x</camunda:value></camunda:list></camunda:inputParameter><camunda:outputParameter name="m"><camunda:map><camunda:entry key="k">=y</camunda:entry></camunda:map></camunda:outputParameter></camunda:inputOutput>`)+`</task>
<userTask id="u" camunda:assignee="me" camunda:formKey="f"/>
<userTask id="v">`+ext(`<zeebe:userTask/><zeebe:assignmentDefinition assignee="=who" candidateGroups="g"/><zeebe:formDefinition formId="f2"/>`)+`</userTask>
<businessRuleTask id="d" camunda:decisionRef="dec" camunda:resultVariable="r"/>
<task id="mi"><multiInstanceLoopCharacteristics camunda:collection="items" camunda:elementVariable="item"/></task>
<callActivity id="call" calledElement="p">`+ext(`<camunda:in source="a" target="b"/><camunda:in businessKey="#{x}"/><camunda:out variables="all"/>`)+`</callActivity>`))
	p := m.Processes[0]
	if z := p.Node("z").Task; z.Topic.Expr.Source != "topic" || z.Retries.Literal != "5" || z.Headers[0].Value.Literal != "v" {
		t.Errorf("zeebe:taskDefinition %+v", z)
	}
	if c := p.Node("c").Task; c.How != bpmn.External || c.Topic.Literal != "t" {
		t.Errorf("camunda external %+v", c)
	}
	in := p.Node("io").Inputs
	if in[0].Text != "text" || in[1].Expr.Source != `["1", x]` || p.Node("io").Outputs[0].Expr.Source != `{"k": y}` {
		t.Errorf("camunda:inputOutput %+v", in)
	}
	if u, v := p.Node("u").Task, p.Node("v").Task; len(u.Headers) != 2 || len(v.Headers) != 3 || v.Headers[0].Value.Expr.Source != "who" || !u.Open || u.Topic.Literal != bpmn.UserTopic {
		t.Errorf("user tasks %+v %+v", u, v)
	}
	if d := p.Node("d").Task; d.How != bpmn.Decision || d.Decision.Literal != "dec" || d.Result != "r" {
		t.Errorf("decision %+v", d)
	}
	if l := p.Node("mi").Loop; l.Collection.Source != "items" || l.Item != "item" {
		t.Errorf("multi-instance %+v", l)
	}
	if call := p.Node("call"); call.Call.Process.Literal != "p" || !call.Call.AllOut || len(call.Inputs) != 1 {
		t.Errorf("call %+v", call)
	}
}

func TestTransformationsMayBeBoxed(t *testing.T) {
	for _, text := range []string{`a.b + 1`, `<![CDATA[ <d:literalExpression xmlns:d="https://www.omg.org/spec/DMN/20191111/MODEL/"><d:text>a.b + 1</d:text></d:literalExpression> ]]>`} {
		m := mustRead(t, within(`<task id="x"><dataOutputAssociation><targetRef>c</targetRef><transformation>`+text+`</transformation></dataOutputAssociation></task>`))
		if out := m.Processes[0].Node("x").Outputs; len(out) != 1 || out[0].Target != "c" || out[0].Expr.Source != "a.b + 1" {
			t.Errorf("%s: %+v", text, out)
		}
	}
}

// A condition that is refused is there all the same: nobody is told to add one.
func TestRefusedConditionsAreNotMissing(t *testing.T) {
	_, findings := read(within(`<exclusiveGateway id="x"/><sequenceFlow id="f" sourceRef="x" targetRef="after"><conditionExpression>${a}</conditionExpression></sequenceFlow>
<sequenceFlow id="g" sourceRef="x" targetRef="after"><conditionExpression>${b}</conditionExpression></sequenceFlow>`))
	for _, f := range findings {
		if f.ID == "x" && strings.Contains(f.Text, "no condition") {
			t.Error(f)
		}
	}
}

// What is refused as JUEL is said in FEEL, with what stands around it.
func TestJUELIsAnsweredInFEEL(t *testing.T) {
	for juel, want := range map[string]string{
		"${a == 'b' && c}": `a = "b" and c`, "${!a || not b.c or !(d != 1)}": `not(a) or not(b.c) or not(d != 1)`, "${empty a and b ge 3}": `(a = null) and b >= 3`,
		"${note}": `note`, "${execution.getVariable('a')}": `a`, "Dear ${name}": `"Dear " + string(name)`, "#{a}-${b}!": `string(a) + "-" + string(b) + "!"`,
	} {
		_, findings := read(within(`<task id="x">` + ext(`<camunda:inputOutput><camunda:inputParameter name="a"><![CDATA[`+juel+`]]></camunda:inputParameter></camunda:inputOutput>`) + `</task>`))
		if len(findings) == 0 || !strings.HasSuffix(findings[0].Text, "; write = "+want) {
			t.Errorf("%s: %v", juel, findings)
			continue
		}
		if m, findings := read(within(`<scriptTask id="x"><script><![CDATA[` + want + `]]></script></scriptTask>`)); m == nil {
			t.Errorf("what is advised for %s does not read: %v", juel, findings)
		}
	}
}

func TestRepeatingIntervals(t *testing.T) {
	january := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]bpmn.Cycle{
		"R3/PT10M": {Repeats: 3, Period: "PT10M"}, "R/P1M": {Repeats: -1, Period: "P1M"}, "PT5S": {Repeats: -1, Period: "PT5S"},
		"R/P1M1D": {Repeats: -1, Period: "P1M1D"}, "0 0 9 ? * MON-FRI": {Repeats: -1, Period: "0 0 9 ? * MON-FRI"}, "@daily": {Repeats: -1, Period: "@daily"},
		"R2/2026-01-31T00:00:00Z/P1D":                  {Repeats: 2, Anchor: january, Period: "P1D"},
		"R/PT1H/2026-01-31T00:00:00Z":                  {Repeats: -1, Anchor: january, Period: "-PT1H"},
		"R3/2026-01-31T00:00:00Z/2026-02-01T00:00:30Z": {Repeats: 3, Anchor: january, Period: "P1DT30S"},
		"R/2026-01-31T01:00:00@Europe/Paris/P1D":       {Repeats: -1, Anchor: january, Period: "P1D"},
		"R/P1D/2026-01-31T01:00:00@Europe/Paris":       {Repeats: -1, Anchor: january, Period: "-P1D"},
	} {
		if got, err := bpmn.ParseCycle(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "R", "R-1/PT1S", "Rx/PT1S", "R3/PT0S", "R3/-PT1S", "R/a/b/c", "R/-PT1H/2026-01-31T00:00:00Z", "R/2026-01-31/2026-01-31", "R/2026-02-01/2026-01-31", "R/PT1H/PT1H",
		"R/2026-01-31T00:00:00Z/", "2026-01-31", "0 0 * * *", "0 0 9 * * 1",
	} {
		if got, err := bpmn.ParseCycle(text); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
	c := bpmn.Cycle{Period: "P1M"}
	if got, place, _ := c.After(january, january.AddDate(0, 0, 40)); got.Format("2006-01-02") != "2026-03-31" || place != 2 {
		t.Errorf("two months after the 31st of January is %v: it drifted", got)
	}
}

// A cycle that has an anchor comes at the times that its anchor says, whenever it is armed: those before are over.
func TestAnchoredCycles(t *testing.T) {
	for _, c := range []struct{ text, now, due, left, then string }{
		{"R3/2026-01-01T00:00:00Z/PT1H", "2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z", "3", "2026-01-01T01:00:00Z"},
		{"R3/2026-01-01T00:00:00Z/PT1H", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z", "2", "2026-01-01T02:00:00Z"},
		{"R3/2026-01-01T00:00:00Z/PT1H", "2026-01-01T02:00:00Z", "", "0", ""},
		{"R3/2026-01-01T00:00:00Z/2026-01-01T01:00:00Z", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z", "2", "2026-01-01T02:00:00Z"},
		{"R/2026-01-01T00:00:00Z/PT1H", "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z", "-1", "2026-01-01T04:00:00Z"},
		{"R/PT1H/2026-01-01T00:00:00Z", "2025-12-31T20:30:00Z", "2025-12-31T21:00:00Z", "4", "2025-12-31T22:00:00Z"},
		{"R2/PT1H/2026-01-01T00:00:00Z", "2025-12-31T20:30:00Z", "2025-12-31T23:00:00Z", "2", "2026-01-01T00:00:00Z"},
		{"R/PT1H/2026-01-01T00:00:00Z", "2025-12-31T23:30:00Z", "2026-01-01T00:00:00Z", "1", ""},
		{"R/PT1H/2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "", "0", ""},
		{"R/P1M/2026-03-31T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z", "2", "2026-03-31T00:00:00Z"},
		{"R/PT1S/9999-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "251635075199", "2026-01-01T00:00:02Z"},
		{"R0/2026-01-01T00:00:00Z/PT1H", "2025-12-31T00:00:00Z", "", "0", ""},
	} {
		show := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.Format(time.RFC3339)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		cycle, err := bpmn.ParseCycle(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		due, left, err := cycle.First(now)
		if err != nil || show(due) != c.due || strconv.FormatInt(left, 10) != c.left {
			t.Errorf("%s at %s: due %s, %d left, %v", c.text, c.now, show(due), left, err)
		}
		if c.due == "" {
			continue
		}
		if then, _, err := cycle.After(cycle.Anchor, due); err != nil || c.then != "" && show(then) != c.then || c.then == "" && !then.IsZero() {
			t.Errorf("%s after %s: %s, %v", c.text, c.due, show(then), err)
		}
	}
}

func TestPeriodsMayMixMonthsAndDays(t *testing.T) {
	january := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"P1M": "2026-02-28T12:00:00Z", "P1M1D": "2026-03-01T12:00:00Z", "P1Y2M3DT4H5M6S": "2027-04-03T16:05:06Z", "P2W": "2026-02-14T12:00:00Z",
		"PT0.5S": "2026-01-31T12:00:00.5Z", "-P1M1D": "2025-12-30T12:00:00Z",
	} {
		p, err := bpmn.ParsePeriod(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := p.After(january, 1); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s after %s is %s (%v), want %s", text, january, got.Format(time.RFC3339Nano), err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "1D", "P1D1M", "P1M-1D", "P1WT1H", "P1.5M", "PT1D", "P1S", "P--1D", "P1H"} {
		if p, err := bpmn.ParsePeriod(text); err == nil {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(within("")))
	for _, c := range refusals {
		f.Add([]byte(c.model))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, findings := bpmn.Read("f", data, bpmn.Limits{Elements: 500, Depth: 40})
		if (m == nil) != lint.Refused(findings) {
			t.Fatalf("model %v, refused %v", m, lint.Refused(findings))
		}
	})
}
