package bpmn

import (
	"slices"

	"github.com/sutra-engine/sutra/ports/fault"
)

// check refuses graphs that cannot run as drawn.
func (c *compiler) check(e *element) {
	if len(c.p.Nodes) == 0 {
		c.refuse(e, fault.ModelNoProcess, "the process is empty; draw a start event and what follows")
	}
	for _, n := range c.p.Nodes {
		c.checkFlows(n)
		c.checkEvent(n)
		if n.Kind == EventGate {
			c.checkEventGate(n)
		}
		if n.Kind.IsActivity() {
			c.checkCatchers(n.Boundaries, "this activity")
		}
	}
	c.checkScope(c.p.Root)
	c.checkReach()
}

func (c *compiler) checkFlows(n *Node) {
	e := c.elements[n]
	enclosed := n.Kind == EventProcess || n.ForCompensation
	if len(n.In) > 0 && (n.Kind == StartEvent || n.Kind == BoundaryEvent || enclosed) {
		c.refuse(e, fault.ModelFlow, "a sequence flow leads into it, which cannot be; remove the flow %q", n.In[0].ID)
	}
	compensating := n.Kind == BoundaryEvent && n.Event != nil && n.Event.Kind == Compensation
	if len(n.Out) > 0 && (n.Kind == EndEvent || enclosed || compensating) {
		c.refuse(e, fault.ModelFlow, "a sequence flow leads out of it, which cannot be; remove the flow %q", n.Out[0].ID)
	}
	for _, f := range n.Out {
		unread := n.Kind == Parallel || n.Kind == EventGate
		if f.Condition != nil && unread {
			c.warn(e, fault.ModelFlow, "the condition of its flow %q is never evaluated; use an inclusive gateway", f.ID)
		}
		if !c.conditional[f] && n.Kind == Exclusive && len(n.Out) > 1 && n.Default != f {
			c.warn(e, fault.ModelFlow, "its flow %q has no condition and is always taken when it is reached; make it the default flow", f.ID)
		}
	}
}

func (c *compiler) checkEvent(n *Node) {
	if n.Event == nil {
		return
	}
	e, ev := c.elements[n], n.Event
	caught := n.Kind == BoundaryEvent || n.Kind == StartEvent && n.Scope.Node != nil
	if caught && !n.Interrupting && (ev.Kind == Error || ev.Kind == Cancel || ev.Kind == Compensation && n.Kind == StartEvent) {
		c.refuse(e, fault.ModelEventMisplaced, "a %s event always interrupts; do not mark it as non-interrupting", ev.Kind)
	}
	if ev.Timer != nil && ev.Timer.Cycle != nil && (n.Kind == CatchEvent || caught && n.Interrupting) {
		c.refuse(e, fault.ModelEventMisplaced, "a cycle cannot repeat here; write a duration or a date")
	}
	if ev.Kind == Escalation && n.Host != nil && n.Host.Inner == nil && n.Host.Kind != CallActivity {
		c.warn(e, fault.ModelEventMisplaced, "nothing in a %s throws an escalation, so it never happens; attach it to a sub-process or a call", n.Host.Kind)
	}
	if caught && ev.Code != nil && ev.Code.Expr != nil {
		c.refuse(e, fault.ModelExpression, "the code that is caught cannot be computed; write it as it is")
	}
	inTransaction := n.Scope.Node != nil && n.Scope.Node.Kind == Transaction
	switch {
	case ev.Kind == Cancel && n.Kind == EndEvent && !inTransaction:
		c.refuse(e, fault.ModelEventMisplaced, "a cancel end event stands outside a transaction; put it directly inside one")
	case ev.Kind == Cancel && n.Kind == EndEvent && !hasCancelBoundary(n.Scope.Node):
		c.refuse(e, fault.ModelEventMisplaced, "the transaction %q has no cancel boundary event to leave by; add one", n.Scope.Node.ID)
	case ev.Kind == Cancel && n.Kind == BoundaryEvent && n.Host != nil && n.Host.Kind != Transaction:
		c.refuse(e, fault.ModelEventMisplaced, "a cancel boundary event is attached to no transaction; attach it to one")
	}
}

func hasCancelBoundary(n *Node) bool {
	for _, b := range n.Boundaries {
		if b.Event != nil && b.Event.Kind == Cancel {
			return true
		}
	}
	return false
}

