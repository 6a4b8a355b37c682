// Package deploy turns an archive into a revision that can serve: every model, expression, decision, schema, template and door is
// compiled before anything changes, and one that does not compile refuses the whole. It deploys nothing.
package deploy

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/dmn"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Revision is a compiled archive. It is shared and never changed.
type Revision struct {
	ID         ports.DeploymentID
	Slot       ports.Slot
	Supersedes string
	Programs   map[string]*step.Program   // by process id
	Channels   map[string]channel.Channel // by name
	Schemas    map[string]*jsonschema.Schema
	Doors      []ports.Door
	Timers     []Timer // timer start events, in document order

	routes   map[string]Routes // by channel, or BPMN message or signal name
	patterns map[string]*regexp.Regexp
	keeps    map[ports.Key]bool
	signals  map[ports.Key][]Start
}

// Pattern is a messageTypePattern of one of the revision's models, compiled: an RE2 expression that has to match the whole type.
func (r *Revision) Pattern(source string) *regexp.Regexp { return r.patterns[source] }

// Timer is one timer start event.
type Timer struct {
	Process string
	Node    string
	Spec    *bpmn.TimerSpec
}

// Routes are where a message can go: to starts and to waiting nodes.
type Routes struct {
	Starts  []Start
	Catches []Catch
}

// Start is a start event of one of the revision's processes.
type Start struct {
	Program *step.Program
	bpmn.Start
}

// Catch is a waiting node of one of the revision's processes.
type Catch struct {
	Program *step.Program
	bpmn.Catch
}

// WaitName is the name of the waits that a message of this channel or BPMN name feeds.
func WaitName(name string) ports.Key { return ports.NewKey("message", name) }

// Keeps says that messages for waits of this name may be kept before the wait is there: all but those of channels that answer on
// completion.
func (r *Revision) Keeps(wait ports.Key) bool { return r.keeps[wait] }

// Knows says that some start or waiting node takes messages of this channel or BPMN name.
func (r *Revision) Knows(name string) bool {
	routes := r.routes[name]
	return len(routes.Starts)+len(routes.Catches) > 0
}

// Timer finds a timer start event; nil: there is none.
func (r *Revision) Timer(process, node string) *bpmn.TimerSpec {
	for _, t := range r.Timers {
		if t.Process == process && t.Node == node {
			return t.Spec
		}
	}
	return nil
}

// Routes answers what a message of this channel or BPMN name can reach.
func (r *Revision) Routes(name string) Routes { return r.routes[name] }

// SignalStarts are the start events of a signal, by the key of its name.
func (r *Revision) SignalStarts(name ports.Key) []Start { return r.signals[name] }

// Limits bound what is compiled and what runs.
type Limits struct {
	Model bpmn.Limits
	Step  step.Limits
}

// Compile makes the revision. The findings are all there are, warnings too; the revision is nil when one of them is an error.
func Compile(a *archive.Archive, limits Limits) (*Revision, []lint.Finding) {
	c := compiler{
		archive: a,
		limits:  limits,
		rev: &Revision{
			ID: a.ID, Slot: a.Slot(), Supersedes: a.Manifest.Supersedes,
			Programs: map[string]*step.Program{}, Channels: map[string]channel.Channel{}, Schemas: map[string]*jsonschema.Schema{},
			routes: map[string]Routes{}, patterns: map[string]*regexp.Regexp{}, keeps: map[ports.Key]bool{}, signals: map[ports.Key][]Start{},
		},
		templates: map[string]*step.Template{},
	}
	c.readTemplates()
	c.readSchemas()
	c.readChannels()
	c.readDecisions()
	c.readModels()
	c.route()
	c.checkStarts()
	c.checkNames()
	lint.Sort(c.findings)
	if lint.Refused(c.findings) {
		return nil, c.findings
	}
	return c.rev, c.findings
}

type compiler struct {
	archive   *archive.Archive
	limits    Limits
	rev       *Revision
	processes []*bpmn.Process
	templates map[string]*step.Template
	decisions dmn.Library
	findings  []lint.Finding
}

