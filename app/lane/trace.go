package lane

import (
	"context"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// span is the span of one step: it begins when the step is made, and ends with what became of it.
type span struct {
	trace ports.Trace // empty: nobody traces
	end   func(ports.Ending)
	said  ports.Ending
}

// span opens the span of a step. What brought its first event about is its parent. What brought the others about is linked, and so will
// be the instance's last step: they are of other traces, and may be long ago.
func (l *lane) span(ctx context.Context, name string, events ...step.Event) *span {
	s := &span{}
	var parent ports.Trace
	for _, e := range events {
		switch {
		case e.Trace == "", e.Trace == parent:
		case parent == "":
			parent = e.Trace
		default:
			s.said.Links = append(s.said.Links, e.Trace)
		}
	}
	ctx, s.end = l.Watch.Span(ctx, ports.Span{Name: name, Parent: parent})
	s.trace = l.Watch.Trace(ctx)
	return s
}

// made notes what the step is.
func (s *span) made(p *step.Program, c ports.Claim, r step.Result) {
	if !s.trace.Sampled() {
		return
	}
	if r.Before != "" {
		s.said.Links = append(s.said.Links, r.Before)
	}
	s.said.Attributes = []any{
		"sutra.tenant", c.Tenant, "sutra.process", p.Process.ID, "sutra.instance.id", c.ID.String(),
		"sutra.deployment.id", string(p.Deployment), "sutra.claim.epoch", c.Epoch,
		"sutra.step.activations", r.Activations,
	}
}

// over ends the span. A step that made its instance FAILED is an error, however well it was committed.
func (s *span) over(a Answer) {
	s.said.Err = a.Err
	if a.Fault != nil && a.Err == nil {
		s.said.Err = fault.Code(a.Fault.Code)
	}
	if s.trace.Sampled() {
		s.said.Attributes = append(s.said.Attributes, "sutra.step.outcome", string(a.Outcome), "sutra.instance.status", string(a.Status))
	}
	s.end(s.said)
}

// done ends the span and answers.
func (s *span) done(r Request, a Answer) {
	s.over(a)
	r.Done(a)
}

// write makes a group of steps durable. Its span is in the trace of the first of them that is recorded, and linked to the others.
func (l *lane) write(ctx context.Context, kind string, of []*span, write func(context.Context) []ports.Answer) []ports.Answer {
	var recorded []ports.Trace
	for _, s := range of {
		if s.trace.Sampled() {
			recorded = append(recorded, s.trace)
		}
	}
	if len(recorded) > 0 {
		var end func(ports.Ending)
		ctx, end = l.Watch.Span(ctx, ports.Span{Name: "commit", Parent: recorded[0]})
		defer func() {
			end(ports.Ending{Links: recorded[1:], Attributes: []any{"sutra.commit.steps", len(of)}})
		}()
	}
	began := l.Clock.Now()
	answers := write(ctx)
	l.Watch.Observe("sutra_commit_seconds", l.Clock.Now().Sub(began), "kind", kind)
	return answers
}
