// Package operator is what people do to instances: look, cancel, bring back. Every change goes through a claim of its own, which never
// re-enters past a step in flight.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Programs finds the process of an instance; nil: it is not served here.
type Programs interface {
	Program(ctx context.Context, id ports.DeploymentID, process string) *step.Program
}

// Deps are what an operator works with.
type Deps struct {
	Instances ports.Instances
	Views     ports.Views
	Outbox    ports.Outbox
	Tasks     ports.Tasks
	Arrivals  ports.Inbox
	Keys      ports.Correlation
	Guard     claim.Guard
	Programs  Programs
	Served    *converge.Loop
	Clock     ports.Clock
	IDs       ports.IDs
	Watch     ports.Watch
	Log       *slog.Logger
	Replica   string
	Inbox     func() // hears that deliveries were written
	Waits     func(tenant string, deployment ports.DeploymentID, waits []ports.Wait)
	Sending   func() // hears that an emission is due
	Parked    func() // hears that a task can be fetched
}

// Operator is the ports.Operator of a replica.
type Operator struct{ Deps }

// Cancel ends an instance, suspended or FAILED, without compensation.
func (o Operator) Cancel(ctx context.Context, by ports.Actor, id ports.InstanceID) error {
	return o.change(ctx, by, id, deed{action: "cancel"}, func(p *step.Program, c step.Claimed) step.Result {
		return step.Resume(p, c, []step.Event{{Kind: step.KindCancel, At: c.At}})
	})
}

// Resume brings a FAILED instance back, with the event it failed at, or without it.
func (o Operator) Resume(ctx context.Context, by ports.Actor, id ports.InstanceID, drop bool) error {
	kept := step.ReplayEvent
	if drop {
		kept = step.DropEvent
	}
	return o.change(ctx, by, id, deed{action: "resume", detail: map[string]any{"event": kept}}, func(p *step.Program, c step.Claimed) step.Result {
		return restored(p, c, kept)
	})
}

func restored(p *step.Program, c step.Claimed, kept step.KeptEvent) step.Result {
	if c.Row.Status != ports.Failed {
		return step.Result{Err: fault.NotFailed.With("instance %s is %s; only a FAILED instance is resumed", c.Row.ID, c.Row.Status)}
	}
	return step.Restore(p, c, kept)
}

// Correct writes variables of the process. The audit tells their names, the journal what it may tell of their values.
func (o Operator) Correct(ctx context.Context, by ports.Actor, id ports.InstanceID, variables []byte) error {
	v, err := feel.FromJSON(variables)
	values, ok := v.(feel.Context)
	if err != nil || !ok || len(values) == 0 {
		return fault.RequestInvalid.With("variables have to be a JSON object with at least one of them")
	}
	names := slices.Sorted(maps.Keys(values))
	return o.change(ctx, by, id, deed{action: "correct", detail: map[string]any{"variables": names}}, func(p *step.Program, c step.Claimed) step.Result {
		return step.Correct(p, c, values)
	})
}

// RetryNow makes the next attempt of calls that pause now, or of the one of a wait. A FAILED instance does again what it failed at.
func (o Operator) RetryNow(ctx context.Context, by ports.Actor, id ports.InstanceID, wait ports.WaitID) error {
	return o.change(ctx, by, id, deed{action: "retry", detail: map[string]any{"wait": wait}}, func(p *step.Program, c step.Claimed) step.Result {
		if c.Row.Status == ports.Failed && wait == 0 {
			return restored(p, c, step.ReplayEvent)
		}
		events, err := step.Retries(c, wait)
		if err == nil && len(events) == 0 {
			err = fault.NothingToRetry.With("no call of instance %s pauses before another attempt%s", id, ofWait(wait))
		}
		if err != nil {
			return step.Result{Err: err}
		}
		return step.Resume(p, c, events)
	})
}

func ofWait(wait ports.WaitID) string {
	if wait == 0 {
		return ""
	}
	return fmt.Sprintf(" at wait %d", wait)
}

// Redrive makes a poisoned emission due again, under the id it always had.
func (o Operator) Redrive(ctx context.Context, by ports.Actor, tenant string, id ports.EmissionID) error {
	answer, err := o.Outbox.Redrive(ctx, tenant, id, o.audit(tenant, by, deed{action: "redrive", subject: id.String()}))
	switch {
	case err != nil:
		return err
	case answer.Outcome == ports.Done:
		o.Sending()
		return nil
	case answer.Outcome == ports.Stale:
		return fault.ArchiveDropped.With("emission %s belongs to a revision whose archive is dropped; it cannot be sent any more", id)
	}
	return fault.EmissionUnknown.With("tenant %s has no poisoned emission %s", tenant, id)
}

// Retry gives an exhausted task new attempts.
func (o Operator) Retry(ctx context.Context, by ports.Actor, id ports.TaskID, retries int) error {
	tenant, err := o.Tasks.Locate(ctx, by.Tenants, id)
	if err != nil {
		return err
	}
	answer := ports.Answer{Outcome: ports.Gone}
	if tenant != "" {
		audit := o.audit(tenant, by, deed{action: "retry-task", subject: id.String(), detail: map[string]any{"retries": retries}})
		if answer, err = o.Tasks.Retry(ctx, ports.TaskLock{Tenant: tenant, ID: id}, retries, audit); err != nil {
			return err
		}
	}
	switch answer.Outcome {
	case ports.Done:
		o.Parked()
		return nil
	case ports.Stale:
		return fault.ArchiveDropped.With("task %s belongs to a revision whose archive is dropped", id)
	}
	return fault.TaskUnknown.With("there is no exhausted task %s", id)
}

