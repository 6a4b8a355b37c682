package intake

import (
	"context"
	"errors"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/core/intake"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Start starts a process by its id, at its none start event.
func (i *Intake) Start(ctx context.Context, tenant, module, process string, in ports.Incoming) (ports.Receipt, error) {
	return i.again(ctx, func() (ports.Receipt, error) {
		served, err := i.having(ctx, tenant, module, func(s *converge.Served) bool { return s.Programs[process] != nil })
		if err != nil {
			return ports.Receipt{}, err
		}
		if served == nil {
			return ports.Receipt{}, fault.NoProcess.With("tenant %s has no active process %q", tenant, process)
		}
		m, err := intake.Named(served.Revision, process, "", in, i.IDs.New())
		if err != nil {
			return ports.Receipt{}, err
		}
		ref := ports.InboxRef{Tenant: tenant, Channel: "start:" + process, Event: ports.NewKey(tenant, "start:"+process, string(m.EventID))}
		answers := make(chan lane.Answer, 1)
		request := lane.Request{
			Start: &lane.Start{Program: served.Programs[process], Begin: step.Begin{
				Ref: ports.Ref{Tenant: tenant, ID: i.IDs.New()},
				Event: step.Event{
					Kind: step.KindStart, Payload: m.Value, Headers: m.Headers, Trace: i.Watch.Trace(ctx),
					Consumed: &ports.Consumed{InboxRef: ref, EventID: m.EventID, Kind: ports.KindStart},
				},
			}},
			Done: func(a lane.Answer) { answers <- a },
		}
		if err := i.Lanes.Offer(ctx, request); err != nil {
			return ports.Receipt{}, err
		}
		select {
		case a := <-answers:
			switch {
			case a.Outcome == ports.Duplicate:
				return i.duplicate(ctx, ref, a.Other)
			case limit.Refused(a.Err):
				return i.unmatched(ctx, ref, a.Err)
			case a.Err == nil && a.Status == ports.Failed:
				return ports.Receipt{Tenant: tenant, Instance: a.Instance.ID, Durable: true}, Failure(a.Instance.ID, a.Fault)
			}
			return ports.Receipt{Tenant: tenant, Instance: a.Instance.ID}, a.Err
		case <-ctx.Done():
			return ports.Receipt{}, ctx.Err()
		}
	})
}

// Publish routes a message by its BPMN name and key. With a ttl it is kept until a wait for it begins.
func (i *Intake) Publish(ctx context.Context, tenant, name, key string, ttl time.Duration, in ports.Incoming) (ports.Receipt, error) {
	return i.again(ctx, func() (ports.Receipt, error) {
		served, err := i.having(ctx, tenant, "", func(s *converge.Served) bool { return s.Knows(name) })
		if err != nil {
			return ports.Receipt{}, err
		}
		if served == nil {
			return ports.Receipt{}, fault.NoMatch.With("no active process of tenant %s knows message %q", tenant, name)
		}
		m, err := intake.Named(served.Revision, name, key, in, i.IDs.New())
		if err != nil {
			return ports.Receipt{}, err
		}
		m.Trace = i.Watch.Trace(ctx)
		if ttl > 0 {
			return i.persist(ctx, &m, ttl)
		}
		answer, err := i.settle(ctx, &m)
		receipt := ports.Receipt{Tenant: tenant, Instance: answer.Instance.ID}
		if errors.Is(err, fault.NoMatch) || limit.Refused(err) {
			return i.unmatched(ctx, m.Inbox, err)
		}
		if err == nil && answer.Outcome == ports.Duplicate {
			return i.duplicate(ctx, m.Inbox, answer.Other)
		}
		if err == nil && answer.Status == ports.Failed {
			return receipt, Failure(answer.Instance.ID, answer.Fault)
		}
		return receipt, err
	})
}

// Broadcast makes a signal durable; a worker brings it to every wait that was armed before.
func (i *Intake) Broadcast(ctx context.Context, tenant, name string, in ports.Incoming) (ports.Receipt, error) {
	m, err := intake.Named(nil, name, "", in, i.IDs.New())
	if err != nil {
		return ports.Receipt{}, err
	}
	m.Trace = i.Watch.Trace(ctx)
	payload, err := m.Payload()
	if err != nil {
		return ports.Receipt{}, fault.BodyUndecodable.With("the payload cannot be kept: %w", err)
	}
	channel := "signal:" + name
	return i.accept(ctx, ports.Message{
		InboxRef: ports.InboxRef{Tenant: tenant, Channel: channel, Event: ports.NewKey(tenant, channel, string(m.EventID))},
		EventID:  m.EventID, Kind: ports.KindSignal, Name: ports.NewKey("signal", name), Payload: payload,
		Accepted: i.Clock.Now(),
	})
}

// having finds a tenant's active revision that has something, asking the fleet once before it says there is none.
func (i *Intake) having(ctx context.Context, tenant, module string, has func(*converge.Served) bool) (*converge.Served, error) {
	find := func(set *converge.Set) *converge.Served {
		for _, s := range set.Active(tenant, module) {
			if has(s) {
				return s
			}
		}
		return nil
	}
	if s := find(i.Served.Current()); s != nil {
		return s, nil
	}
	set, err := i.Served.Ask(ctx)
	if err != nil {
		return nil, err
	}
	return find(set), nil
}
