package bpmn

import (
	"fmt"
	"strings"

	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Limits bound what the reader takes. The zero value of a field is its default.
type Limits struct {
	Bytes    int // of a file: 8 MiB
	Depth    int // of elements: 128
	Elements int // of a file: 100,000
}

// Read reads one file. It answers all findings at once, sorted; the model is nil when one of them is an error. A file whose
// processes are all marked not executable is a model without processes, and a warning.
func Read(file string, data []byte, limits Limits) (*Model, []lint.Finding) {
	r := &reader{file: file, roots: map[string]*element{}, objects: map[string]string{}, stores: map[string]bool{}, ids: map[string]int{}, foreign: map[string]bool{}}
	trees, bad := parse(data, limits.withDefaults())
	if bad != nil {
		r.report(lint.Error, &element{line: bad.line}, bad.code, "%s", bad.text)
		return nil, r.findings
	}
	m := &Model{File: file}
	for _, p := range r.processes(trees) {
		m.Processes = append(m.Processes, r.process(p))
	}
	r.unreadRoots(trees)
	lint.Sort(r.findings)
	if lint.Refused(r.findings) {
		return nil, r.findings
	}
	return m, r.findings
}

// reader reads one file.
type reader struct {
	file     string
	findings []lint.Finding
	roots    map[string]*element // messages, signals, errors, … by id
	objects  map[string]string   // the variable that a data object, or a reference to one, stands for
	stores   map[string]bool     // references to data stores
	ids      map[string]int      // lines
	names    []string            // of several words, known to expressions
	foreign  map[string]bool     // namespaces passed over, which were said
}

func (r *reader) report(level lint.Level, e *element, code fault.Code, format string, args ...any) {
	f := lint.Finding{Level: level, Code: code, File: r.file, Line: e.line, Text: fmt.Sprintf(format, args...)}
	f.Element = e.title()
	for _, a := range e.attrs {
		if a.space == "" && a.name == "id" {
			f.ID = a.value
		}
	}
	r.findings = append(r.findings, f)
}

func (r *reader) refuse(e *element, code fault.Code, format string, args ...any) {
	r.report(lint.Error, e, code, format, args...)
}

func (r *reader) warn(e *element, code fault.Code, format string, args ...any) {
	r.report(lint.Warning, e, code, format, args...)
}

func (r *reader) note(e *element, format string, args ...any) {
	r.report(lint.Note, e, fault.ModelAttribute, format, args...)
}

// processes finds the processes to compile: those marked executable, or the only one when it is not marked at all.
func (r *reader) processes(trees []*element) []*element {
	var all []*element
	for _, tree := range trees {
		if tree.space != bpmnSpace || tree.name != "definitions" {
			continue
		}
		for _, e := range tree.children {
			if e.space != bpmnSpace {
				continue
			}
			if e.name == "process" {
				all = append(all, e)
			} else if id := e.id(); id != "" {
				r.roots[id] = e
			}
		}
	}
	if len(all) == 0 {
		r.refuse(&element{line: 1}, fault.ModelNoProcess, "the file has no BPMN 2.0 process; draw one, or take the file out of bpmn/")
		return nil
	}
	var chosen []*element
	for _, e := range all {
		if e.is("isExecutable", len(all) == 1) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		r.warn(all[0], fault.ModelNoProcess, "no process is marked executable, so the file offers nothing; set isExecutable=\"true\"")
	}
	return chosen
}

// root resolves a reference to a root element; nil, with a refusal, when it leads nowhere. An empty reference is nil.
func (r *reader) root(at *element, reference, name string) *element {
	if reference == "" {
		return nil
	}
	e := r.roots[reference]
	if e == nil {
		if _, local, found := strings.Cut(reference, ":"); found {
			e = r.roots[local]
		}
	}
	if e == nil || e.name != name {
		r.refuse(at, fault.ModelElement, "it refers to %s %q, which this file does not have; add it or correct the reference", name, reference)
		return nil
	}
	e.used = true
	return e
}

// claim records an id, and refuses one that is missing or used already.
func (r *reader) claim(e *element, id string) {
	if id == "" {
		r.refuse(e, fault.ModelIDDuplicate, "it has no id; give it one that no other element has")
		return
	}
	if line, taken := r.ids[id]; taken {
		r.refuse(e, fault.ModelIDDuplicate, "the id %q is used in line %d already; give it another", id, line)
		return
	}
	r.ids[id] = e.line
}

// compiler compiles one process.
type compiler struct {
	*reader
	p        *Process
	elements map[*Node]*element
	flows    []*element // with the scope they stand in
	flowIn   map[*element]*Scope
	links    map[*Node]link

	associations []*element

	conditional map[*Flow]bool // flows that have a condition, also one that is refused
}

func (r *reader) process(e *element) *Process {
	r.names = spaced(e)
	p := &Process{
		ID: e.id(), Name: e.get("name"), File: r.file, Line: e.line,
		Root: &Scope{}, nodes: map[string]*Node{}, flows: map[string]*Flow{},
	}
	r.claim(e, p.ID)
	c := &compiler{reader: r, p: p, elements: map[*Node]*element{}, links: map[*Node]link{}, flowIn: map[*element]*Scope{}, conditional: map[*Flow]bool{}}
	c.processExtensions(e)
	c.scope(p.Root, e)
	c.connect()
	c.attach()
	for _, n := range p.Nodes {
		c.details(n, c.elements[n])
	}
	c.linkEvents()
	c.compensations()
	c.reach()
	c.check(e)
	c.routes()
	c.unread(e)
	return p
}

// kinds are the elements that become nodes.
var kinds = map[string]Kind{
	"startEvent": StartEvent, "endEvent": EndEvent, "intermediateCatchEvent": CatchEvent, "intermediateThrowEvent": ThrowEvent,
	"boundaryEvent": BoundaryEvent, "task": AbstractTask, "manualTask": ManualTask, "serviceTask": ServiceTask, "sendTask": SendTask,
	"businessRuleTask": RuleTask, "scriptTask": ScriptTask, "userTask": UserTask, "receiveTask": ReceiveTask,
	"subProcess": SubProcess, "transaction": Transaction, "adHocSubProcess": AdHoc, "callActivity": CallActivity,
	"exclusiveGateway": Exclusive, "parallelGateway": Parallel, "inclusiveGateway": Inclusive, "complexGateway": Complex,
	"eventBasedGateway": EventGate,
}

// scope makes the nodes of a process or sub-process, and gathers what connects them.
func (c *compiler) scope(s *Scope, e *element) {
	for _, child := range e.children {
		if child.space != bpmnSpace {
			continue
		}
		if kind, known := kinds[child.name]; known {
			c.node(s, child, kind)
			continue
		}
		switch child.name {
		case "sequenceFlow":
			child.used = true
			c.flows, c.flowIn[child] = append(c.flows, child), s
		case "association":
			c.associations = append(c.associations, child)
		case "ioSpecification":
			c.interfaceNames(child)
		case "dataStoreReference":
			c.stores[child.id()] = true
		case "dataObject", "dataObjectReference", "property":
			c.object(s, child)
		}
	}
}

func (c *compiler) node(s *Scope, e *element, kind Kind) {
	e.used = true
	n := &Node{Index: len(c.p.Nodes), ID: e.id(), Name: e.get("name"), Kind: kind, Line: e.line, Scope: s}
	if kind == SubProcess && e.is("triggeredByEvent", false) {
		n.Kind = EventProcess
		s.Events = append(s.Events, n)
	}
	n.ForCompensation = e.is("isForCompensation", false)
	c.claim(e, n.ID)
	c.p.Nodes, c.p.nodes[n.ID], c.elements[n] = append(c.p.Nodes, n), n, e
	s.Nodes = append(s.Nodes, n)
	if io := e.child("ioSpecification"); io != nil {
		c.interfaceNames(io)
	}
	switch n.Kind {
	case SubProcess, EventProcess, Transaction, AdHoc:
		n.Inner = &Scope{Node: n}
		c.scope(n.Inner, e)
	}
}

// object declares the variable of a data object, and remembers what references to it mean.
func (c *compiler) object(s *Scope, e *element) {
	id, name := e.id(), e.get("name")
	if e.name == "dataObjectReference" {
		c.objects[id] = e.get("dataObjectRef")
		return
	}
	if name == "" {
		name = id
	}
	c.objects[id] = name
	s.Objects = append(s.Objects, name)
}

// interfaceNames remembers what the inputs and outputs of a process or activity are called, for associations that refer to them.
func (c *compiler) interfaceNames(io *element) {
	for _, e := range io.children {
		if name := e.get("name"); name != "" && (e.name == "dataInput" || e.name == "dataOutput") {
			c.objects[e.id()] = name
		}
	}
}

// variable names the variable behind a reference to a data object; any other text is the name itself.
func (c *compiler) variable(reference string) string {
	name, known := c.objects[reference]
	if !known {
		return reference
	}
	if behind, known := c.objects[name]; known {
		return behind
	}
	return name
}

// connect makes the sequence flows.
func (c *compiler) connect() {
	for _, e := range c.flows {
		from, to := c.p.nodes[e.get("sourceRef")], c.p.nodes[e.get("targetRef")]
		if from == nil || to == nil {
			c.refuse(e, fault.ModelFlow, "it leads from %q to %q, and one of them is no node; connect both ends", e.get("sourceRef"), e.get("targetRef"))
			continue
		}
		if s := c.flowIn[e]; from.Scope != to.Scope || from.Scope != s {
			c.refuse(e, fault.ModelFlow, "it crosses the border of a process or sub-process; end it inside")
			continue
		}
		f := c.flow(c.flowID(e, from, to), from, to)
		if cond := e.child("conditionExpression"); cond != nil {
			f.Condition = c.expression(cond, cond.content())
			c.conditional[f] = true
		}
	}
	for _, n := range c.p.Nodes {
		c.defaultFlow(n, c.elements[n])
	}
}

// flowID is the id of a sequence flow. The standard lets it be missing; then the ends name it, in letters that no id of XML has.
func (c *compiler) flowID(e *element, from, to *Node) string {
	id := e.id()
	if id == "" {
		id = from.ID + ">" + to.ID
		for n := 2; c.p.flows[id] != nil; n++ {
			id = fmt.Sprintf("%s>%s#%d", from.ID, to.ID, n)
		}
	}
	c.claim(e, id)
	return id
}

func (c *compiler) flow(id string, from, to *Node) *Flow {
	f := &Flow{Index: len(c.p.Flows), ID: id, From: from, To: to}
	c.p.Flows, c.p.flows[id] = append(c.p.Flows, f), f
	from.Out, to.In = append(from.Out, f), append(to.In, f)
	return f
}

func (c *compiler) defaultFlow(n *Node, e *element) {
	id := e.get("default")
	if id == "" {
		return
	}
	if f := c.p.flows[id]; f != nil && f.From == n {
		n.Default = f
		return
	}
	c.refuse(e, fault.ModelFlow, "its default flow %q is none of its outgoing flows; choose one of them", id)
}

// meant is the node that a reference means, which may have the prefix of a namespace (it is a QName); nil: there is none.
func (c *compiler) meant(reference string) *Node {
	if n := c.p.nodes[reference]; n != nil {
		return n
	}
	return c.p.nodes[local(reference)]
}

// attach hangs boundary events on their activities.
func (c *compiler) attach() {
	for _, n := range c.p.Nodes {
		if n.Kind != BoundaryEvent {
			continue
		}
		e := c.elements[n]
		host := c.meant(e.get("attachedToRef"))
		n.Interrupting = e.is("cancelActivity", true)
		if host == nil || !host.Kind.IsActivity() || host.Scope != n.Scope {
			c.refuse(e, fault.ModelEventMisplaced, "it is attached to %q, which is no activity beside it; attach it to one", e.get("attachedToRef"))
			continue
		}
		if host.Kind == EventProcess {
			c.refuse(e, fault.ModelEventMisplaced, "it is attached to an event sub-process, which cannot have boundary events; put the handler inside")
			continue
		}
		n.Host = host
	}
}
