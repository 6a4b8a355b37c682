package lane

import (
	"context"
	"errors"
	"slices"

	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// run is all that a batch has for one instance: one step.
type run struct {
	ref      ports.Ref
	requests []Request
	held     *claim.Held
	step     *ports.Step
	outcomes []step.Outcome // of all events, in order of the requests
	span     *span
}

// drive folds the requests by instance, claims the instances together, advances each and commits them together. A fold whose commit
// was refused for one of its requests is done again one by one, so that every request keeps its own outcome; a request whose content
// is refused, event by event, until the one that cannot be stored is found and its instance is FAILED.
func (l *lane) drive(ctx context.Context, requests []Request) {
	for _, r := range l.once(ctx, fold(requests)) {
		for again := []Request{r}; len(again) > 0; {
			again = l.once(ctx, fold(again))
		}
	}
}

func fold(requests []Request) []*run {
	var runs []*run
	at := map[ports.Ref]*run{}
	for _, r := range requests {
		it := at[r.Drive.Ref]
		if it == nil {
			it = &run{ref: r.Drive.Ref}
			at[it.ref] = it
			runs = append(runs, it)
		}
		it.requests = append(it.requests, r)
	}
	return runs
}

func (l *lane) once(ctx context.Context, runs []*run) (again []Request) {
	refs := make([]ports.Ref, len(runs))
	for i, r := range runs {
		refs[i] = r.ref
	}
	err := l.Guard.With(ctx, l.owner, refs, func(held []*claim.Held) {
		var group []ports.Step
		var of []*run
		var spans []*span
		for i, r := range runs {
			r.held = held[i]
			ready, untried := l.advance(ctx, r)
			again = append(again, untried...)
			if ready {
				group, of, spans = append(group, *r.step), append(of, r), append(spans, r.span)
			}
		}
		if len(group) == 0 {
			return
		}
		answers := l.write(ctx, "step", spans, func(ctx context.Context) []ports.Answer { return l.Instances.Commit(ctx, group) })
		for i, answer := range answers {
			again = append(again, l.committed(of[i], answer)...)
		}
	})
	if err != nil {
		for _, r := range runs {
			r.answer(Answer{Err: err})
		}
	}
	return again
}

// advance makes the step of one claimed instance. Not ready: it was answered, there is nothing to commit.
func (l *lane) advance(ctx context.Context, r *run) (ready bool, again []Request) {
	h := r.held
	switch {
	case h.Outcome == ports.Held:
		l.Watch.Count("sutra_claims_refused_total", 1)
		return false, r.answer(Answer{Outcome: ports.Held, Err: fault.ClaimHeld.With("instance %s is being advanced by another; send it again", r.ref.ID).About(r.ref.ID.String())})
	case h.Outcome != ports.Done:
		return false, r.answer(Answer{Outcome: ports.Gone, Err: fault.InstanceGone.With("there is no instance %s", r.ref.ID).About(r.ref.ID.String())})
	case h.Status.Ended():
		return false, r.answer(Answer{Outcome: ports.Gone, Status: h.Status, Err: fault.InstanceEnded.With("instance %s has ended", r.ref.ID).About(r.ref.ID.String())})
	case h.Status == ports.Failed && !r.cancels():
		return false, r.answer(Answer{Outcome: ports.Stale, Status: h.Status, Fault: h.Fault, Err: fault.InstanceFailed.With("instance %s is FAILED and waits for an operator", r.ref.ID).About(r.ref.ID.String())})
	}
	program := l.Programs.Program(ctx, h.Deployment, h.Process)
	if program == nil {
		return false, r.answer(Answer{Err: fault.NotReady.With("this replica cannot serve deployment %s of instance %s", h.Deployment, r.ref.ID).About(r.ref.ID.String())})
	}
	var events []step.Event
	claimed := step.Claimed{Claim: h.Claim(), Row: h.Instance, Step: l.IDs.New(), At: l.now()}
	for _, q := range r.requests {
		events = append(events, q.Drive.Events...)
		claimed.Leases = append(claimed.Leases, q.Drive.Leases...)
		claimed.Most, claimed.Refused = q.Drive.most, q.Drive.refused
	}
	for i := range events {
		if events[i].At.IsZero() {
			events[i].At = claimed.At
		}
	}
	r.span = l.span(ctx, "step", events...)
	claimed.Trace = r.span.trace
	res := l.contained(ctx, r.ref, func() step.Result { return step.Resume(program, claimed, events) })
	r.span.made(program, claimed.Claim, res)
	if res.Err != nil {
		return false, r.finished(Answer{Err: res.Err})
	}
	r.step, r.outcomes = res.Commit, res.Outcomes
	if r.step == nil {
		return false, r.finished(Answer{Outcome: ports.Done, Events: r.outcomes, Status: h.Status})
	}
	return true, nil
}

// cancels says that the run begins with a cancellation: the one thing that a FAILED instance takes.
func (r *run) cancels() bool {
	events := r.requests[0].Drive.Events
	return len(events) > 0 && events[0].Kind == step.KindCancel
}

// committed answers the requests of a run, or gives them back to be done one by one.
func (l *lane) committed(r *run, a ports.Answer) (again []Request) {
	if a.Outcome == ports.Done || a.Outcome == ports.ClaimLost {
		r.held.Given()
	}
	out := Answer{Outcome: a.Outcome, Other: a.Other, Err: a.Err}
	switch a.Outcome {
	case ports.Done:
		out.Status, out.Fault, out.Events = r.step.Status, r.step.Fault, r.outcomes
		out.Replies = stepReplies(r.step)
		l.failed(r.ref, r.step.Fault, r.span.trace)
		l.wake(r.ref.Tenant, r.step.Deployment, &r.step.Rows, out.Replies)
		l.Watch.Count("sutra_steps_committed_total", 1)
	case ports.ClaimLost:
		l.Watch.Count("sutra_claims_lost_total", 1)
		out.Err = fault.ClaimLost.With("the claim of instance %s went to another before the commit; nothing was written", r.ref.ID).About(r.ref.ID.String())
	case ports.Unsettled:
		if next := r.narrowed(a.Err); next != nil {
			r.span.over(out)
			return next
		}
	default:
		out.Err = refusal(r, a)
		if len(r.requests) > 1 {
			r.span.over(out)
			return r.requests
		}
	}
	return r.finished(out)
}

// narrowed is what to try when a commit is refused for its content: each request alone, then its first event alone, then that event as
// the failure of its instance. Nil: there is nothing left to try.
func (r *run) narrowed(why error) []Request {
	q := r.requests[0]
	refused := contentOf(why)
	switch {
	case refused == nil, r.cancels(), q.Drive.refused != nil:
		return nil
	case len(r.requests) > 1:
		return r.requests
	}
	d := *q.Drive
	if len(d.Events) > 1 && d.most == 0 {
		d.most = 1
	} else {
		d.refused = refused
	}
	q.Drive = &d
	return []Request{q}
}

// contentOf is the refusal of something that the database can never store, or nil.
func contentOf(err error) *fault.Fault {
	if !errors.Is(err, fault.StoreTooLarge) {
		return nil
	}
	return fault.Of(err)
}

func refusal(r *run, a ports.Answer) error {
	switch a.Outcome {
	case ports.AliasTaken:
		return fault.AliasTaken.With("a unique key is held by instance %s", a.Other)
	case ports.LockLost:
		return fault.TaskLockLost.With("the task's lock is another worker's by now")
	case ports.Stale:
		return fault.TermPassed.With("what came under a singleton's lease counts no more: %s", a.Detail)
	case ports.Gone:
		return fault.NoMatch.With("what the step takes is gone from instance %s", r.ref.ID).About(r.ref.ID.String())
	}
	return nil // Duplicate is no refusal
}

func stepReplies(s *ports.Step) map[ports.InboxRef][]byte {
	out := replies(nil, s.Rows)
	for i := range s.Consumed {
		for ref, document := range replies(&s.Consumed[i], ports.Rows{}) {
			if out == nil {
				out = map[ports.InboxRef][]byte{}
			}
			out[ref] = document
		}
	}
	return out
}

// finished ends the span of a step that was made, and answers.
func (r *run) finished(a Answer) (again []Request) {
	r.span.over(a)
	return r.answer(a)
}

// answer gives each request its part: the outcomes of its own events. A request of which nothing was tried, because an event before it
// failed or because a step can prove only one task's lock, is given back: alone it will be told how it stands.
func (r *run) answer(a Answer) (again []Request) {
	a.Instance = r.ref
	at := 0
	for _, q := range r.requests {
		mine := a
		if a.Events != nil {
			mine.Events = a.Events[at : at+len(q.Drive.Events)]
			at += len(q.Drive.Events)
			if len(r.requests) > 1 && !slices.ContainsFunc(mine.Events, func(o step.Outcome) bool { return o != step.NotTried }) {
				again = append(again, q)
				continue
			}
		}
		q.Done(mine)
	}
	return again
}
