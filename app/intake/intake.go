// Package intake takes messages from transports and brings each to the one instance that it starts or wakes. It speaks no transport
// and no SQL.
package intake

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/app/batch"
	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/intake"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// attempts bounds how often one message is routed anew, because what it was routed by had changed.
const attempts = 8

// What comes at the same time is looked up, and made durable, together: so much of one tenant in so many transactions at once.
const (
	together = 64
	abreast  = 2
)

// Deps are what an intake works with.
type Deps struct {
	Served       *converge.Loop
	Lanes        *lane.Pool
	Inbox        ports.Inbox
	Correlation  ports.Correlation
	Clock        ports.Clock
	IDs          ports.IDs
	Secrets      ports.Secrets
	Watch        ports.Watch
	Log          *slog.Logger
	ReplyTimeout time.Duration
	MaxPayload   int64
	// Reserve says whether this replica will drive a message once it is durable. settled has to be told whether it is. Neither blocks.
	Reserve func(ports.Message) (here bool, settled func(durable bool))
	// Recovery is how long a message that this replica drives is left alone by others.
	Recovery time.Duration
}

// Intake is the ports.Intake of a replica.
type Intake struct {
	Deps
	Router  Router
	Held    *Held
	finds   batch.Batches[*intake.Message, Routed]
	accepts batch.Batches[ports.Message, ports.Answer]
}

// New makes an intake.
func New(d Deps) *Intake {
	router := Router{d}
	accept := func(ctx context.Context, rows []ports.Message) ([]ports.Answer, error) {
		return d.Inbox.Accept(ctx, rows), nil
	}
	return &Intake{
		Deps: d, Router: router, Held: &Held{inbox: d.Inbox, log: d.Log, waiting: map[ports.InboxRef][]chan ports.Taken{}},
		finds:   batch.Batches[*intake.Message, Routed]{Do: router.Find, Most: together, Width: abreast},
		accepts: batch.Batches[ports.Message, ports.Answer]{Do: accept, Most: together, Width: abreast},
	}
}

// Enter finds a door and what its transport has to check.
func (i *Intake) Enter(ctx context.Context, address string) (ports.Entrance, error) {
	door, ok := i.Served.Current().Door(address)
	if !ok {
		set, err := i.Served.Ask(ctx)
		if err != nil {
			return ports.Entrance{}, err
		}
		if door, ok = set.Door(address); !ok {
			return ports.Entrance{}, fault.ChannelUnknown.With("no channel is bound to %s", strings.TrimPrefix(address, "http "))
		}
	}
	e := ports.Entrance{Tenant: door.Served.Slot.Tenant, Channel: door.Channel.Name, Limit: door.Channel.PayloadCap}
	if e.Limit == 0 || e.Limit > i.MaxPayload {
		e.Limit = i.MaxPayload
	}
	a := door.Channel.Auth
	e.Auth = ports.Auth{Scheme: a.Scheme, Header: a.Header, Audience: a.Audience, Claims: a.Claims}
	if a.Key != "" {
		key, err := i.Secrets.Resolve(a.Key)
		if err != nil {
			return e, err
		}
		e.Auth.Key = key
	}
	return e, nil
}

// Take reads one message under the revision that is active now and answers as its channel says. Where the fleet moved on meanwhile, it
// is read and routed again under the new one.
func (i *Intake) Take(ctx context.Context, in ports.Incoming) (ports.Receipt, error) {
	return i.again(ctx, func() (ports.Receipt, error) {
		door, ok := i.Served.Current().Channel(in.Tenant, in.Channel)
		if !ok {
			return ports.Receipt{}, fault.ChannelUnknown.With("tenant %s has no channel %q", in.Tenant, in.Channel)
		}
		m, err := intake.Read(door.Served.Revision, door.Channel, in, i.IDs.New())
		if err != nil {
			return ports.Receipt{}, err
		}
		m.Trace = i.Watch.Trace(ctx)
		return i.take(ctx, &m)
	})
}

// again repeats what failed because this replica had not heard of a deploy yet, after asking.
func (i *Intake) again(ctx context.Context, take func() (ports.Receipt, error)) (ports.Receipt, error) {
	for try := 1; ; try++ {
		receipt, err := take()
		if !errors.Is(err, fault.NotActive) || try == attempts {
			return receipt, err
		}
		if _, err := i.Served.Ask(ctx); err != nil {
			return receipt, err
		}
	}
}

func (i *Intake) take(ctx context.Context, m *intake.Message) (ports.Receipt, error) {
	if m.Channel.AckMode == channel.OnPersist || m.Channel.Broadcast {
		return i.persist(ctx, m, m.Channel.TTL)
	}
	return i.complete(ctx, m)
}

// persist makes the message durable, acknowledges, and leaves the rest to whoever drives it.
func (i *Intake) persist(ctx context.Context, m *intake.Message, ttl time.Duration) (ports.Receipt, error) {
	payload, err := m.Payload()
	if err != nil {
		return ports.Receipt{}, fault.BodyUndecodable.With("the payload cannot be kept: %w", err)
	}
	now := i.Clock.Now()
	row := ports.Message{
		InboxRef: m.Inbox, EventID: m.EventID, Kind: ports.KindMessage, Deployment: m.Rev.ID, Name: deploy.WaitName(m.Name),
		Correlation: m.Match, Payload: payload, Accepted: now, Leases: m.Leases, Stream: m.Stream, Position: m.Position,
	}
	if ttl > 0 {
		row.Expires = now.Add(ttl)
	}
	return i.accept(ctx, row)
}