func (c *compiler) refuse(code fault.Code, file string, line int, format string, args ...any) {
	c.findings = append(c.findings, lint.Finding{Level: lint.Error, Code: code, File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// below answers the files of a folder with a path relative to it and without the extension.
func (c *compiler) below(folder, extension string) []archive.File {
	var out []archive.File
	for _, f := range c.archive.Files {
		if name, ok := strings.CutPrefix(f.Path, folder+"/"); ok {
			out = append(out, archive.File{Path: strings.TrimSuffix(name, extension), Data: f.Data})
		}
	}
	return out
}

func (c *compiler) readTemplates() {
	for _, f := range c.below("templates", "") {
		t, err := step.ParseTemplate(f.Path, f.Data)
		if err != nil {
			c.refuse(fault.TemplateInvalid, "templates/"+f.Path, 0, "the template does not parse: %v", err)
		}
		c.templates[f.Path] = t
	}
}

// readSchemas compiles schemas/; one may refer to another by its path, and to nothing outside the package.
func (c *compiler) readSchemas() {
	const base = "sutra:///schemas/"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	compiler.AssertFormat()
	files := c.below("schemas", ".json")
	for _, f := range files {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Data))
		if err == nil {
			err = compiler.AddResource(base+f.Path+".json", doc)
		}
		if err != nil {
			c.refuse(fault.SchemaInvalid, "schemas/"+f.Path+".json", 0, "the schema does not read: %v", err)
		}
	}
	for _, f := range files {
		schema, err := compiler.Compile(base + f.Path + ".json")
		if err != nil {
			c.refuse(fault.SchemaInvalid, "schemas/"+f.Path+".json", 0, "the schema does not compile: %v", err)
			continue
		}
		c.rev.Schemas[f.Path] = schema
	}
}

func (c *compiler) readChannels() {
	data, ok := c.archive.File(channel.File)
	if !ok {
		return
	}
	channels, findings := channel.Read(data)
	c.findings = append(c.findings, findings...)
	for _, ch := range channels {
		c.rev.Channels[ch.Name] = ch
		if ch.Schema != "" && c.rev.Schemas[ch.Schema] == nil {
			c.refuse(fault.SchemaInvalid, channel.File, ch.Line, "channel %q names schema %q; there is no schemas/%s.json", ch.Name, ch.Schema, ch.Schema)
		}
		if door := ch.Address(); door != "" {
			c.rev.Doors = append(c.rev.Doors, ports.Door{Channel: ch.Name, Address: door})
		}
	}
	slices.SortFunc(c.rev.Doors, func(a, b ports.Door) int { return cmp.Compare(a.Address, b.Address) })
}

func (c *compiler) readModels() {
	seen := map[string]*bpmn.Process{}
	for _, f := range c.below("bpmn", "") {
		model, findings := bpmn.Read("bpmn/"+f.Path, f.Data, c.limits.Model)
		c.findings = append(c.findings, findings...)
		if model == nil {
			continue
		}
		for _, p := range model.Processes {
			if other := seen[p.ID]; other != nil {
				c.refuse(fault.ProcessTwice, p.File, p.Line, "process %q is in %s already; give one of them another id", p.ID, other.File)
				continue
			}
			seen[p.ID] = p
			c.processes = append(c.processes, p)
		}
	}
	for _, p := range c.processes {
		c.rev.Programs[p.ID] = &step.Program{
			Deployment: c.rev.ID, Module: c.rev.Slot.Module, Process: p, Processes: seen,
			Channels: c.rev.Channels, Decisions: c.decisions, Templates: c.templates, Limits: c.limits.Step,
		}
	}
	if len(seen) == 0 && !lint.Refused(c.findings) {
		c.refuse(fault.ModelNoProcess, "bpmn", 0, "the package has no executable process; add a model with isExecutable=\"true\" under bpmn/")
	}
}

// route gathers what each channel and each BPMN name can reach.
func (c *compiler) route() {
	for _, p := range c.processes {
		program := c.rev.Programs[p.ID]
		c.patterns(p)
		for _, s := range p.Starts {
			switch s.Kind {
			case bpmn.Timer:
				c.rev.Timers = append(c.rev.Timers, Timer{Process: p.ID, Node: s.Node.ID, Spec: s.Timer})
				continue
			case bpmn.Signal:
				name := ports.NewKey("signal", s.Message)
				c.rev.signals[name] = append(c.rev.signals[name], Start{program, s})
				continue
			}
			if name := s.Wakes(); name != "" {
				r := c.rev.routes[name]
				r.Starts = append(r.Starts, Start{program, s})
				c.rev.routes[name] = r
			}
		}
		for _, w := range p.Catches {
			if name := cmp.Or(w.Channel, w.Message); name != "" {
				r := c.rev.routes[name]
				r.Catches = append(r.Catches, Catch{program, w})
				c.rev.routes[name] = r
				c.rev.keeps[WaitName(name)] = c.rev.Channels[name].AckMode != channel.OnComplete
			}
		}
	}
}

// checkStarts refuses start events that no message can be told apart by: each would be refused at the door.
func (c *compiler) checkStarts() {
	for _, name := range slices.Sorted(maps.Keys(c.rev.routes)) {
		var first *Start
		for _, s := range c.rev.routes[name].Starts {
			switch source := s.Node.Source; {
			case source != nil && (source.TypeValue != nil || source.TypePattern != ""):
			case first == nil:
				first = &s
			default:
				p := s.Program.Process
				c.findings = append(c.findings, lint.Finding{
					Level: lint.Error, Code: fault.ModelCatchDuplicate, File: p.File, Line: s.Node.Line, Element: string(s.Node.Kind), ID: s.Node.ID,
					Text: fmt.Sprintf("%q of process %q starts by every message of %q too; give one of them another, or a messageTypeValue", first.Node.ID, first.Program.Process.ID, name),
				})
			}
		}
	}
}

func (c *compiler) patterns(p *bpmn.Process) {
	for _, n := range p.Nodes {
		if n.Source == nil || n.Source.TypePattern == "" {
			continue
		}
		pattern, err := regexp.Compile("^(?:" + n.Source.TypePattern + ")$")
		if err != nil {
			c.findings = append(c.findings, lint.Finding{
				Level: lint.Error, Code: fault.PatternInvalid, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID,
				Text: fmt.Sprintf("messageTypePattern does not parse: %v", err),
			})
		}
		c.rev.patterns[n.Source.TypePattern] = pattern
	}
}

// checkNames holds the names that models use of channels and templates against what there is.
func (c *compiler) checkNames() {
	for _, p := range c.processes {
		for _, n := range p.Nodes {
			c.checkDecision(p, n)
			c.checkModes(p, n)
			c.checkCalls(p, n)
			c.checkBrokers(p, n)
			for _, use := range uses(n) {
				if use.channel != "" && c.rev.Channels[use.channel].Name == "" {
					c.missing(p, n, fault.ModelChannelUnknown, "channel", use.channel, slices.Sorted(maps.Keys(c.rev.Channels)))
				}
				if use.template != "" && c.templates[use.template] == nil {
					c.missing(p, n, fault.ModelTemplateUnknown, "template", use.template, slices.Sorted(maps.Keys(c.templates)))
				}
			}
		}
	}
}

// checkBrokers refuses what a broker's channel cannot do: a call over it, whose answer nobody would match, and a send with no way out.
func (c *compiler) checkBrokers(p *bpmn.Process, n *bpmn.Node) {
	refuse := func(format string, args ...any) {
		c.findings = append(c.findings, lint.Finding{
			Level: lint.Error, Code: fault.ModelChannelUse, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID, Text: fmt.Sprintf(format, args...),
		})
	}
	if n.Task != nil && c.rev.Channels[n.Task.Channel].Transport.Brokered() {
		refuse("calls over channel %q, whose broker gives no answers; send with q:send and catch the answer as a message", n.Task.Channel)
	}
	if n.Send != nil {
		if ch := c.rev.Channels[n.Send.Channel]; ch.Transport.Brokered() && ch.To == "" {
			refuse("sends over channel %q, which says nothing of where messages go; give the channel a to", n.Send.Channel)
		}
	}
}

// checkModes refuses what reads well and means nothing for the channel: a model that asks for it would be taken for something else.
func (c *compiler) checkModes(p *bpmn.Process, n *bpmn.Node) {
	refuse := func(attribute, value, why string) {
		c.findings = append(c.findings, lint.Finding{
			Level: lint.Error, Code: fault.ModelAttribute, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID,
			Text: fmt.Sprintf("%s=%q %s", attribute, value, why),
		})
	}
	if n.Send != nil && n.Send.Mode != "native" && c.rev.Channels[n.Send.Channel].Transport == channel.Local {
		refuse("q:send mode", n.Send.Mode, "means nothing on a local channel, which carries variables and no bodies; leave it out")
	}
	if n.Task != nil && n.Task.How == bpmn.Channel {
		if t := c.rev.Channels[n.Task.Channel].Transport; t == channel.Pull || t == channel.Local {
			if n.Retry != nil {
				refuse("q:retry maxAttempts", strconv.Itoa(n.Retry.MaxAttempts), fmt.Sprintf("means nothing on a %s channel, over which nothing is called; leave it out", t))
			}
			if n.Timeout != nil {
				refuse("q:timeout duration", n.Timeout.Literal, fmt.Sprintf("means nothing on a %s channel, over which nothing is called; draw a timer boundary event", t))
			}
		}
	}
	if n.Source != nil && n.Source.OnValidation != "reject" && c.rev.Channels[n.Source.Channel].Schema == "" {
		refuse("q:onValidation mode", n.Source.OnValidation, fmt.Sprintf("never happens, since channel %q has no schema; give the channel one, or leave it out", n.Source.Channel))
	}
}

// checkCalls holds the processes that a call names against what there is.
func (c *compiler) checkCalls(p *bpmn.Process, n *bpmn.Node) {
	if n.Call == nil {
		return
	}
	var called []string
	if to := n.Call.Process; to != nil && to.Expr == nil {
		called = append(called, to.Literal)
	}
	for _, k := range n.Call.Cases {
		called = append(called, k.Process)
	}
	for _, id := range called {
		if c.rev.Programs[id] == nil {
			c.missing(p, n, fault.ModelCallUnknown, "process", id, slices.Sorted(maps.Keys(c.rev.Programs)))
		}
	}
}

func (c *compiler) missing(p *bpmn.Process, n *bpmn.Node, code fault.Code, what, name string, there []string) {
	c.findings = append(c.findings, lint.Finding{
		Level: lint.Error, Code: code, File: p.File, Line: n.Line, Element: string(n.Kind), ID: n.ID,
		Text: fmt.Sprintf("names %s %q, which the package does not have; it has %s: add it, or correct the name", what, name, cmp.Or(strings.Join(there, ", "), "none")),
	})
}

type use struct{ channel, template string }

func uses(n *bpmn.Node) []use {
	var out []use
	if n.Source != nil {
		out = append(out, use{channel: n.Source.Channel})
	}
	if n.Task != nil {
		out = append(out, use{n.Task.Channel, n.Task.Template})
	}
	if n.Reply != nil {
		out = append(out, use{template: n.Reply.Template})
	}
	if n.Send != nil {
		out = append(out, use{n.Send.Channel, n.Send.Template})
	}
	return out
}

// Refusal is the findings that refuse a package as one coded fault, naming the first and holding all; nil when none does.
func Refusal(findings []lint.Finding) error {
	if f := lint.Faults(findings); f != nil {
		return f
	}
	return nil
}
