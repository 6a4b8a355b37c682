package step

import (
	"cmp"
	"slices"

	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// begin makes a new instance. A start that fails keeps an empty snapshot and its event; one that the model refuses leaves nothing.
func begin(p *Program, b Begin) Result {
	empty := &token.Snapshot{Process: p.Process.ID, Status: ports.Suspended}
	out := advance(p, empty, Claimed{Claim: ports.Claim{Ref: b.Ref}, Step: b.Step, At: b.Event.At, Refused: b.Refused, Trace: b.Trace}, []Event{b.Event})
	if out.Err != nil {
		return out.Result
	}
	if out.Failure != nil && (p.Process.Idempotent || out.Failure.Code == fault.EventInvalid) {
		return out.Result
	}
	n := &ports.NewInstance{
		Ref: b.Ref, Deployment: p.Deployment, Module: p.Module, Process: p.Process.ID, Channel: b.Channel, Status: out.after.Status,
		Snapshot: out.data, Fault: out.stored, Schedule: b.Schedule, Leases: b.Leases, Rows: out.rows(),
	}
	if b.Event.Parent != nil {
		n.Parent, n.Pinned = &b.Event.Parent.Parent, true
	}
	if len(out.run.effects.consumed) > 0 {
		n.Consumed = &out.run.effects.consumed[0]
	}
	out.Result.Start = n
	return out.Result
}

// resume folds events into one step of a claimed instance.
func resume(p *Program, c Claimed, events []Event) Result {
	before, err := token.Decode(c.Row.Snapshot)
	if err != nil {
		return Result{Err: err}
	}
	if refused := refuse(before, events); refused != nil {
		return *refused
	}
	out := advance(p, before, c, events)
	if out.Err != nil || !slices.ContainsFunc(out.Outcomes, func(o Outcome) bool { return o == Applied || o == Failed }) {
		return out.Result
	}
	rows := out.rows()
	out.Result.Commit = &ports.Step{
		Claim: c.Claim, ID: c.Step, Seq: out.after.Step, Deployment: p.Deployment, Module: p.Module, Process: p.Process.ID, Status: out.after.Status,
		Snapshot: out.data, Fault: out.stored, Consumed: out.run.effects.consumed, Void: out.run.effects.void, Task: out.run.effects.task,
		Leases: c.Leases, Drop: out.drop, Rows: rows,
	}
	return out.Result
}

// refuse answers for an instance that takes no events: one that has ended, or is FAILED. Operators may cancel a FAILED one.
func refuse(s *token.Snapshot, events []Event) *Result {
	outcome := NotTried
	if s.Parent != nil && slices.ContainsFunc(events, func(ev Event) bool { return ev.Kind == KindCancel && ev.From.Instance.IsZero() }) {
		return &Result{Err: fault.CancelHasParent.With("the instance was called by %s; cancel that one", s.Parent.Instance)}
	}
	switch {
	case s.Status.Ended():
		outcome = Unmatched
	case s.Failure == nil, len(events) > 0 && events[0].Kind == KindCancel:
		return nil
	}
	r := &Result{Outcomes: make([]Outcome, len(events))}
	for i := range r.Outcomes {
		r.Outcomes[i] = outcome
	}
	return r
}

// outcome is a step with what it was made from.
type outcome struct {
	Result
	p      *Program
	from   *Program // that made the rows of before
	before *token.Snapshot
	after  *token.Snapshot
	data   []byte
	stored *ports.Fault
	run    *run
	drop   ports.Dropped
	insert ports.Rows
	move   *ports.Move // from another program: what stays, with other words
}

func (o *outcome) rows() ports.Rows {
	rows := o.insert
	rows.Outbox, rows.Deliveries, rows.Replies = o.run.effects.emissions, o.run.effects.deliveries, o.run.effects.replies
	if o.run.limits.History != NoHistory {
		rows.History = o.run.journal.document()
	}
	return rows
}

// advance folds events. If one of them fails, the step is made again with those before it: the same events give the same state, so
// nothing has to be undone.
func advance(p *Program, before *token.Snapshot, c Claimed, events []Event) outcome {
	order := ordered(events)
	if c.Most > 0 {
		order = order[:min(c.Most, len(order))]
	}
	out := outcome{p: p, from: p, before: before, Result: Result{Outcomes: make([]Outcome, len(events)), Before: before.Trace}}
	r, tried, err := fold(p, before, c, events, order, out.Outcomes)
	if err != nil {
		out.Err = err
		return out
	}
	if c.Refused != nil {
		r.failure, tried = &failure{fault: c.Refused}, 1
	}
	if r.failure == nil {
		out.run = r
		if out.seal() {
			out.rest()
			return out
		}
	}
	for n := tried; n > 0; n-- { // the last event tried is the one that failed; too large a snapshot may take more than one of them along
		failed, why := events[order[n-1]], r.failure
		clear(out.Outcomes)
		if r, _, err = fold(p, before, c, events, order[:n-1], out.Outcomes); err != nil {
			out.Err = err
			return out
		}
		out.run = r
		r.freeze(failed, why)
		out.Failure = why.fault
		out.Outcomes[order[n-1]] = Failed
		if out.seal() {
			break
		}
	}
	out.rest()
	return out
}

// rest says of every event that nothing was said of that it was not tried.
func (o *outcome) rest() {
	for i, said := range o.Outcomes {
		if said == "" {
			o.Outcomes[i] = NotTried
		}
	}
}

// fold applies events in order until one fails, and says how many were tried. Two completions of tasks never go into one step, which
// can prove only one lock; nor does one message twice, which is a duplicate once the first is committed.
func fold(p *Program, before *token.Snapshot, c Claimed, events []Event, order []int, outcomes []Outcome) (*run, int, error) {
	s, err := load(p.Process, before)
	if err != nil {
		return nil, 0, err
	}
	r := newRun(p, s, c)
	for tried, i := range order {
		ev := events[i]
		if ev.Task != nil && r.effects.task != nil || r.took(ev.Consumed) {
			outcomes[i] = NotTried
			continue
		}
		outcomes[i] = Unmatched
		if r.head.Status.Ended() || !r.try(&ev) {
			continue
		}
		outcomes[i] = Applied
		if r.failure != nil {
			return r, tried + 1, nil
		}
	}
	return r, len(order), nil
}

// took says that the step takes this message already.
func (r *run) took(c *ports.Consumed) bool {
	return c != nil && slices.ContainsFunc(r.effects.consumed, func(taken ports.Consumed) bool { return taken.InboxRef == c.InboxRef })
}

// try applies one event and works until every token is parked; false: nothing waits for it. A panic is the event's failure like any
// other: the instance is FAILED and keeps the event, so that the same panic does not come back with every delivery.
func (r *run) try(ev *Event) (applied bool) {
	defer func() {
		if p := recover(); p != nil {
			r.failure = nil
			r.fail(fault.StepPanicked, nil, "the engine panicked: %v", p)
			applied = true
		}
	}()
	if !r.apply(ev) {
		return false
	}
	r.settle()
	return true
}

// seal makes the bytes and rows of the step; false: they cannot be, and the run has failed.
func (o *outcome) seal() bool {
	r := o.run
	o.after = r.save(r.transient)
	data, err := token.Encode(o.after)
	if err != nil {
		r.failure = &failure{fault: fault.Of(err)}
		return false
	}
	if o.after.Failure == nil && len(data) > r.limits.SnapshotBytes {
		r.fail(fault.SnapshotLimit, nil, "the instance needs %d bytes; at most %d are kept", len(data), r.limits.SnapshotBytes)
		return false
	}
	o.data, o.Activations = data, r.activations
	old := token.Rows{}
	if o.before.Step != 0 {
		old = token.RowsOf(o.from.Process, o.from.Module, o.before)
	}
	now := token.RowsOf(o.p.Process, o.p.Module, o.after)
	o.insert, o.drop = token.Change(old, now, o.after)
	if o.from != o.p {
		o.move = &ports.Move{To: o.p.Deployment, Module: o.p.Module, Process: o.p.Process.ID}
		o.move.Waits, o.move.Tasks, o.move.Topics = token.Moved(old, now)
	}
	if f := o.after.Failure; f != nil {
		o.stored = &ports.Fault{Code: f.Code, Detail: f.Detail, Node: f.Node}
	}
	return true
}

// freeze makes the instance FAILED as it is, keeping the event that failed. Its message is done; its payload lives on here.
func (r *run) freeze(ev Event, why *failure) {
	if ev.Consumed != nil {
		r.effects.consumed = append(r.effects.consumed, *ev.Consumed)
		if ev.Asked == (ports.InboxRef{}) {
			ev.Asked = ev.Consumed.InboxRef
		}
	}
	if r.effects.task == nil {
		r.effects.task = ev.Task
	}
	kept, err := EncodeEvent(ev)
	if err != nil {
		kept = nil // the payload was read from the same encoding
	}
	f := why.fault
	r.head.Status = ports.Failed
	r.head.Failure = &token.Failure{Code: string(f.Code), Detail: f.Detail, Node: f.Element, Trace: why.trace, Event: kept}
	r.journal.Failed = &journalFault{Code: string(f.Code), Detail: f.Detail, Node: f.Element, Trace: why.trace}
}

// ordered gives the order in which events are folded: deliveries of one source by its step and ordinal, whatever the clocks say;
// otherwise by time, then message, task, child, timer, then wait: completion beats a timeout of the same instant.
func ordered(events []Event) []int {
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &events[a], &events[b]
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(rank(x.Kind), rank(y.Kind)), cmp.Compare(x.Wait, y.Wait))
	})
	bySource := map[ports.InstanceID][]int{} // places in the order
	for place, i := range order {
		if from := events[i].From; !from.Instance.IsZero() && from.Step != 0 {
			bySource[from.Instance] = append(bySource[from.Instance], place)
		}
	}
	for _, places := range bySource {
		sent := make([]int, len(places))
		for n, place := range places {
			sent[n] = order[place]
		}
		slices.SortStableFunc(sent, func(a, b int) int {
			x, y := events[a].From, events[b].From
			return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(x.Ordinal, y.Ordinal))
		})
		for n, place := range places {
			order[place] = sent[n]
		}
	}
	return order
}

func rank(k EventKind) int {
	switch k {
	case KindStart, KindChildStart:
		return 0
	case KindMessage, KindSignal:
		return 1
	case KindTaskDone, KindTaskError, KindCallReply, KindCallFailed:
		return 2
	case KindTimer, KindRetryDue:
		return 4
	}
	return 3
}