func (c *compiler) checkEventGate(n *Node) {
	e := c.elements[n]
	if len(n.Out) == 0 {
		c.refuse(e, fault.ModelFlow, "nothing follows it; connect it to the events it waits for")
	}
	if n.Instantiate && (len(n.In) > 0 || n.Scope.Node != nil) {
		c.refuse(e, fault.ModelEventMisplaced, "it starts the process, but stands in a sub-process or behind a flow; put it at process level and remove what leads into it")
	}
	for _, f := range n.Out {
		to := f.To
		waits := to.Event != nil && (to.Kind == CatchEvent && to.Event.Kind != Link || to.Kind == ReceiveTask)
		switch {
		case !waits:
			c.refuse(e, fault.ModelFlow, "its flow %q leads to a %s, which waits for no event; connect it to catch events or receive tasks", f.ID, to.Kind)
		case len(to.In) > 1:
			c.refuse(e, fault.ModelFlow, "a second flow leads into %q; it can only be reached from this gateway", to.ID)
		case to.Kind == ReceiveTask && (len(to.Boundaries) > 0 || to.Loop != nil || len(to.Inputs) > 0):
			c.refuse(e, fault.ModelFlow, "the receive task %q has boundary events, a loop or inputs, which cannot be behind an event gateway; use a catch event", to.ID)
		case n.Instantiate && to.Event.Kind != Message:
			c.refuse(e, fault.ModelFlow, "%q is no message, and only a message can start the process here", to.ID)
		}
	}
}

// checkCatchers refuses two catchers of one error or escalation code, and two of cancels or compensations.
func (c *compiler) checkCatchers(catchers []*Node, where string) {
	type key struct {
		kind EventKind
		code string
	}
	seen := map[key]*Node{}
	for _, n := range catchers {
		if n.Event == nil || !contains([]EventKind{Error, Escalation, Cancel, Compensation}, n.Event.Kind) {
			continue
		}
		k := key{kind: n.Event.Kind}
		if n.Event.Code != nil {
			k.code = "=" + n.Event.Code.Literal
		}
		if other := seen[k]; other != nil {
			c.refuse(c.elements[n], fault.ModelCatchDuplicate, "%q catches the same %s at %s; keep one of them", other.ID, n.Event.Kind, where)
		}
		seen[k] = n
	}
}

// checkScope checks how a scope starts, and the scopes in it.
func (c *compiler) checkScope(s *Scope) {
	var catchers []*Node
	for _, n := range s.Nodes {
		if n.Kind == StartEvent {
			c.checkStart(s, n)
		}
		if n.Inner == nil {
			continue
		}
		c.checkScope(n.Inner)
		if n.Kind == EventProcess {
			if start := c.checkEventProcess(n); start != nil {
				catchers = append(catchers, start)
			}
		}
	}
	c.checkCatchers(catchers, "this scope")
}

func (c *compiler) checkStart(s *Scope, n *Node) {
	e := c.elements[n]
	switch {
	case n.Event == nil && s.Start != nil:
		c.refuse(e, fault.ModelEventMisplaced, "the scope has a none start event %q already; keep one", s.Start.ID)
	case n.Event == nil:
		s.Start = n
	case s.Node == nil && (n.Event.Kind == Error || n.Event.Kind == Escalation || n.Event.Kind == Compensation):
		c.refuse(e, fault.ModelEventMisplaced, "a process cannot be started by %s; put the event into an event sub-process", n.Event.Kind)
	case s.Node == nil && n.Event.Kind == Conditional && n.Source == nil:
		c.refuse(e, fault.ModelElement, "nothing can trigger it; give it a q:source, so that the condition is asked of a message")
	case s.Node == nil && n.Event.Name != nil && n.Event.Name.Expr != nil:
		c.refuse(e, fault.ModelExpression, "a process is not started by a computed name; write it as it is")
	case s.Node != nil && s.Node.Kind != EventProcess:
		c.refuse(e, fault.ModelEventMisplaced, "a sub-process starts by a none start event alone; remove the event definition")
	}
}

