package lane

import (
	"context"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// begin makes the first step of each new instance and writes them together. A start that the database refuses for its content is
// made again as a FAILED instance, which keeps the event.
func (l *lane) begin(ctx context.Context, requests []Request) {
	if len(requests) == 0 {
		return
	}
	var group []ports.NewInstance
	var of []Request
	var spans []*span
	for _, r := range requests {
		b := r.Start.Begin
		b.Event.At = l.now()
		b.Step = l.IDs.New()
		s := l.span(ctx, "start", b.Event)
		b.Trace = s.trace
		res := l.contained(ctx, b.Ref, func() step.Result { return step.New(r.Start.Program, b) })
		s.made(r.Start.Program, ports.Claim{Ref: b.Ref}, res)
		switch {
		case res.Err != nil:
			s.done(r, Answer{Instance: b.Ref, Err: res.Err})
		case res.Start == nil:
			s.done(r, Answer{Instance: b.Ref, Err: res.Failure})
		default:
			group, of, spans = append(group, *res.Start), append(of, r), append(spans, s)
		}
	}
	if len(group) == 0 {
		return
	}
	var again []Request
	answers := l.write(ctx, "start", spans, func(ctx context.Context) []ports.Answer { return l.Instances.Start(ctx, group) })
	for i, answer := range answers {
		if refused := contentOf(answer.Err); refused != nil && of[i].Start.Begin.Refused == nil {
			s := *of[i].Start
			s.Begin.Refused = refused
			of[i].Start = &s
			again = append(again, of[i])
			spans[i].over(Answer{Err: refused})
			continue
		}
		spans[i].done(of[i], l.started(&group[i], answer, spans[i].trace))
	}
	l.begin(ctx, again)
}

func (l *lane) started(n *ports.NewInstance, a ports.Answer, trace ports.Trace) Answer {
	out := Answer{Outcome: a.Outcome, Instance: n.Ref, Other: a.Other, Err: a.Err}
	switch a.Outcome {
	case ports.Done:
		out.Status, out.Fault = n.Status, n.Fault
		out.Replies = replies(n.Consumed, n.Rows)
		l.failed(n.Ref, n.Fault, trace)
		l.wake(n.Tenant, n.Deployment, &n.Rows, out.Replies)
		l.Watch.Count("sutra_instances_started_total", 1, "process", n.Process)
	case ports.AliasTaken:
		out.Err = fault.AliasTaken.With("a unique key of this message is held by instance %s", a.Other)
	case ports.NotActive:
		out.Err = fault.NotActive.With("deployment %s takes no new instances", n.Deployment)
	case ports.Stale:
		if len(n.Leases) > 0 {
			out.Err = fault.TermPassed.With("what came under a singleton's lease counts no more: %s", a.Detail)
		}
	}
	return out
}

// replies are the answers of one step, by the message they answer.
func replies(consumed *ports.Consumed, rows ports.Rows) map[ports.InboxRef][]byte {
	var out map[ports.InboxRef][]byte
	put := func(ref ports.InboxRef, document []byte) {
		if out == nil {
			out = map[ports.InboxRef][]byte{}
		}
		out[ref] = document
	}
	if consumed != nil && consumed.Reply != nil {
		put(consumed.InboxRef, consumed.Reply)
	}
	for _, r := range rows.Replies {
		put(r.InboxRef, r.Document)
	}
	return out
}

// wake tells who has to hear of a commit.
func (l *lane) wake(tenant string, deployment ports.DeploymentID, rows *ports.Rows, replies map[ports.InboxRef][]byte) {
	if len(rows.Outbox) > 0 {
		l.Wake.Outbox()
	}
	if len(rows.Deliveries) > 0 {
		l.Wake.Inbox()
	}
	if len(rows.Tasks) > 0 {
		l.Wake.Tasks()
	}
	for ref, document := range replies {
		l.Wake.Replied(ref, document)
	}
	if len(rows.Waits) > 0 {
		l.Wake.Waits(tenant, deployment, rows.Waits)
	}
}
