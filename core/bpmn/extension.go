package bpmn

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// attr reads an attribute of a namespace; empty: it is not there. A nil element has none.
func (r *reader) attr(e *element, space, name string) string {
	if e == nil {
		return ""
	}
	v, _ := e.find(space, name)
	return v
}

// processExtensions reads what stands on the process itself.
func (c *compiler) processExtensions(e *element) {
	c.p.Aliases = c.aliases(e)
	if x := e.extension(qSpace, "process"); x != nil {
		c.p.Idempotent = c.flag(x, "idempotent")
	}
	x := e.extension(qSpace, "variables")
	if x == nil {
		return
	}
	for _, v := range x.all(qSpace, "variable") {
		c.p.Variables = append(c.p.Variables, Variable{
			Name: c.name(v, v.get("name")), Type: v.get("type"), Transient: c.flag(v, "transient"), Sensitive: c.flag(v, "sensitive"),
		})
	}
}

func (c *compiler) source(e *element) *Source {
	x := e.extension(qSpace, "source")
	if x == nil {
		return nil
	}
	s := &Source{
		Channel: x.get("channel"), Name: c.name(x, x.get("name")), TypeValue: c.text(x, x.get("messageTypeValue")),
		TypePattern: x.get("messageTypePattern"), DedupKey: c.optional(x, x.get("dedupKey")), OnValidation: "reject",
	}
	if s.Channel == "" {
		c.refuse(x, fault.ModelChannelUnknown, "it names no channel; write channel=\"<name>\", one of channels.yaml")
	}
	if s.Name == "" {
		s.Name = "payload"
	}
	if v := e.extension(qSpace, "onValidation"); v != nil {
		s.OnValidation, s.ErrorCode = c.choice(v, "mode", "reject", "route", "error"), v.get("errorCode")
		if s.ErrorCode != "" && s.OnValidation != "error" {
			c.refuse(v, fault.ModelAttribute, "the errorCode %q is thrown in mode error alone; write mode=\"error\", or leave it out", s.ErrorCode)
		}
	}
	return s
}

func (c *compiler) aliases(e *element) []Alias {
	var aliases []Alias
	for _, x := range e.extensions(qSpace, "alias") {
		a := Alias{
			Name: x.get("name"), Expr: c.expression(x, x.get("expression")), Unique: c.flag(x, "unique"), Multi: c.flag(x, "multi"),
			Correlate: c.choice(x, "onConflict", "reject", "correlate") == "correlate", Line: x.line,
		}
		if a.Name == "" {
			c.refuse(x, fault.ModelAttribute, "the alias has no name; give it one")
		}
		aliases = append(aliases, a)
	}
	return aliases
}

// sendModes are how something goes out; a reply may also match what it answers.
var (
	sendModes  = []string{"native", "cloudevent-binary", "cloudevent-structured"}
	replyModes = append(slices.Clone(sendModes), "match-inbound")
)

func (c *compiler) reply(e *element) *Reply {
	x := e.extension(qSpace, "reply")
	if x == nil {
		return nil
	}
	if c.flag(x, "continue") {
		c.refuse(x, fault.ModelAttribute, "continue=\"true\" is not executed; leave it out: the reply is given and the process goes on")
	}
	return &Reply{
		ContentType: x.get("contentType"), Mode: c.choice(x, "mode", replyModes...), Template: x.get("template"),
		Body: c.optional(x, x.get("body")), Status: c.text(x, x.get("status")), Headers: c.headers(x),
	}
}

func (c *compiler) send(e *element) *Send {
	x := e.extension(qSpace, "send")
	if x == nil {
		return nil
	}
	s := &Send{
		Destination: c.text(x, x.get("destination")), Channel: x.get("channel"), ContentType: x.get("contentType"),
		Mode: c.choice(x, "mode", sendModes...), Template: x.get("template"), Body: c.optional(x, x.get("body")), Headers: c.headers(x),
	}
	if (s.Destination == nil) == (s.Channel == "") {
		c.refuse(x, fault.ModelAttribute, "it has both a destination and a channel, or neither; give it one of them")
	}
	return s
}

func (c *compiler) headers(x *element) []Header {
	var headers []Header
	for _, h := range x.all(qSpace, "header") {
		if v := c.text(h, h.get("value")); v != nil {
			headers = append(headers, Header{h.get("name"), v})
		}
	}
	return headers
}

func (c *compiler) params(e *element) []Mapping {
	var params []Mapping
	for _, x := range e.extensions(qSpace, "param") {
		params = append(params, Mapping{Target: c.name(x, x.get("name")), Expr: c.expression(x, x.get("expression"))})
	}
	return params
}

func (c *compiler) retry(e *element) *Retry {
	x := e.extension(qSpace, "retry")
	if x == nil {
		return nil
	}
	r := &Retry{
		MaxAttempts: c.number(x, "maxAttempts", 1, 1), Coefficient: 2, Initial: c.span(x, "initialDelay", time.Second),
		Max: c.span(x, "maxDelay", 5*time.Minute), NonRetryable: strings.Fields(strings.ReplaceAll(x.get("nonRetryableCodes"), ",", " ")),
	}
	if text := x.get("backoffCoefficient"); text != "" {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f < 1 || f > 100 {
			c.refuse(x, fault.ModelAttribute, "backoffCoefficient=%q is no number from 1 to 100; correct it", text)
		} else {
			r.Coefficient = f
		}
	}
	return r
}