// checkEventProcess answers the start event of an event sub-process.
func (c *compiler) checkEventProcess(n *Node) *Node {
	var starts []*Node
	for _, inner := range n.Inner.Nodes {
		if inner.Kind == StartEvent {
			starts = append(starts, inner)
		}
	}
	if len(starts) != 1 || starts[0].Event == nil {
		c.refuse(c.elements[n], fault.ModelEventMisplaced, "an event sub-process has exactly one start event, with an event definition; this one has %d start events", len(starts))
		return nil
	}
	n.Inner.Start = starts[0]
	if around := n.Scope.Node; starts[0].Event.Kind == Compensation && around != nil && around.Compensation != nil {
		c.warn(c.elements[n], fault.ModelCompensationUnknown, "it undoes %q alone, so the handler %q never runs; keep one of them", around.ID, around.Compensation.ID)
	}
	if starts[0].Event.Kind == Compensation && n.Scope.Node == nil {
		c.refuse(c.elements[n], fault.ModelEventMisplaced, "a process cannot be compensated; put the event sub-process into a sub-process")
	}
	return starts[0]
}

// checkReach warns of nodes that no token can reach.
func (c *compiler) checkReach() {
	reached := make([]bool, len(c.p.Nodes))
	var visit func(n *Node)
	visit = func(n *Node) {
		if reached[n.Index] {
			return
		}
		reached[n.Index] = true
		for _, f := range n.Out {
			visit(f.To)
		}
		for _, b := range n.Boundaries {
			visit(b)
		}
		if n.Compensation != nil {
			visit(n.Compensation)
		}
	}
	for _, n := range c.p.Nodes {
		compensating := n.Kind == BoundaryEvent && n.Event != nil && n.Event.Kind == Compensation
		if n.Kind == StartEvent || n.Kind == EventProcess || n.Instantiate || compensating {
			visit(n)
		}
	}
	for _, n := range c.p.Nodes {
		if len(n.In) == 0 && n.Kind != BoundaryEvent && !n.ForCompensation && (n.Scope.implicit() || n.Kind == AdHoc) {
			visit(n)
		}
	}
	for _, n := range c.p.Nodes {
		if !reached[n.Index] && n.Kind != BoundaryEvent {
			c.warn(c.elements[n], fault.ModelFlow, "no flow leads to it from a start; connect it or remove it")
		}
	}
}

// implicit says that the scope has no start event of any kind: it starts at every node without incoming flow.
func (s *Scope) implicit() bool {
	for _, n := range s.Nodes {
		if n.Kind == StartEvent || n.Instantiate {
			return false
		}
	}
	return true
}

// Roots are the nodes at which the scope starts by itself: its none start event, or else every node without incoming flow.
func (s *Scope) Roots() []*Node {
	if s.Start != nil {
		return []*Node{s.Start}
	}
	var roots []*Node
	if !s.implicit() {
		return nil
	}
	for _, n := range s.Nodes {
		if len(n.In) == 0 && n.Kind != BoundaryEvent && n.Kind != EventProcess && !n.ForCompensation {
			roots = append(roots, n)
		}
	}
	return roots
}

// routes lists how instances start, and which nodes wait for messages.
func (c *compiler) routes() {
	if len(c.p.Root.Roots()) > 0 && c.p.Root.Start == nil {
		c.p.Starts = append(c.p.Starts, Start{})
	}
	for _, n := range c.p.Nodes {
		switch {
		case n.Kind == StartEvent && n.Scope.Node == nil:
			c.p.Starts = append(c.p.Starts, route(n))
			continue
		case n.Kind == EventGate && n.Instantiate:
			for _, f := range n.Out {
				c.p.Starts = append(c.p.Starts, route(f.To))
			}
		case n.Kind == ReceiveTask && n.Instantiate:
			c.p.Starts = append(c.p.Starts, route(n))
		}
		if n.Event != nil && n.Event.Kind == Message && n.Kind != EndEvent && n.Kind != ThrowEvent {
			r := route(n)
			c.p.Catches = append(c.p.Catches, Catch{Node: n, Channel: r.Channel, Message: r.Message, Aliases: keys(n)})
		}
	}
}

// keys are the aliases by which a message finds a waiting node.
func keys(n *Node) []Alias {
	if n.Source != nil || n.Event.Key == nil {
		return n.Aliases
	}
	return append(slices.Clone(n.Aliases), Alias{Name: "message:" + n.Event.Name.Literal, Expr: n.Event.Key, Subscriber: true, Line: n.Line})
}

func route(n *Node) Start {
	s := Start{Node: n}
	if n.Event == nil {
		return s
	}
	s.Kind, s.Timer = n.Event.Kind, n.Event.Timer
	if n.Source != nil {
		s.Channel = n.Source.Channel
	}
	if n.Event.Name != nil && n.Event.Name.Expr == nil && s.Channel == "" {
		s.Message = n.Event.Name.Literal
	}
	return s
}
