package bpmn

import (
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

var definitions = map[string]EventKind{
	"messageEventDefinition": Message, "timerEventDefinition": Timer, "signalEventDefinition": Signal, "errorEventDefinition": Error,
	"escalationEventDefinition": Escalation, "conditionalEventDefinition": Conditional, "compensateEventDefinition": Compensation,
	"cancelEventDefinition": Cancel, "terminateEventDefinition": Terminate, "linkEventDefinition": Link,
}

// allowed says which events may have which definitions; none is checked apart.
var allowed = map[Kind][]EventKind{
	StartEvent:    {Message, Timer, Signal, Conditional, Error, Escalation, Compensation},
	EndEvent:      {Message, Signal, Error, Escalation, Compensation, Cancel, Terminate},
	CatchEvent:    {Message, Timer, Signal, Conditional, Link},
	ThrowEvent:    {Message, Signal, Escalation, Compensation, Link},
	BoundaryEvent: {Message, Timer, Signal, Conditional, Error, Escalation, Compensation, Cancel},
}

// event reads what an event is about.
func (c *compiler) event(n *Node, e *element) {
	n.Source = c.source(e)
	at, kind := c.definition(e)
	if n.Kind == StartEvent {
		n.Interrupting = e.is("isInterrupting", true)
		c.startForm(e)
	}
	if at == nil {
		c.plainEvent(n, e)
		return
	}
	if !contains(allowed[n.Kind], kind) {
		c.refuse(e, fault.ModelEventMisplaced, "a %s event cannot stand here; use another kind of event", kind)
		return
	}
	n.Event = c.about(n, at, kind)
	if n.Source != nil && kind != Message && kind != Conditional {
		c.refuse(e, fault.ModelAttribute, "q:source means nothing on a %s event; make it a message event", kind)
	}
	if kind == Message && n.Kind != EndEvent && n.Kind != ThrowEvent && n.Source == nil && n.Event.Name == nil {
		c.refuse(e, fault.ModelElement, "it names no message; give it a messageRef, or a q:source with a channel")
	}
}

// startForm notes a form that other engines show before they start a process.
func (c *compiler) startForm(e *element) {
	if c.attr(e, camundaSpace, "formKey")+c.attr(e, camundaSpace, "formRef") != "" {
		c.note(e, "the form has no effect here: whoever starts the process brings its variables")
	}
	if form := e.extension(zeebeSpace, "formDefinition"); form != nil {
		for _, name := range []string{"formKey", "formId", "externalReference"} {
			form.get(name)
		}
		c.binding(e, form)
		c.note(e, "the form has no effect here: whoever starts the process brings its variables")
	}
}

// plainEvent is an event without definition.
func (c *compiler) plainEvent(n *Node, e *element) {
	switch {
	case n.Kind == StartEvent || n.Kind == CatchEvent:
		if n.Source != nil {
			n.Event = &Event{Kind: Message}
		} else if n.Kind == CatchEvent {
			c.refuse(e, fault.ModelElement, "it catches nothing; give it an event definition")
		}
	case n.Kind == BoundaryEvent && n.Source != nil:
		n.Event = &Event{Kind: Message}
	case n.Kind == BoundaryEvent:
		c.refuse(e, fault.ModelElement, "it catches nothing; give it an event definition")
	}
}

// definition finds the one event definition of an event, its own or one it refers to.
func (c *compiler) definition(e *element) (*element, EventKind) {
	var found []*element
	for _, child := range e.children {
		if child.space == bpmnSpace && definitions[child.name] != "" {
			child.used = true
			found = append(found, child)
		}
	}
	for _, ref := range e.each("eventDefinitionRef") {
		target := c.roots[local(ref.content())]
		if target == nil || definitions[target.name] == "" {
			c.refuse(e, fault.ModelElement, "it refers to the event definition %q, which this file does not have", ref.content())
			continue
		}
		target.used = true
		found = append(found, target)
	}
	if len(found) == 0 {
		return nil, ""
	}
	if len(found) > 1 || e.is("parallelMultiple", false) {
		c.refuse(e, fault.ModelElement, "it has several event definitions; draw one event for each of them")
	}
	return found[0], definitions[found[0].name]
}

func local(name string) string {
	if _, after, found := strings.Cut(name, ":"); found {
		return after
	}
	return name
}

// about reads an event definition.
func (c *compiler) about(n *Node, at *element, kind EventKind) *Event {
	ev := &Event{Kind: kind}
	switch kind {
	case Message:
		ev.Name, ev.Key = c.message(at, at.get("messageRef"))
	case Signal:
		if root := c.root(at, at.get("signalRef"), "signal"); root != nil {
			ev.Name = c.text(root, root.get("name"))
		}
		if n.Kind == EndEvent || n.Kind == ThrowEvent {
			for _, x := range at.extensions(camundaSpace, "in") {
				n.Inputs = append(n.Inputs, c.passed(x)...)
			}
		}
		if ev.Name == nil {
			c.refuse(at, fault.ModelElement, "it names no signal; give it a signalRef to a signal with a name")
		}
	case Error:
		if root := c.root(at, at.get("errorRef"), "error"); root != nil {
			ev.Code, ev.Says = c.text(root, root.get("errorCode")), c.text(root, c.attr(root, camundaSpace, "errorMessage"))
		}
		ev.CodeTo, ev.MessageTo = c.attr(at, camundaSpace, "errorCodeVariable"), c.attr(at, camundaSpace, "errorMessageVariable")
	case Escalation:
		if root := c.root(at, at.get("escalationRef"), "escalation"); root != nil {
			ev.Code = c.text(root, root.get("escalationCode"))
		}
		ev.CodeTo = c.attr(at, camundaSpace, "escalationCodeVariable")
	case Timer:
		ev.Timer = c.timer(at)
	case Conditional:
		ev.Condition = c.condition(at)
	case Compensation:
		ev.Activity, ev.Wait = c.meant(at.get("activityRef")), at.is("waitForCompletion", true)
		switch ref := at.get("activityRef"); {
		case ref == "":
		case n.Kind != EndEvent && n.Kind != ThrowEvent:
			c.refuse(at, fault.ModelAttribute, "activityRef=%q means nothing on an event that catches compensation; leave it out", ref)
		case ev.Activity == nil:
			c.refuse(at, fault.ModelCompensationUnknown, "it compensates %q, which this process does not have; correct activityRef", ref)
		}
	case Link:
		ev.Name = &Text{Literal: at.get("name")}
		c.links[n] = linkOf(n, at)
	}
	c.thrown(n, at, ev)
	return ev
}

// thrown refuses an error or escalation that is thrown without a code.
func (c *compiler) thrown(n *Node, at *element, ev *Event) {
	if n.Kind != EndEvent && n.Kind != ThrowEvent {
		return
	}
	if (ev.Kind == Error || ev.Kind == Escalation) && ev.Code == nil {
		c.refuse(at, fault.ModelElement, "it throws no code; give it an %sRef to an %s with a code", ev.Kind, ev.Kind)
	}
}

func (c *compiler) condition(at *element) *Expression {
	cond := at.child("condition")
	if cond == nil || cond.content() == "" {
		c.refuse(at, fault.ModelExpression, "it has no condition; write a FEEL expression")
		return nil
	}
	x := c.expression(cond, cond.content())
	if x != nil && (x.Calls("now") || x.Calls("today")) {
		c.refuse(cond, fault.ModelExpression, "a condition cannot read the clock, for nothing would wake it; use a timer event")
	}
	return x
}

// message reads a reference to a message: its name, and the key of zeebe:subscription.
func (c *compiler) message(at *element, reference string) (*Text, *Expression) {
	root := c.root(at, reference, "message")
	if root == nil {
		return nil, nil
	}
	name := c.text(root, root.get("name"))
	if name == nil {
		c.refuse(root, fault.ModelElement, "the message has no name; give it one")
	} else if name.Expr != nil {
		c.refuse(root, fault.ModelExpression, "the name of a message cannot be computed, for nothing could be routed to it; write it as it is")
	}
	if sub := root.extension(zeebeSpace, "subscription"); sub != nil {
		return name, c.optional(sub, sub.get("correlationKey"))
	}
	return name, nil
}

// compensations connects compensation boundaries with their handlers.
func (c *compiler) compensations() {
	for _, n := range c.p.Nodes {
		if n.Kind != BoundaryEvent || n.Host == nil || n.Event == nil {
			continue
		}
		if n.Event.Kind != Compensation {
			n.Host.Boundaries = append(n.Host.Boundaries, n)
			continue
		}
		handler := c.handler(n)
		if handler == nil || !handler.ForCompensation || handler.Scope != n.Scope {
			c.refuse(c.elements[n], fault.ModelCompensationUnknown, "no handler is associated with it; draw an association to an activity with isForCompensation=\"true\" beside it")
			continue
		}
		if n.Host.Compensation != nil {
			c.refuse(c.elements[n], fault.ModelCatchDuplicate, "the activity %q has a compensation handler already, %q; keep one of them", n.Host.ID, n.Host.Compensation.ID)
		}
		n.Host.Compensation = handler
	}
	for _, n := range c.p.Nodes {
		c.compensated(n)
	}
}

// compensated refuses to undo an activity that is out of sight: only those of the scope are logged there, and from an event sub-process
// those of the scope around it.
func (c *compiler) compensated(n *Node) {
	if n.Event == nil || n.Event.Activity == nil || n.Event.Activity.Scope == n.Scope {
		return
	}
	around := n.Scope.Node
	if around == nil || around.Kind != EventProcess || n.Event.Activity.Scope != around.Scope {
		c.refuse(c.elements[n], fault.ModelCompensationUnknown, "it compensates %q, which stands in another scope; throw it there, or compensate the sub-process around it", n.Event.Activity.ID)
	}
}

func (c *compiler) handler(boundary *Node) *Node {
	for _, a := range c.associations {
		from, to := c.meant(a.get("sourceRef")), c.meant(a.get("targetRef"))
		if from == boundary {
			return to
		}
		if to == boundary {
			return from
		}
	}
	return nil
}

func contains[T comparable](list []T, v T) bool {
	return slices.Contains(list, v)
}
