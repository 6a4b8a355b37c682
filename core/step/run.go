package step

import (
	"fmt"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// run is one step while it is made. The first failure stays: what is done after it is thrown away with the run.
type run struct {
	*state
	p      *Program
	g      *bpmn.Process
	limits Limits
	ref    ports.Ref
	step   ports.StepID
	at     time.Time
	trace  ports.Trace

	queue       []*tok // work to do, first in first out
	alive       int    // tokens
	activations int
	fresh       []*wait              // conditions just armed
	conditional int                  // conditions armed in this step or before, dead ones included
	dirty       map[string]bool      // variables written since conditions were last evaluated
	names       map[string]ports.Key // of message waits, and
	values      map[string]ports.Key // of aliases: hashed once
	failure     *failure
	effects     effects
	journal     journal
}

// failure is why the step cannot go on.
type failure struct {
	fault *fault.Fault
	trace []string
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&l.Activations, 10_000},
		{&l.SnapshotBytes, 1 << 20},
		{&l.Tokens, 10_000},
		{&l.Scopes, 64},
		{&l.Calls, 32},
		{&l.Iterations, 10_000},
		{&l.TaskRetries, 3},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return l
}

func newRun(p *Program, s *state, c Claimed) *run {
	r := &run{
		state: s, p: p, g: p.Process, limits: p.Limits.withDefaults(), ref: c.Claim.Ref, step: c.Step,
		at: c.At.UTC().Truncate(time.Microsecond), trace: c.Trace, dirty: map[string]bool{},
		names: map[string]ports.Key{}, values: map[string]ports.Key{},
	}
	r.head.Step++
	if r.trace != "" {
		r.head.Trace = r.trace
	}
	r.journal.Did = make([]did, 0, 16)
	r.alive = len(s.tokens)
	for _, w := range s.waits {
		if w.Kind == token.Condition {
			r.conditional++
		}
	}
	return r
}

// fail notes the first failure, at a node or at none.
func (r *run) fail(code fault.Code, n *bpmn.Node, format string, args ...any) {
	if r.failure != nil {
		return
	}
	f := code.With(format, args...)
	r.failure = &failure{fault: f}
	for ; n != nil; n = n.Scope.Node {
		if f.Element == "" {
			f.Element = n.ID
		}
		r.failure.trace = append([]string{n.ID}, r.failure.trace...)
	}
}

// settle works until every token is parked.
func (r *run) settle() {
	for r.failure == nil {
		r.conditions()
		if len(r.queue) == 0 && !r.release() {
			break
		}
		if len(r.queue) == 0 {
			continue
		}
		t := r.queue[0]
		r.queue = r.queue[1:]
		if t.dead {
			continue
		}
		if r.activations++; r.activations > r.limits.Activations {
			r.fail(fault.StepLimit, t.node, "one step entered more than %d nodes; look for a loop that never waits", r.limits.Activations)
			return
		}
		r.enter(t)
	}
	if r.failure == nil && !r.head.Status.Ended() && !r.waiting() {
		r.deadlock()
	}
}

// waiting says that something is armed.
func (r *run) waiting() bool {
	for _, w := range r.waits {
		if !w.dead {
			return true
		}
	}
	return false
}

func (r *run) deadlock() {
	var at []string
	var first *bpmn.Node
	for _, t := range r.tokens {
		if !t.dead && t.state == token.Join {
			if first == nil {
				first = t.node
			}
			at = append(at, t.node.ID)
		}
	}
	r.fail(fault.JoinDeadlock, first, "tokens wait at %v for others that can never come", at)
}

// enter lets a token do what its node is for.
func (r *run) enter(t *tok) {
	r.note("entered", t.node, t.id)
	switch t.node.Kind {
	case bpmn.StartEvent, bpmn.BoundaryEvent:
		r.leave(t)
	case bpmn.EndEvent, bpmn.ThrowEvent:
		r.throw(t)
	case bpmn.CatchEvent:
		r.catch(t)
	case bpmn.Exclusive:
		r.exclusive(t)
	case bpmn.Parallel:
		r.parallel(t)
	case bpmn.Inclusive:
		r.inclusive(t)
	case bpmn.Complex:
		t.state = token.Join
	case bpmn.EventGate:
		r.eventGate(t)
	default:
		r.activate(t)
	}
}

// leave takes the outgoing flows of a token's node: none ends the token, several split in parallel, and those with conditions
// inclusively.
func (r *run) leave(t *tok) {
	if t.inner != nil {
		r.close(t.inner)
		t.inner = nil
	}
	out := t.node.Out
	conditional := t.node.Default != nil
	for _, f := range out {
		conditional = conditional || f.Condition != nil
	}
	if conditional {
		out = r.trueFlows(t, nil)
		if len(out) == 0 {
			r.noFlow(t)
			return
		}
	}
	r.take(t, out)
}

