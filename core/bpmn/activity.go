package bpmn

import (
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// UserTopic is the topic of user tasks.
const UserTopic = "sutra:user-task"

// details reads everything of a node but where it stands.
func (c *compiler) details(n *Node, e *element) {
	switch n.Kind {
	case Exclusive, Parallel, Inclusive:
	case Complex:
		if at := e.child("activationCondition"); at != nil {
			n.Activation = c.expression(at, at.content())
		}
	case EventGate:
		n.Instantiate = e.is("instantiate", false)
		n.AllEvents = c.choice(e, "eventGatewayType", "Exclusive", "Parallel") == "Parallel"
		if n.AllEvents && !n.Instantiate {
			c.refuse(e, fault.ModelElement, "a parallel event gateway can only start a process; make it exclusive")
		}
	case StartEvent, EndEvent, CatchEvent, ThrowEvent, BoundaryEvent:
		c.mappings(n, e)
		c.event(n, e)
		c.eventExtras(n, e)
	default:
		c.activity(n, e)
	}
}

func (c *compiler) eventExtras(n *Node, e *element) {
	switch n.Kind {
	case StartEvent, CatchEvent, BoundaryEvent:
		n.Aliases = c.aliases(e)
		if len(n.Inputs) > 0 {
			c.refuse(e, fault.ModelAttribute, "input mappings mean nothing on an event that catches; map its outputs")
		}
		return
	case EndEvent:
		n.Reply = c.reply(e)
	}
	if n.Event == nil || n.Event.Kind != Message {
		if n.Kind == EndEvent || n.Kind == ThrowEvent {
			n.Send = c.send(e)
		}
		return
	}
	n.Send = c.send(e)
	if n.Send != nil || n.Reply != nil {
		return
	}
	at, _ := c.definition(e)
	if n.Task = c.external(e, at); n.Task == nil {
		c.refuse(e, fault.ModelElement, "it says not where its message goes; give it a q:send, a q:reply, or a task definition")
	}
}

func (c *compiler) activity(n *Node, e *element) {
	for _, quantity := range []string{"startQuantity", "completionQuantity"} {
		if q := e.get(quantity); q != "" && q != "1" {
			c.refuse(e, fault.ModelAttribute, "%s=%q is not executed; only 1 is", quantity, q)
		}
	}
	c.mappings(n, e)
	if n.Kind == EventProcess { // keys and loops of one are never read, and so refused
		return
	}
	n.Loop = c.loop(e)
	n.Aliases = c.aliases(e)
	switch n.Kind {
	case CallActivity:
		n.Call = c.call(n, e)
	case SubProcess:
	case Transaction:
		if m := e.get("method"); m != "" && !strings.EqualFold(strings.TrimPrefix(m, "##"), "compensate") {
			c.refuse(e, fault.ModelAttribute, "the transaction method %q is not executed; only ##Compensate is", m)
		}
	case AdHoc:
		n.AdHoc = c.adHoc(e)
	default:
		n.Reply = c.reply(e)
		n.Task = c.task(n, e)
	}
}

// task reads how a task does its work.
func (c *compiler) task(n *Node, e *element) *Task {
	switch n.Kind {
	case AbstractTask, ManualTask:
		return &Task{How: Pass}
	case ReceiveTask:
		return c.receive(n, e)
	case UserTask:
		return c.user(n, e)
	}
	if name, found := strings.CutPrefix(e.get("implementation"), "channel:"); found {
		n.Retry, n.Timeout = c.retry(e), c.timeout(e)
		return &Task{How: Channel, Channel: name, Result: c.resultVariable(e), Headers: c.taskHeaders(e)}
	}
	if t := c.external(e, e); t != nil {
		return t
	}
	var t *Task
	switch n.Kind {
	case SendTask:
		if n.Send = c.send(e); n.Send != nil {
			t = &Task{How: Emit}
		}
	case RuleTask:
		t = c.decision(e)
	case ScriptTask:
		t = c.script(e)
	}
	if t == nil {
		c.refuse(e, fault.ModelElement, "it says not how its work is done; %s", map[Kind]string{
			ServiceTask: `give it implementation="channel:<name>", or a task definition`,
			SendTask:    "give it a q:send, or a task definition",
			RuleTask:    "give it a decision, or a task definition",
			ScriptTask:  "give it a FEEL script, or a task definition",
		}[n.Kind])
	}
	return t
}

func (c *compiler) receive(n *Node, e *element) *Task {
	n.Source, n.Instantiate = c.source(e), e.is("instantiate", false)
	n.Event = &Event{Kind: Message}
	n.Event.Name, n.Event.Key = c.message(e, e.get("messageRef"))
	if n.Source == nil && n.Event.Name == nil {
		c.refuse(e, fault.ModelElement, "it names no message; give it a messageRef, or a q:source with a channel")
	}
	return &Task{How: Wait}
}

func (c *compiler) user(n *Node, e *element) *Task {
	if n.Source = c.source(e); n.Source != nil {
		n.Event = &Event{Kind: Message}
		return &Task{How: Wait}
	}
	t := &Task{How: External, Topic: &Text{Literal: UserTopic}, Open: true, Headers: c.taskHeaders(e)}
	if ext := e.extension(zeebeSpace, "userTask"); ext == nil {
		if def := e.extension(zeebeSpace, "taskDefinition"); def != nil { // a job worker drives it
			t.Retries = c.text(def, def.get("retries"))
		}
	}
	t.Headers = append(t.Headers, c.userHeaders(e)...)
	return t
}

// userHeaders reads who should do a user task, by when, and with which form.
func (c *compiler) userHeaders(e *element) []Header {
	var headers []Header
	add := func(at *element, value, name string) {
		if v := c.text(at, value); v != nil {
			headers = append(headers, Header{name, v})
		}
	}
	for _, name := range []string{"assignee", "candidateUsers", "candidateGroups", "formKey", "formRef", "dueDate", "followUpDate", "priority"} {
		add(e, c.attr(e, camundaSpace, name), name)
	}
	for _, part := range []struct {
		element string
		names   []string
	}{
		{"assignmentDefinition", []string{"assignee", "candidateUsers", "candidateGroups"}},
		{"formDefinition", []string{"formKey", "formId", "externalReference"}},
		{"taskSchedule", []string{"dueDate", "followUpDate"}},
		{"priorityDefinition", []string{"priority"}},
	} {
		if x := e.extension(zeebeSpace, part.element); x != nil {
			for _, name := range part.names {
				add(x, x.get(name), name)
			}
			c.binding(e, x)
		}
	}
	return headers
}

// external reads an external task: zeebe:taskDefinition of e, or camunda:type="external" at the element that carries it.
func (c *compiler) external(e, at *element) *Task {
	camunda, name := c.attr(at, camundaSpace, "type"), c.attr(at, camundaSpace, "topic")
	if def := e.extension(zeebeSpace, "taskDefinition"); def != nil {
		topic := c.text(def, def.get("type"))
		if topic == nil {
			c.refuse(def, fault.ModelTopicUnknown, "the task definition has no type; name the topic that workers fetch")
			topic = &Text{}
		}
		return &Task{How: External, Topic: topic, Retries: c.text(def, def.get("retries")), Headers: c.taskHeaders(e)}
	}
	if camunda != "external" {
		if camunda != "" {
			c.refuse(e, fault.ModelAttribute, "camunda:type=%q is not executed here; only external is", camunda)
		}
		return nil
	}
	topic := c.text(at, name)
	if topic == nil {
		c.refuse(e, fault.ModelTopicUnknown, "the external task has no topic; name the one that workers fetch")
		topic = &Text{}
	}
	return &Task{How: External, Topic: topic, Headers: c.taskHeaders(e)}
}

func (c *compiler) taskHeaders(e *element) []Header {
	var headers []Header
	if x := e.extension(zeebeSpace, "taskHeaders"); x != nil {
		for _, h := range x.all(zeebeSpace, "header") {
			headers = append(headers, Header{h.get("key"), &Text{Literal: h.get("value")}})
		}
	}
	return headers
}

func (c *compiler) resultVariable(e *element) string {
	return c.name(e, c.attr(e, camundaSpace, "resultVariable"))
}

// binding notes which revision of something an extension asks for.
func (c *compiler) binding(e, x *element) {
	if binding := x.get("bindingType") + x.get("versionTag"); binding != "" {
		c.note(e, "the binding %q of %s has no effect here: what this archive has is meant", binding, x.name)
	}
}

func (c *compiler) decision(e *element) *Task {
	if x := e.extension(zeebeSpace, "calledDecision"); x != nil {
		c.binding(e, x)
		return &Task{How: Decision, Decision: c.text(x, x.get("decisionId")), Result: c.name(x, x.get("resultVariable"))}
	}
	ref := c.text(e, c.attr(e, camundaSpace, "decisionRef"))
	if ref == nil {
		return nil
	}
	t := &Task{How: Decision, Decision: ref, Result: c.resultVariable(e)}
	if how, found := e.find(camundaSpace, "mapDecisionResult"); found {
		t.Rows = RowsAs(how)
		if !contains([]RowsAs{SingleEntry, SingleResult, CollectEntries, ResultList}, t.Rows) {
			c.refuse(e, fault.ModelAttribute, "mapDecisionResult=%q means nothing; write singleEntry, singleResult, collectEntries or resultList", how)
		}
	}
	return t
}

func (c *compiler) script(e *element) *Task {
	if x := e.extension(zeebeSpace, "script"); x != nil {
		return &Task{How: Script, Script: c.expression(x, x.get("expression")), Result: c.name(x, x.get("resultVariable"))}
	}
	body := e.child("script")
	if body == nil {
		return nil
	}
	format := strings.ToLower(e.get("scriptFormat"))
	if format == "template" {
		return &Task{How: Template, Template: body.content(), Params: c.params(e), Result: c.resultVariable(e)}
	}
	if format != "" && !strings.Contains(format, "feel") {
		c.refuse(e, fault.ModelLanguage, "the script format %q is not run here; write the script in FEEL, or give the task to a worker", format)
		return &Task{How: Pass}
	}
	return &Task{How: Script, Script: c.expression(body, body.content()), Result: c.resultVariable(e)}
}

func (c *compiler) adHoc(e *element) *AdHocSpec {
	spec := &AdHocSpec{
		Sequential: c.choice(e, "ordering", "Parallel", "Sequential") == "Sequential",
		LetEnd:     !e.is("cancelRemainingInstances", true),
	}
	if at := e.child("completionCondition"); at != nil {
		spec.Done = c.expression(at, at.content())
	}
	if x := e.extension(zeebeSpace, "adHoc"); x != nil {
		spec.Elements = c.optional(x, x.get("activeElementsCollection"))
		spec.Output, spec.Element = c.name(x, x.get("outputCollection")), c.optional(x, x.get("outputElement"))
		if (spec.Output == "") != (spec.Element == nil) {
			c.refuse(x, fault.ModelAttribute, "it has an outputCollection or an outputElement alone; give it both, or neither")
		}
		if spec.Element != nil && plainName(spec.Element.Source) {
			spec.Declares = spec.Element.Source
		}
	}
	return spec
}

// call reads what a call activity calls.
func (c *compiler) call(n *Node, e *element) *Call {
	call := &Call{Process: c.text(e, local(e.get("calledElement")))}
	if x := e.extension(zeebeSpace, "calledElement"); x != nil {
		call.Process = c.text(x, x.get("processId"))
		call.AllIn = x.get("propagateAllParentVariables") == "true"
		call.AllOut = x.get("propagateAllChildVariables") == "true"
		c.binding(e, x)
	}
	for _, x := range e.extensions(camundaSpace, "in") {
		switch {
		case x.get("variables") == "all":
			call.AllIn = true
		case x.get("businessKey") != "":
			c.note(e, "the business key has no effect here; register a q:alias in the called process")
		default:
			n.Inputs = append(n.Inputs, c.passed(x)...)
		}
	}
	for _, x := range e.extensions(camundaSpace, "out") {
		if x.get("variables") == "all" {
			call.AllOut = true
		} else {
			n.Outputs = append(n.Outputs, c.passed(x)...)
		}
	}
	if global := c.global(call.Process); global != nil {
		c.refuse(e, fault.ModelElement, "it calls the %s %q, and only processes are called here; put the task in its place", global.name, call.Process.Literal)
	}
	c.dispatch(call, e)
	if call.Process == nil && len(call.Cases) == 0 {
		c.refuse(e, fault.ModelCallUnknown, "it calls nothing; name a process in calledElement")
	}
	return call
}

// global finds the global task that a name means; nil: there is none.
func (c *compiler) global(name *Text) *element {
	if name == nil || name.Expr != nil {
		return nil
	}
	if root := c.roots[name.Literal]; root != nil && strings.HasPrefix(root.name, "global") {
		return root
	}
	return nil
}

// passed reads camunda:in or camunda:out.
func (c *compiler) passed(x *element) []Mapping {
	source := x.get("sourceExpression")
	if source == "" {
		source = x.get("source")
	}
	if expr := c.expression(x, source); expr != nil {
		return []Mapping{{Target: c.name(x, x.get("target")), Expr: expr}}
	}
	return nil
}

func (c *compiler) dispatch(call *Call, e *element) {
	x := e.extension(qSpace, "dispatch")
	if x == nil {
		return
	}
	for _, k := range x.all(qSpace, "case") {
		call.Cases = append(call.Cases, Case{When: c.expression(k, k.get("when")), Process: k.get("calledElement")})
	}
	if fallback := x.get("default"); fallback != "" {
		call.Process = &Text{Literal: fallback}
	}
	call.OnNoMatch = c.choice(x, "onNoMatch", "error", "skip")
}
