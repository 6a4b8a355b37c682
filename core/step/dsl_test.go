package step_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/lint"
)

// The model builders: each gives BPMN XML text. A flow's id is "<from>-<to>".

func definitions(parts ...string) string {
	return `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" targetNamespace="t">` +
		roots + strings.Join(parts, "\n") + `</definitions>`
}

// roots are the messages, signals, errors and escalations that test models may refer to.
const roots = `
<message id="m1" name="m1"/><message id="m2" name="m2"/>
<message id="keyed" name="keyed"><extensionElements><zeebe:subscription correlationKey="=key"/></extensionElements></message>
<signal id="s1" name="s1"/><signal id="s2" name="s2"/>
<error id="e1" errorCode="E1"/><error id="e2" errorCode="E2"/><escalation id="x1" escalationCode="X1"/>`

// process is the process "p"; a first part may be its extensionElements.
func process(parts ...string) string { return processNamed("p", parts...) }

func processNamed(id string, parts ...string) string {
	return fmt.Sprintf(`<process id="%s" isExecutable="true">%s</process>`, id, strings.Join(parts, "\n"))
}

func el(kind, id string, inside ...string) string { return elWith(kind, id, "", inside...) }

func elWith(kind, id, attrs string, inside ...string) string {
	return fmt.Sprintf(`<%s id="%s" %s>%s</%s>`, kind, id, attrs, ordered(inside), kind)
}

// ordered puts all extensions of an element into one extensionElements.
func ordered(inside []string) string {
	var ext, rest []string
	for _, x := range inside {
		if strings.HasPrefix(x, "<q:") || strings.HasPrefix(x, "<zeebe:") || strings.HasPrefix(x, "<camunda:") {
			ext = append(ext, x)
		} else {
			rest = append(rest, x)
		}
	}
	if len(ext) == 0 {
		return strings.Join(rest, "")
	}
	slices.SortStableFunc(ext, func(a, b string) int { return strings.Compare(a[:9], b[:9]) })
	all := strings.ReplaceAll(strings.Join(ext, ""), "</zeebe:ioMapping><zeebe:ioMapping>", "")
	return "<extensionElements>" + all + "</extensionElements>" + strings.Join(rest, "")
}

func start(id string, inside ...string) string { return el("startEvent", id, inside...) }
func end(id string, inside ...string) string   { return el("endEvent", id, inside...) }
func pass(id string, inside ...string) string  { return el("task", id, inside...) }

// worker is an external task on the topic of its id.
func worker(id string, inside ...string) string {
	return el("serviceTask", id, append(inside, `<zeebe:taskDefinition type="`+id+`"/>`)...)
}

func script(id, feel, result string, inside ...string) string {
	return el("scriptTask", id, append(inside, fmt.Sprintf(`<zeebe:script expression="=%s" resultVariable="%s"/>`, esc(feel), result))...)
}

func catch(id string, inside ...string) string { return el("intermediateCatchEvent", id, inside...) }

func throw(id string, inside ...string) string { return el("intermediateThrowEvent", id, inside...) }

func boundary(id, host string, inside ...string) string {
	return elWith("boundaryEvent", id, `attachedToRef="`+host+`"`, inside...)
}

func boundaryOn(id, host string, inside ...string) string { // non-interrupting
	return elWith("boundaryEvent", id, `attachedToRef="`+host+`" cancelActivity="false"`, inside...)
}

func sub(id string, inside ...string) string { return el("subProcess", id, inside...) }

func eventSub(id string, inside ...string) string {
	return elWith("subProcess", id, `triggeredByEvent="true"`, inside...)
}

func startOn(id string, inside ...string) string { // non-interrupting start of an event sub-process
	return elWith("startEvent", id, `isInterrupting="false"`, inside...)
}

func message(ref string) string    { return `<messageEventDefinition messageRef="` + ref + `"/>` }
func signal(ref string) string     { return `<signalEventDefinition signalRef="` + ref + `"/>` }
func errorDef(ref string) string   { return `<errorEventDefinition errorRef="` + ref + `"/>` }
func anyError() string             { return `<errorEventDefinition/>` }
func escalation(ref string) string { return `<escalationEventDefinition escalationRef="` + ref + `"/>` }
func terminate() string            { return `<terminateEventDefinition/>` }
func cancelDef() string            { return `<cancelEventDefinition/>` }
func compensateAll() string        { return `<compensateEventDefinition/>` }
func compensate(ref string) string { return `<compensateEventDefinition activityRef="` + ref + `"/>` }