// take moves a token along flows: the first takes the token itself, the others new ones.
func (r *run) take(t *tok, flows []*bpmn.Flow) {
	if len(flows) == 0 {
		if t.isAdHoc() {
			r.gives(t.scope)
		}
		r.consume(t)
		return
	}
	t.node, t.flow, t.state, t.tries = flows[0].To, flows[0], 0, 0
	r.queue = append(r.queue, t)
	for _, f := range flows[1:] {
		r.spawn(t.scope, f.To).flow = f
	}
}

// trueFlows evaluates the conditions of all flows: those that are true, else the default flow.
func (r *run) trueFlows(t *tok, extra feel.Context) []*bpmn.Flow {
	var out []*bpmn.Flow
	for _, f := range t.node.Out {
		if f != t.node.Default && (f.Condition == nil || r.holds(f.Condition, t.scope, extra, t.node)) {
			out = append(out, f)
		}
	}
	if len(out) == 0 && t.node.Default != nil {
		out = append(out, t.node.Default)
	}
	return out
}

func (r *run) noFlow(t *tok) {
	r.fail(fault.GatewayNoFlow, t.node, "no condition of %q is true and it has no default flow", t.node.ID)
}

// start applies the event that makes the instance.
func (r *run) start(ev *Event) {
	if ev.Parent != nil {
		if ev.Parent.Depth > r.limits.Calls {
			r.fail(fault.CallLimit, nil, "processes call one another more than %d deep", r.limits.Calls)
			return
		}
		r.head.Parent = &token.Parent{
			Instance: ev.Parent.Instance, Wait: int64(ev.Parent.Wait), Root: ev.Parent.Root, Depth: ev.Parent.Depth,
			Catches: ev.Parent.Catches, CatchAny: ev.Parent.CatchAny, Wants: ev.Parent.Wants, WantAll: ev.Parent.WantAll,
		}
	}
	r.root = r.open(nil, nil, token.ProcessScope, nil)
	for _, v := range r.g.Variables {
		r.declare(r.root, v.Name, nil)
	}
	for _, name := range r.g.Root.Objects {
		r.declare(r.root, name, nil)
	}
	at := r.g.Node(ev.Node)
	if ev.Node == "" {
		at = r.g.Root.Start
	} else if !slices.ContainsFunc(r.g.Starts, func(s bpmn.Start) bool { return s.Node == at }) || at == nil {
		r.fail(fault.NodeUnknown, nil, "process %q does not start at %q", r.g.ID, ev.Node)
		return
	}
	r.received(at, r.root, ev)
	r.register(r.g.Aliases, r.root, r.root, nil)
	r.armEventProcesses(r.root)
	if at != nil {
		r.startAt(at, ev)
		return
	}
	roots := r.g.Root.Roots()
	if len(roots) == 0 {
		r.fail(fault.NodeUnknown, nil, "process %q has no none start event to start at", r.g.ID)
	}
	for _, n := range roots {
		r.spawn(r.root, n)
	}
}

// startAt starts at a start event, or at an event that an instantiating gateway or receive task waits for.
func (r *run) startAt(n *bpmn.Node, ev *Event) {
	r.register(n.Aliases, r.root, r.root, atDoor(n.Source, ev.Payload))
	if erring(n, ev) {
		r.raise(r.place(r.root, n), refusal(n, ev))
		return
	}
	if n.Kind == bpmn.StartEvent {
		if n.Event != nil && n.Event.Kind == bpmn.Conditional && !r.holds(n.Event.Condition, r.root, nil, n) {
			r.fail(fault.EventInvalid, n, "the condition of the start event %q is not true for this message", n.ID)
		}
		r.spawn(r.root, n)
		return
	}
	for _, f := range n.In {
		if gate := f.From; gate.AllEvents {
			r.armOthers(gate, n)
		}
	}
	t := r.place(r.root, n)
	r.leave(t)
}

// armOthers makes the other events of a parallel instantiating gateway waits of the new instance.
func (r *run) armOthers(gate, but *bpmn.Node) {
	for _, f := range gate.Out {
		if f.To != but {
			r.spawn(r.root, f.To).flow = f
		}
	}
}

// end ends the instance.
func (r *run) end(status ports.Status) {
	r.head.Status = status
	if status == ports.Completed {
		r.answerAll()
		r.reportDone()
	} else if r.root != nil {
		r.close(r.root)
	}
	r.aliases = nil
	r.note(string(status), nil, 0)
}

// sensitive says that the value of a variable must not be shown.
func (r *run) sensitive(name string) bool { return r.g.Variable(name).Sensitive }

func (r *run) transient(name string) bool { return r.g.Variable(name).Transient }

// describe shows a value to people, unless a sensitive variable is involved.
func (r *run) describe(x *bpmn.Expression, v feel.Value) string {
	if slices.ContainsFunc(x.Names(), r.sensitive) {
		return "a sensitive value"
	}
	text := feel.Text(v)
	if v == nil {
		text = "null"
	}
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	return fmt.Sprintf("%q", text)
}