// deed is what an operator does, for the audit.
type deed struct {
	action  string
	subject string
	detail  any
}

func (o Operator) audit(tenant string, by ports.Actor, d deed) ports.Audit {
	a := ports.Audit{ID: o.IDs.New(), Tenant: tenant, Actor: by.Name, Action: d.action, Subject: d.subject}
	if d.detail != nil {
		a.Detail, _ = json.Marshal(d.detail) // plain records of texts and numbers
	}
	return a
}

// change makes one step of an instance under a claim of its own, and notes it.
func (o Operator) change(ctx context.Context, by ports.Actor, id ports.InstanceID, d deed, rewrite func(*step.Program, step.Claimed) step.Result) error {
	ref, err := o.locate(ctx, by.Tenants, id)
	if err != nil {
		return err
	}
	var failed error
	err = o.Guard.With(ctx, o.owner(), []ports.Ref{ref}, func(held []*claim.Held) {
		if failed = standing(held[0]); failed == nil {
			failed = o.rewrite(ctx, held[0], o.audit(ref.Tenant, by, d), rewrite)
		}
	})
	return errors.Join(err, failed)
}

// owner is a new owner: an operator's request never re-enters past a step in flight, not even another operator's.
func (o Operator) owner() ports.Owner {
	return ports.Owner(o.Replica + "/operator/" + o.IDs.New().String())
}

// standing says why a claimed instance cannot be worked on.
func standing(h *claim.Held) error {
	switch {
	case h.Outcome == ports.Held:
		return busy(h.ID)
	case h.Outcome != ports.Done:
		return unknown(h.ID)
	}
	return alive(&h.Instance)
}

func alive(i *ports.Instance) error {
	if i.Status.Ended() {
		return fault.InstanceEnded.With("instance %s has ended", i.ID).About(i.ID.String())
	}
	return nil
}

func (o Operator) program(ctx context.Context, i *ports.Instance) (*step.Program, error) {
	program := o.Programs.Program(ctx, i.Deployment, i.Process)
	if program == nil {
		return nil, fault.NotReady.With("this replica cannot serve deployment %s of instance %s", i.Deployment, i.ID).About(i.ID.String())
	}
	return program, nil
}

func (o Operator) rewrite(ctx context.Context, h *claim.Held, by ports.Audit, rewrite func(*step.Program, step.Claimed) step.Result) error {
	program, err := o.program(ctx, &h.Instance)
	if err != nil {
		return err
	}
	res := rewrite(program, step.Claimed{Claim: h.Claim(), Row: h.Instance, Step: o.IDs.New(), At: o.Clock.Now(), Trace: o.Watch.Trace(ctx)})
	switch {
	case res.Err != nil:
		return res.Err
	case res.Failure != nil:
		return res.Failure
	case res.Commit == nil:
		return nil
	}
	answer := o.commit(ctx, h, res.Commit, by)
	switch answer.Outcome {
	case ports.Done:
		return nil
	case ports.ClaimLost:
		return lost(h.ID)
	case ports.Unsettled:
		return answer.Err
	}
	return fault.ClaimLost.With("instance %s has changed meanwhile (%s); nothing was written", h.ID, answer.Outcome).About(h.ID.String())
}

// commit writes a step, and lets those hear of it who go on from there.
func (o Operator) commit(ctx context.Context, h *claim.Held, st *ports.Step, by ports.Audit) ports.Answer {
	by.Instance, st.Audit = h.ID, &by
	answer := o.Instances.Commit(ctx, []ports.Step{*st})[0]
	if answer.Outcome == ports.Done || answer.Outcome == ports.ClaimLost {
		h.Given()
	}
	if answer.Outcome != ports.Done {
		return answer
	}
	deployment := st.Deployment
	if st.Move != nil {
		deployment = st.Move.To
	}
	o.Inbox()
	if len(st.Tasks) > 0 || st.Move != nil && len(st.Move.Topics) > 0 {
		o.Parked()
	}
	if len(st.Outbox) > 0 {
		o.Sending()
	}
	if waits := st.Waits; len(waits) > 0 {
		o.Waits(st.Tenant, deployment, waits)
	}
	return answer
}

func busy(id ports.InstanceID) error {
	return fault.AdminClaimHeld.With("instance %s is being advanced; send it again", id).About(id.String())
}

func lost(id ports.InstanceID) error {
	return fault.ClaimLost.With("the claim of instance %s went to another; nothing was written", id).About(id.String())
}

func (o Operator) locate(ctx context.Context, tenants []string, id ports.InstanceID) (ports.Ref, error) {
	ref, err := o.Views.Locate(ctx, tenants, id)
	if err == nil && ref.ID.IsZero() {
		err = unknown(id)
	}
	return ref, err
}

func unknown(id ports.InstanceID) error {
	return fault.InstanceGone.With("there is no instance %s", id)
}
