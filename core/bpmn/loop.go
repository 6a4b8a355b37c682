package bpmn

import (
	"strings"

	"github.com/sutra-engine/sutra/ports/fault"
)

// loop reads loop characteristics; nil: the activity runs once.
func (c *compiler) loop(e *element) *Loop {
	if at := e.child("standardLoopCharacteristics"); at != nil {
		return c.standardLoop(at)
	}
	at := e.child("multiInstanceLoopCharacteristics")
	if at == nil {
		return nil
	}
	if b := at.get("behavior"); b != "" && b != "All" {
		c.refuse(at, fault.ModelAttribute, "behavior=%q is not executed; only All is", b)
	}
	l := &Loop{Multi: true, Sequential: at.is("isSequential", false)}
	if x := at.child("loopCardinality"); x != nil {
		l.Count = c.expression(x, x.content())
	}
	if x := at.child("completionCondition"); x != nil {
		l.Done = c.expression(x, x.content())
	}
	c.items(l, at)
	c.results(l, at)
	if l.Collection == nil && l.Count == nil {
		c.refuse(at, fault.ModelLoopEndless, "it has neither a collection nor a cardinality; give it one of them")
	}
	return l
}

func (c *compiler) standardLoop(at *element) *Loop {
	l := &Loop{TestBefore: at.is("testBefore", false), Maximum: c.number(at, "loopMaximum", 1, 0)}
	if x := at.child("loopCondition"); x != nil {
		l.Condition = c.expression(x, x.content())
	} else if l.Maximum == 0 {
		c.refuse(at, fault.ModelLoopEndless, "it has neither a loopCondition nor a loopMaximum, so it would never end; give it one of them")
	}
	return l
}

// items reads what a multi-instance runs over.
func (c *compiler) items(l *Loop, at *element) {
	if x := at.child("loopDataInputRef"); x != nil {
		l.Collection = c.expression(x, c.variable(x.content()))
	}
	if x := at.child("inputDataItem"); x != nil {
		l.Item = c.name(x, x.get("name"))
	}
	if name := c.attr(at, camundaSpace, "collection"); name != "" {
		l.Collection = c.expression(at, name)
	}
	if name := c.attr(at, camundaSpace, "elementVariable"); name != "" {
		l.Item = c.name(at, name)
	}
	if x := at.extension(zeebeSpace, "loopCharacteristics"); x != nil {
		if l.Collection == nil {
			l.Collection = c.optional(x, x.get("inputCollection"))
		}
		if item := x.get("inputElement"); item != "" {
			l.Item = c.name(x, item)
		}
	}
}

// results reads what a multi-instance gathers.
func (c *compiler) results(l *Loop, at *element) {
	if x := at.child("loopDataOutputRef"); x != nil {
		l.Output = c.variable(x.content())
	}
	if x := at.child("outputDataItem"); x != nil && x.get("name") != "" {
		l.Element = c.expression(x, x.get("name"))
	}
	if x := at.extension(zeebeSpace, "loopCharacteristics"); x != nil {
		if out := x.get("outputCollection"); out != "" {
			l.Output = c.name(x, out)
			l.Element = c.optional(x, x.get("outputElement"))
		}
	}
	if l.Output != "" && l.Element == nil {
		c.refuse(at, fault.ModelAttribute, "the output collection %q has no output element; say what one iteration gives", l.Output)
	}
	if l.Element != nil && plainName(l.Element.Source) {
		l.Declares = l.Element.Source
	}
}

// plainName says that FEEL text is one variable name and nothing else.
func plainName(text string) bool {
	return text != "" && text != "null" && text != "true" && text != "false" && !strings.ContainsAny(text, " .()[]{}\"'+-*/=<>,;:@?!") && (text[0] < '0' || text[0] > '9')
}