func after(duration string) string {
	return `<timerEventDefinition><timeDuration>` + duration + `</timeDuration></timerEventDefinition>`
}

func every(cycle string) string {
	return `<timerEventDefinition><timeCycle>` + cycle + `</timeCycle></timerEventDefinition>`
}

func when(condition string) string {
	return `<conditionalEventDefinition><condition>` + esc(condition) + `</condition></conditionalEventDefinition>`
}
func source(channel string) string { return `<q:source channel="` + channel + `"/>` }
func alias(name, x string) string {
	return fmt.Sprintf(`<q:alias name="%s" expression="%s"/>`, name, esc(x))
}
func send(channel string) string     { return `<q:send channel="` + channel + `"/>` }
func input(target, x string) string  { return io("input", target, x) }
func output(target, x string) string { return io("output", target, x) }

func io(kind, target, x string) string {
	return fmt.Sprintf(`<zeebe:ioMapping><zeebe:%s source="=%s" target="%s"/></zeebe:ioMapping>`, kind, esc(x), target)
}

func multi(attrs string, inside ...string) string {
	return `<multiInstanceLoopCharacteristics ` + attrs + `>` + ordered(inside) + `</multiInstanceLoopCharacteristics>`
}

func over(collection, item string) string {
	return fmt.Sprintf(`<zeebe:loopCharacteristics inputCollection="=%s" inputElement="%s"/>`, esc(collection), item)
}

func gathering(collection, item, out, element string) string {
	return fmt.Sprintf(`<zeebe:loopCharacteristics inputCollection="=%s" inputElement="%s" outputCollection="%s" outputElement="=%s"/>`, esc(collection), item, out, esc(element))
}

func until(condition string) string {
	return `<completionCondition>` + esc(condition) + `</completionCondition>`
}

// handler is a compensation handler, with its boundary event on host.
func handler(host, id string) string {
	return boundary("b_"+id, host, compensateAll()) +
		elWith("serviceTask", id, `isForCompensation="true"`, `<zeebe:taskDefinition type="`+id+`"/>`) +
		fmt.Sprintf(`<association id="a_%s" sourceRef="b_%s" targetRef="%s"/>`, id, id, id)
}

func exclusive(id string) string { return el("exclusiveGateway", id) }
func parallel(id string) string  { return el("parallelGateway", id) }
func inclusive(id string) string { return el("inclusiveGateway", id) }
func eventGate(id string) string { return el("eventBasedGateway", id) }

// path connects nodes one after the other.
func path(ids ...string) string {
	var b strings.Builder
	for i := 1; i < len(ids); i++ {
		fmt.Fprintf(&b, `<sequenceFlow id="%s-%s" sourceRef="%s" targetRef="%s"/>`, ids[i-1], ids[i], ids[i-1], ids[i])
	}
	return b.String()
}

func pathIf(from, to, condition string) string {
	return fmt.Sprintf(`<sequenceFlow id="%s-%s" sourceRef="%s" targetRef="%s"><conditionExpression>%s</conditionExpression></sequenceFlow>`, from, to, from, to, esc(condition))
}

func esc(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

// read compiles test models; findings that are errors fail the test.
func read(t testing.TB, xml string) map[string]*bpmn.Process {
	t.Helper()
	if !strings.HasPrefix(xml, "<definitions") && !strings.HasPrefix(xml, "<?xml") {
		xml = definitions(xml)
	}
	m, findings := bpmn.Read("test.bpmn", []byte(xml), bpmn.Limits{})
	if m == nil {
		for _, f := range findings {
			if f.Level == lint.Error {
				t.Error(f)
			}
		}
		t.FailNow()
	}
	out := map[string]*bpmn.Process{}
	for _, p := range m.Processes {
		out[p.ID] = p
	}
	return out
}