// accept makes a message durable: due at once, unless this replica drives it.
func (i *Intake) accept(ctx context.Context, row ports.Message) (ports.Receipt, error) {
	receipt := ports.Receipt{Tenant: row.Tenant}
	here, settled := i.Reserve(row)
	if row.NextAttempt = row.Accepted; here {
		row.NextAttempt = row.Accepted.Add(i.Recovery)
	}
	answer, err := i.accepts.Ask(ctx, row.Tenant, row)
	settled(err == nil && answer.Outcome == ports.Done)
	if err != nil {
		return receipt, err
	}
	switch answer.Outcome {
	case ports.Done:
		receipt.Durable = true
		return receipt, nil
	case ports.Duplicate:
		receipt.Durable, receipt.Duplicate, receipt.Instance = true, true, answer.Other
		return receipt, nil
	case ports.Stale:
		return receipt, fault.TermPassed.With("what came under a singleton's lease counts no more: %s", answer.Detail)
	}
	return receipt, answer.Err
}

// complete routes the message and waits for its answer, up to the reply timeout.
func (i *Intake) complete(ctx context.Context, m *intake.Message) (ports.Receipt, error) {
	heard := i.Held.Add(m.Inbox)
	defer i.Held.Remove(m.Inbox, heard)
	deadline := time.NewTimer(i.ReplyTimeout)
	defer deadline.Stop()

	answer, err := i.settle(ctx, m)
	if len(m.Violations) > 0 && errors.Is(err, fault.NoMatch) {
		err = m.Refusal() // what would take it takes no payload like this
	}
	receipt := ports.Receipt{Tenant: m.Inbox.Tenant, Instance: answer.Instance.ID}
	switch {
	case errors.Is(err, fault.NoMatch), errors.Is(err, fault.SchemaViolated), errors.Is(err, fault.InstanceEnded), errors.Is(err, fault.InstanceFailed), limit.Refused(err):
		return i.unmatched(ctx, m.Inbox, err)
	case err != nil:
		return receipt, err
	case answer.Outcome == ports.Duplicate:
		return i.duplicate(ctx, m.Inbox, answer.Other)
	}
	receipt.Durable = true
	if answer.Status == ports.Failed {
		return receipt, Failure(answer.Instance.ID, answer.Fault)
	}
	if document := answer.Replies[m.Inbox]; document != nil {
		return replied(receipt, document)
	}
	select {
	case taken, ok := <-heard:
		switch {
		case !ok: // shutting down: the message is durable, its answer will be kept
			return receipt, nil
		case taken.Reply != nil:
			return replied(receipt, taken.Reply)
		case taken.Status == ports.Failed:
			return receipt, Failure(taken.Instance, taken.Fault)
		}
		return receipt, nil
	case <-deadline.C:
		return receipt, nil
	case <-ctx.Done():
		return receipt, ctx.Err()
	}
}

// settle routes until the message found its instance. Each round begins with a fresh look, because the wait that the last one found
// was taken by another message meanwhile.
func (i *Intake) settle(ctx context.Context, m *intake.Message) (lane.Answer, error) {
	for try := 1; ; try++ {
		routed, err := i.finds.Ask(ctx, m.Inbox.Tenant, m)
		if err := cmp.Or(err, routed.Err); err != nil {
			return lane.Answer{}, err
		}
		answer, err := i.Router.Await(ctx, m, routed, false)
		if err == nil && len(answer.Events) > 0 && answer.Events[0] == step.Unmatched {
			if try < attempts {
				continue
			}
			return answer, fault.ClaimHeld.With("instance %s takes other messages of this kind faster than this one; send it again", answer.Instance.ID).
				About(answer.Instance.ID.String())
		}
		return answer, err
	}
}

// unmatched answers a message that nobody waits for any more, or that would start one too many: it may be the very one that was taken
// before, whose sender did not hear the answer, or sent it twice at once.
func (i *Intake) unmatched(ctx context.Context, ref ports.InboxRef, refused error) (ports.Receipt, error) {
	receipt, err := i.duplicate(ctx, ref, ports.InstanceID{})
	if err == nil && receipt.Instance.IsZero() {
		return ports.Receipt{Tenant: ref.Tenant}, refused
	}
	return receipt, err
}

// duplicate answers as the first message was answered.
func (i *Intake) duplicate(ctx context.Context, ref ports.InboxRef, other ports.InstanceID) (ports.Receipt, error) {
	receipt := ports.Receipt{Tenant: ref.Tenant, Instance: other, Duplicate: true}
	taken, err := i.Inbox.Replies(ctx, []ports.InboxRef{ref})
	if err != nil || len(taken) == 0 {
		return receipt, err
	}
	receipt.Durable, receipt.Instance = true, taken[0].Instance
	switch {
	case taken[0].Reply != nil:
		return replied(receipt, taken[0].Reply)
	case taken[0].Status == ports.Failed:
		return receipt, Failure(taken[0].Instance, taken[0].Fault)
	}
	return receipt, nil
}

func replied(receipt ports.Receipt, document []byte) (ports.Receipt, error) {
	answer, err := step.DecodeReply(document)
	if err != nil {
		return receipt, err
	}
	receipt.Answer = &answer
	return receipt, nil
}

// Failure is the fault that a sender is told when its message made an instance FAILED.
func Failure(id ports.InstanceID, f *ports.Fault) error {
	out := &fault.Fault{Code: fault.StartFailed, Instance: id.String(), Detail: "the instance is FAILED and waits for an operator"}
	if f != nil {
		out.Code, out.Detail, out.Element = fault.Code(f.Code), f.Detail, f.Node
	}
	return out
}
