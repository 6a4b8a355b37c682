package step

import (
	"slices"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Adoption is an instance on its way to another revision, as core/migrate has found that it may go.
type Adoption struct {
	From   *Program        // by which its rows were made
	Before *token.Snapshot // as it is stored
	After  *token.Snapshot // in the names of the program that adopts it; what has no place there is left out
	Arm    []Arm           // events that the old model did not wait for
	Again  []token.ID      // waits to be computed anew
	Keys   []bpmn.Alias    // business keys that the old process did not have
	Resume bool            // After is FAILED, and is to go on
	Event  KeptEvent       // what becomes of the event it failed at, when it goes on
}

// Arm is an event to wait for: at a token, or at a scope for an event sub-process.
type Arm struct {
	Token token.ID
	Scope token.ID
	Node  string
	Group bool // a branch of an event gateway
}

// Adopt makes the step by which p takes an instance over. Nothing is driven: no token moves. What may be able to go on under the new
// model, a condition that is true already or a gateway that need not wait any longer, is woken by a delivery to itself. Failure says
// what could not be computed; then there is no step.
func Adopt(p *Program, c Claimed, a Adoption) Result {
	s, err := load(p.Process, a.After)
	if err != nil {
		return Result{Err: err}
	}
	r := newRun(p, s, c)
	r.journal.Events = append(r.journal.Events, journalEvent{Kind: KindMigrate, Code: string(p.Deployment)})
	stirred := r.adopt(a)
	if a.Resume {
		r.revive(a.Event)
	}
	if stirred {
		r.deliver(ports.KindWake, r.ref.ID, 0, Event{})
	}
	out := outcome{p: p, from: a.From, before: a.Before, run: r}
	if r.failure == nil && r.head.Failure == nil && !r.waiting() && len(r.effects.deliveries) == 0 {
		r.fail(fault.MigrateStuck, nil, "it would wait for nothing any more, so nothing could ever drive it")
	}
	if r.failure != nil || !out.seal() {
		return Result{Failure: r.failure.fault}
	}
	out.Result.Commit = &ports.Step{
		Claim: c.Claim, ID: c.Step, Seq: out.after.Step, Deployment: a.From.Deployment, Module: a.From.Module, Process: a.From.Process.ID, Status: out.after.Status,
		Snapshot: out.data, Fault: out.stored, Drop: out.drop, Rows: out.rows(),
		Move: out.move,
	}
	return out.Result
}

// adopt arms and computes what the new model asks for, and says whether something may be able to go on.
func (r *run) adopt(a Adoption) (stirred bool) {
	for _, c := range r.scopes {
		r.declareObjects(c)
	}
	for _, w := range slices.Clone(r.waits) {
		if slices.Contains(a.Again, w.ID) {
			r.recompute(w)
			stirred = stirred || w.Kind == token.Condition
		}
	}
	for _, x := range a.Arm {
		w := r.watch(r.g.Node(x.Node), r.tokenByID(x.Token), r.living(x.Scope))
		if w == nil {
			continue
		}
		if x.Group {
			w.Group = x.Token
		}
		r.note("armed", w.node, x.Token)
		stirred = stirred || w.Kind == token.Condition
	}
	if r.root != nil {
		r.register(a.Keys, r.root, r.root, nil)
	}
	return stirred || r.gathering()
}

// living finds a scope by its id; nil: there is none.
func (r *run) living(id token.ID) *scope {
	if id == 0 {
		return nil
	}
	return r.scopeByID(id)
}

// declareObjects gives a scope the data objects of its model that it does not have yet.
func (r *run) declareObjects(c *scope) {
	if c.inside == nil {
		return
	}
	for _, name := range c.inside.Objects {
		if _, has := c.variables[name]; !has {
			r.declare(c, name, nil)
		}
	}
}

// gathering says that some gateway holds tokens and may have to be asked again: inclusive and complex ones look at the whole scope.
func (r *run) gathering() bool {
	for _, c := range r.scopes {
		if len(c.gates) > 0 {
			return true
		}
		for _, t := range c.tokens {
			if t.state == token.Join && t.node.Kind != bpmn.Parallel {
				return true
			}
		}
	}
	return false
}

// recompute computes a wait as if it were armed now.
func (r *run) recompute(w *wait) {
	switch w.Kind {
	case ports.WaitMessage:
		r.forgetWait(w)
		r.watchMessage(w)
	case ports.WaitSignal:
		w.Name = r.text(w.node.Event.Name, w.home(), nil, w.node)
	case ports.WaitTimer:
		w.Anchor, w.Period, w.Fired, w.Left = time.Time{}, "", 0, 0
		if attemptOf(w) != nil {
			w.Due = r.dueAfter(w.node.Timeout, w.token.local(), w.node)
			return
		}
		r.watchTimer(w)
	case ports.WaitTask:
		r.label(w)
	case ports.WaitRetry:
		w.Due = r.at
	case token.Condition:
		w.Truth = false
	}
}

// WaitsFor is the kind of wait that an event definition makes; empty: none.
func WaitsFor(e *bpmn.Event) ports.WaitKind { return caught[e.Kind] }

// Calls is what a task over a channel waits for: a worker, an answer, or nothing.
func (p *Program) Calls(n *bpmn.Node) ports.WaitKind {
	switch ch, known := p.Channels[n.Task.Channel]; {
	case !known, ch.Transport == channel.Local:
		return ""
	case ch.Transport == channel.Pull:
		return ports.WaitTask
	}
	return ports.WaitCall
}

// WaitOf finds the wait that a message without one feeds; 0: none does.
func WaitOf(p *Program, s *token.Snapshot, ev Event) token.ID {
	st, err := load(p.Process, s)
	if err != nil || ev.Kind != KindMessage {
		return 0
	}
	if w := newRun(p, st, Claimed{At: ev.At}).messageWait(&ev); w != nil {
		return w.ID
	}
	return 0
}