// span reads a duration of days and time.
func (c *compiler) span(x *element, attr string, absent time.Duration) time.Duration {
	text := x.get(attr)
	if text == "" {
		return absent
	}
	v, err := feel.ParseDuration(text)
	d, fits := v.(feel.DaysTime)
	if err != nil || !fits || d.Seconds < 0 || d.Seconds > 366*24*3600 {
		c.refuse(x, fault.ModelAttribute, "%s=%q is no duration of at most a year; write ISO 8601, as PT5S", attr, text)
		return absent
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
}

func (c *compiler) timeout(e *element) *Text {
	x := e.extension(qSpace, "timeout")
	if x == nil {
		return nil
	}
	t := c.text(x, x.get("duration"))
	if t != nil && t.Expr == nil {
		if _, err := feel.ParseDuration(t.Literal); err != nil {
			c.refuse(x, fault.ModelExpression, "%v; write ISO 8601, as PT5S", err)
		}
	}
	return t
}

// mappings reads zeebe:ioMapping, camunda:inputOutput, and data associations that compute something.
func (c *compiler) mappings(n *Node, e *element) {
	if x := e.extension(zeebeSpace, "ioMapping"); x != nil {
		for _, m := range x.all(zeebeSpace, "input") {
			n.Inputs = append(n.Inputs, c.mapping(m))
		}
		for _, m := range x.all(zeebeSpace, "output") {
			n.Outputs = append(n.Outputs, c.mapping(m))
		}
	}
	if x := e.extension(camundaSpace, "inputOutput"); x != nil {
		for _, m := range x.all(camundaSpace, "inputParameter") {
			n.Inputs = append(n.Inputs, c.parameter(m))
		}
		for _, m := range x.all(camundaSpace, "outputParameter") {
			n.Outputs = append(n.Outputs, c.parameter(m))
		}
	}
	for _, a := range e.each("dataInputAssociation") {
		n.Inputs = append(n.Inputs, c.association(a)...)
	}
	for _, a := range e.each("dataOutputAssociation") {
		n.Outputs = append(n.Outputs, c.association(a)...)
	}
}

func (c *compiler) mapping(m *element) Mapping {
	source := m.get("source")
	out := Mapping{Target: c.name(m, m.get("target"))}
	if strings.HasPrefix(source, "=") {
		out.Expr = c.expression(m, source)
	} else if c.notJUEL(m, source) {
		out.Text = source
	}
	if out.Target == "" {
		c.refuse(m, fault.ModelAttribute, "the mapping has no target; name a variable")
	}
	return out
}

// parameter reads a camunda parameter: text, a list or a map.
func (c *compiler) parameter(m *element) Mapping {
	out := Mapping{Target: c.name(m, m.get("name"))}
	if script := m.in(camundaSpace, "script"); script != nil {
		script.get("scriptFormat")
		script.get("resource")
		c.refuse(m, fault.ModelLanguage, "a script in a parameter is not run here; write = and a FEEL expression")
		return out
	}
	source, computed := c.parameterSource(m)
	if computed {
		out.Expr = c.expression(m, source)
	} else {
		out.Text = source
	}
	return out
}

// parameterSource turns a parameter into literal text, or into FEEL.
func (c *compiler) parameterSource(m *element) (source string, computed bool) {
	if list := m.in(camundaSpace, "list"); list != nil {
		var items []string
		for _, v := range list.children {
			v.used = true
			items = append(items, c.parameterItem(v))
		}
		return "[" + strings.Join(items, ", ") + "]", true
	}
	if entries := m.in(camundaSpace, "map"); entries != nil {
		var items []string
		for _, v := range entries.all(camundaSpace, "entry") {
			items = append(items, strconv.Quote(v.get("key"))+": "+c.parameterItem(v))
		}
		return "{" + strings.Join(items, ", ") + "}", true
	}
	text := m.content()
	if strings.HasPrefix(text, "=") {
		return text, true
	}
	c.noJUEL(m, text)
	return text, false
}

func (c *compiler) parameterItem(m *element) string {
	source, computed := c.parameterSource(m)
	if !computed {
		return strconv.Quote(source)
	}
	return strings.TrimPrefix(source, "=")
}

// association reads a data association: one that only draws gives nothing.
func (c *compiler) association(a *element) []Mapping {
	var out []Mapping
	assigns, computed := a.each("assignment"), a.child("transformation")
	if c.stored(a) && (len(assigns) > 0 || computed != nil) {
		c.refuse(a, fault.ModelElement, "it reads or writes a data store, which the engine does not have; call what keeps the data over a channel")
		return nil
	}
	for _, assign := range assigns {
		from, to := assign.child("from"), assign.child("to")
		if from == nil || to == nil {
			continue
		}
		out = append(out, Mapping{Target: c.name(to, c.variable(to.content())), Expr: c.expression(from, from.content())})
	}
	if t := computed; t != nil {
		target := a.child("targetRef")
		if target == nil {
			return out
		}
		out = append(out, Mapping{Target: c.name(a, c.variable(target.content())), Expr: c.expression(t, unboxed(t.content()))})
	}
	return out
}

// stored says that a data association leads from or to a data store.
func (c *compiler) stored(a *element) bool {
	for _, end := range slices.Concat(a.each("sourceRef"), a.each("targetRef")) {
		if c.stores[end.content()] {
			return true
		}
	}
	return false
}

// unboxed gives the FEEL text of a DMN literal expression, which some modelling tools write into transformations; any other text is itself.
func unboxed(text string) string {
	if !strings.HasPrefix(text, "<") {
		return text
	}
	trees, bad := parse([]byte(text), Limits{}.withDefaults())
	if bad != nil || len(trees) != 1 || trees[0].name != "literalExpression" || foreign(trees[0].get("expressionLanguage")) {
		return text
	}
	if inner := trees[0].in(trees[0].space, "text"); inner != nil {
		return inner.content()
	}
	return text
}
