// Package migrate decides whether an instance can go on under another revision, and rewrites it in that revision's names. All or
// nothing: what could not go on exactly as it stands is a violation, and every violation is listed. It claims, reads and writes
// nothing, and drives nothing: no token moves.
package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Plan is how instances are to be moved.
type Plan struct {
	Nodes            map[string]string // old BPMN id → new, of nodes and sequence flows; an id that is left out stays itself
	Resume           bool              // FAILED ones go on
	Event            step.KeptEvent    // what becomes of the event that a FAILED one failed at; empty: it happens again
	RecomputeTimers  bool              // timers are armed anew, as of now; else they keep when they are due
	DropCompensation bool              // what can no longer be undone is forgotten; else it is a violation
}

// Facts are what only the store knows of an instance.
type Facts struct {
	Locked   []ports.TaskID     // a worker has them
	Ending   []ports.TaskID     // have no row: a completion is pending
	Starting []ports.InstanceID // called instances that are not there yet
}

// Questions are what Facts have to answer for.
type Questions struct {
	Tasks    []ports.TaskID
	Children []ports.InstanceID
}

// Ask says what has to be known of an instance beside its snapshot.
func Ask(s *token.Snapshot) Questions {
	var q Questions
	if s.Failure != nil {
		return q // its tasks have no rows, and its calls wait
	}
	for _, w := range s.Waits {
		if w.Kind == ports.WaitTask {
			q.Tasks = append(q.Tasks, w.Task)
		}
		if !w.Child.IsZero() {
			q.Children = append(q.Children, w.Child)
		}
	}
	return q
}

// Result is what a migration comes to: a step, or violations.
type Result struct {
	Step       *ports.Step
	Violations []fault.Fault
	Notes      []string // what changes that nobody has to decide
}

// Refused says why there is no step. Redeliver: nothing is wrong but the moment.
func (r Result) Refused() *fault.Fault {
	if len(r.Violations) == 0 {
		return nil
	}
	if i := slices.IndexFunc(r.Violations, func(f fault.Fault) bool { return f.Code.Disposition() != fault.Redeliver }); i < 0 {
		return &r.Violations[0]
	}
	f := fault.MigrateRefused.With("%d things stand against it; map the nodes that have new ids, or put the model right, and ask again with a dry run", len(r.Violations))
	f.All = r.Violations
	return f
}

// Instance moves one instance, whose snapshot is decoded as s, from one program to another. The error is trouble: nothing was decided.
func Instance(from, to *step.Program, c step.Claimed, s *token.Snapshot, plan Plan, facts Facts) (Result, error) {
	plan.Event = cmp.Or(plan.Event, step.ReplayEvent)
	m := &move{from: from, to: to, plan: plan, facts: facts, old: s, tokens: map[token.ID]*token.Token{}, scopes: map[token.ID]*place{}}
	m.rewrite()
	if len(m.out.Violations) > 0 {
		return m.out, nil
	}
	res := step.Adopt(to, c, step.Adoption{
		From: from, Before: s, After: &m.now, Arm: m.arm, Again: m.again, Keys: m.keys(), Resume: plan.Resume && s.Failure != nil, Event: plan.Event,
	})
	switch {
	case res.Err != nil:
		return Result{}, res.Err
	case res.Failure != nil && res.Failure.Code == fault.MigrateStuck:
		m.out.Violations = append(m.out.Violations, *res.Failure)
	case res.Failure != nil:
		f := fault.MigrateCompute.With("%w", res.Failure)
		f.Element = res.Failure.Element
		m.out.Violations = append(m.out.Violations, *f)
	}
	m.out.Step = res.Commit
	return m.out, nil
}

// move is one migration while it is decided.
type move struct {
	from, to *step.Program
	plan     Plan
	facts    Facts
	old      *token.Snapshot
	now      token.Snapshot
	arm      []step.Arm
	again    []token.ID
	out      Result

	scopes map[token.ID]*place       // of the old snapshot; nil: it has no place in the new model
	tokens map[token.ID]*token.Token // as they are rewritten; nil likewise
}

func (m *move) violate(code fault.Code, element, format string, args ...any) {
	f := code.With(format, args...)
	f.Element = element
	m.out.Violations = append(m.out.Violations, *f)
}

func (m *move) note(format string, args ...any) {
	m.out.Notes = append(m.out.Notes, fmt.Sprintf(format, args...))
}

func (m *move) rewrite() {
	m.mapping()
	m.now = *m.old
	m.now.Process = m.to.Process.ID
	m.now.Scopes, m.now.Tokens, m.now.Waits, m.now.Aliases = nil, nil, nil, nil
	if len(m.old.Undoing) > 0 {
		m.violate(fault.MigrateUndoing, "", "a compensation runs; wait until it has ended")
		return // its scopes and tokens are no places of the model
	}
	for i := range m.old.Scopes {
		m.scope(&m.old.Scopes[i])
	}
	for i := range m.old.Tokens {
		m.token(&m.old.Tokens[i])
	}
	m.joins()
	for i := range m.old.Waits {
		m.wait(&m.old.Waits[i])
	}
	m.groups()
	m.armNew()
	m.aliases()
	m.event()
}

// mapping refuses ids that the new model does not have. That an old id is not there is no harm: a plan may serve several revisions.
func (m *move) mapping() {
	for _, old := range sorted(m.plan.Nodes) {
		id := m.plan.Nodes[old]
		if m.to.Process.Node(id) == nil && m.to.Process.Flow(id) == nil {
			m.violate(fault.MigrateMapping, old, "%q is mapped to %q, which process %q of the new revision does not have", old, id, m.to.Process.ID)
		}
	}
}
