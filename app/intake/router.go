package intake

import (
	"context"

	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/intake"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// found bounds how many instances one message is looked up for: a broadcast's bound.
const found = 1000

// Router finds where messages go and sends them there.
type Router struct{ d Deps }

// Routed is a message's way, or why it has none.
type Routed struct {
	Route   intake.Route
	Lookups []ports.Lookup // what it was found by
	Err     error
}

// Find routes a group with one question to the store. The error is trouble with the whole group.
func (r Router) Find(ctx context.Context, group []*intake.Message) ([]Routed, error) {
	out := make([]Routed, len(group))
	var ask []ports.Lookup
	spans := make([]int, len(group)+1)
	for i, m := range group {
		lookups, err := m.Lookups()
		out[i].Lookups, out[i].Err = lookups, err
		ask = append(ask, lookups...)
		spans[i+1] = len(ask)
	}
	var waiting [][]ports.Waiting
	if len(ask) > 0 {
		var err error
		if waiting, err = r.d.Correlation.Find(ctx, ask, found); err != nil {
			return nil, err
		}
	}
	for i, m := range group {
		if out[i].Err == nil {
			out[i].Route, out[i].Err = m.Decide(waiting[spans[i]:spans[i+1]])
		}
	}
	return out, nil
}

// Send hands one message to its lane. pending says that its inbox row is there already. done hears the answer. A message whose unique key
// is held goes to the holder where the model says so.
func (r Router) Send(ctx context.Context, m *intake.Message, to Routed, pending bool, done func(lane.Answer)) error {
	request, err := r.request(m, to, pending)
	if err != nil {
		return err
	}
	request.Done = func(a lane.Answer) {
		if start := to.Route.Start; a.Outcome != ports.AliasTaken || start == nil || !correlates(start.Program.Process, start.Node) {
			done(a)
			return
		}
		holder := intake.Relay{Ref: ports.Ref{Tenant: m.Inbox.Tenant, ID: a.Other}}
		request, err := r.request(m, Routed{Route: intake.Route{Relays: []intake.Relay{holder}}, Lookups: to.Lookups}, pending)
		if request.Done = done; err == nil {
			err = r.d.Lanes.Offer(ctx, request) // no lane waits for another
		}
		if err != nil {
			done(lane.Answer{Err: err})
		}
	}
	if pending {
		return r.d.Lanes.Submit(ctx, request)
	}
	return r.d.Lanes.Offer(ctx, request)
}

// Await is Send that waits for the answer.
func (r Router) Await(ctx context.Context, m *intake.Message, to Routed, pending bool) (lane.Answer, error) {
	answers := make(chan lane.Answer, 1)
	if err := r.Send(ctx, m, to, pending, func(a lane.Answer) { answers <- a }); err != nil {
		return lane.Answer{}, err
	}
	select {
	case a := <-answers:
		return a, a.Err
	case <-ctx.Done():
		return lane.Answer{}, ctx.Err()
	}
}

// correlates says that a start with a taken key is a message for the holder (q:alias onConflict="correlate").
func correlates(p *bpmn.Process, start *bpmn.Node) bool {
	for _, aliases := range [][]bpmn.Alias{p.Aliases, start.Aliases} {
		for _, a := range aliases {
			if a.Unique && a.Correlate {
				return true
			}
		}
	}
	return false
}

func (r Router) request(m *intake.Message, to Routed, pending bool) (lane.Request, error) {
	route := to.Route
	consumed := &ports.Consumed{InboxRef: m.Inbox, EventID: m.EventID, Kind: ports.KindMessage, Pending: pending}
	if route.Start != nil {
		if served := r.d.Served.Current().Revision(m.Rev.ID); served == nil || !served.Active() {
			return lane.Request{}, fault.NotActive.With("deployment %s takes no new instances", m.Rev.ID)
		}
		event := m.StartEvent(route.Start.Node.ID)
		event.Consumed = consumed
		return lane.Request{Start: &lane.Start{Program: route.Start.Program, Most: m.Channel.MaxInstances, Begin: step.Begin{
			Ref:     ports.Ref{Tenant: m.Inbox.Tenant, ID: r.d.IDs.New()},
			Channel: m.Channel.Name,
			Leases:  m.Leases,
			Event:   event,
		}}}, nil
	}
	event := m.Event(route.Relays[0].Wait, to.Lookups)
	event.Consumed = consumed
	return lane.Request{Drive: &lane.Drive{Ref: route.Relays[0].Ref, Events: []step.Event{event}, Leases: m.Leases}}, nil
}
