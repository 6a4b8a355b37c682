package operator

import (
	"context"
	"errors"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/core/migrate"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Migrate moves one instance to another revision, or says all that stands against it.
func (o Operator) Migrate(ctx context.Context, by ports.Actor, id ports.InstanceID, m ports.Migration) ports.MigrationResult {
	out := ports.MigrationResult{Instance: id}
	ref, err := o.locate(ctx, by.Tenants, id)
	switch {
	case err != nil:
	case m.DryRun:
		err = o.tryMove(ctx, ref, m, &out)
	default:
		var failed error
		err = o.Guard.With(ctx, o.owner(), []ports.Ref{ref}, func(held []*claim.Held) {
			if failed = standing(held[0]); failed == nil {
				failed = o.move(ctx, held[0], by, m, &out)
			}
		})
		err = errors.Join(err, failed)
	}
	out.Outcome, out.Err = outcomeOf(err, m.DryRun), err
	return out
}

// MigrateBatch moves instances one by one. When ctx ends, the cursor says how far it came.
func (o Operator) MigrateBatch(ctx context.Context, by ports.Actor, b ports.MigrationBatch) ([]ports.MigrationResult, ports.InstanceID, error) {
	ids, next := b.Instances, ports.InstanceID{}
	if ids == nil {
		page, err := o.Views.List(ctx, b.Filter)
		if err != nil {
			return nil, next, err
		}
		for _, row := range page.Instances {
			ids = append(ids, row.ID)
		}
		next = page.Next
	}
	var out []ports.MigrationResult
	for _, id := range ids {
		if ctx.Err() != nil {
			return out, next, ctx.Err()
		}
		out = append(out, o.Migrate(ctx, by, id, b.Migration))
	}
	return out, next, nil
}

// outcomeOf is what an error comes to. What passes by itself bounces.
func outcomeOf(err error, dry bool) ports.MigrationOutcome {
	switch f := fault.Of(err); {
	case err == nil && dry:
		return ports.MigrationValid
	case err == nil:
		return ports.Migrated
	case f.Code == fault.InstanceGone:
		return ports.NotFound
	case f.Code == fault.AdminClaimHeld, f.Code == fault.ClaimLost, f.Code == fault.MigrateStarting, f.Code == fault.MigrateEnding:
		return ports.Bounced
	case f.Code.Disposition() == fault.Reject:
		return ports.Refused
	}
	return ports.MigrationError
}

// tryMove checks an instance as it stands, without claiming it.
func (o Operator) tryMove(ctx context.Context, ref ports.Ref, m ports.Migration, out *ports.MigrationResult) error {
	rows, err := o.Instances.Load(ctx, []ports.Ref{ref})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return unknown(ref.ID)
	}
	row := &rows[0]
	if row.Owner != "" && row.ClaimedAt.After(o.Clock.Now().Add(-o.Guard.Silent)) {
		return busy(ref.ID)
	}
	if err := alive(row); err != nil {
		return err
	}
	_, err = o.plan(ctx, ports.Claim{Ref: ref}, row, m, out)
	return err
}

// move makes the step that moves a claimed instance, and commits it.
func (o Operator) move(ctx context.Context, h *claim.Held, by ports.Actor, m ports.Migration, out *ports.MigrationResult) error {
	st, err := o.plan(ctx, h.Claim(), &h.Instance, m, out)
	if err != nil || st == nil {
		return err
	}
	detail := map[string]any{"from": out.From, "resume": m.Resume}
	if len(out.Notes) > 0 {
		detail["notes"] = out.Notes
	}
	done := deed{action: "migrate", subject: string(out.To), detail: detail}
	answer := o.commit(ctx, h, st, o.audit(h.Tenant, by, done))
	switch answer.Outcome {
	case ports.Done:
		return nil
	case ports.ClaimLost:
		return lost(h.ID)
	case ports.NotActive:
		return inactive(string(out.To))
	case ports.AliasTaken:
		return fault.MigrateAlias.With("a unique key of instance %s is held by instance %s", h.ID, answer.Other)
	case ports.LockLost:
		return fault.MigrateLocked.With("a worker has taken a task of instance %s, and its topic changes; wait until it is given back", h.ID)
	case ports.Gone:
		return fault.MigrateEnding.With("a task of instance %s has been completed, and the completion is on its way; send it again", h.ID)
	case ports.Unsettled:
		return answer.Err
	}
	return fault.Internal.With("the move of instance %s was answered with %s", h.ID, answer.Outcome)
}

// plan decides. No step and no error: it is there already.
func (o Operator) plan(ctx context.Context, c ports.Claim, row *ports.Instance, m ports.Migration, out *ports.MigrationResult) (*ports.Step, error) {
	from, err := o.program(ctx, row)
	if err != nil {
		return nil, err
	}
	out.From = from.Deployment
	to, err := o.target(ctx, row, m)
	if err != nil {
		return nil, err
	}
	out.To = to.Deployment
	if to.Deployment == from.Deployment && to.Process.ID == from.Process.ID {
		from = to
	}
	if to == from && (row.Status != ports.Failed || !m.Resume) {
		out.Notes = []string{"it is there already"}
		return nil, nil
	}
	snapshot, err := token.Decode(row.Snapshot)
	if err != nil {
		return nil, err
	}
	facts, err := o.facts(ctx, c.Ref, migrate.Ask(snapshot))
	if err != nil {
		return nil, err
	}
	claimed := step.Claimed{Claim: c, Row: *row, Step: o.IDs.New(), At: o.Clock.Now(), Trace: o.Watch.Trace(ctx)}
	res, err := migrate.Instance(from, to, claimed, snapshot, planOf(m), facts)
	if err != nil {
		return nil, err
	}
	if out.Notes = res.Notes; res.Step != nil {
		if err := o.taken(ctx, c.Ref, &res); err != nil {
			return nil, err
		}
	}
	if f := res.Refused(); f != nil {
		return nil, f.About(c.ID.String())
	}
	return res.Step, nil
}

func planOf(m ports.Migration) migrate.Plan {
	p := migrate.Plan{Nodes: m.Nodes, Resume: m.Resume, RecomputeTimers: m.RecomputeTimers, DropCompensation: m.DropCompensation}
	if m.DropEvent {
		p.Event = step.DropEvent
	}
	return p
}

// facts asks the store what the snapshot does not know.
func (o Operator) facts(ctx context.Context, ref ports.Ref, q migrate.Questions) (f migrate.Facts, err error) {
	if len(q.Tasks) > 0 {
		locks := make([]ports.TaskLock, len(q.Tasks))
		for i, id := range q.Tasks {
			locks[i] = ports.TaskLock{Tenant: ref.Tenant, ID: id}
		}
		tasks, err := o.Tasks.Read(ctx, locks)
		if err != nil {
			return f, err
		}
		there := map[ports.TaskID]bool{}
		for _, t := range tasks {
			there[t.Task.ID] = true
			if t.Worker != "" && t.LockUntil.After(o.Clock.Now()) {
				f.Locked = append(f.Locked, t.Task.ID)
			}
		}
		for _, id := range q.Tasks {
			if !there[id] {
				f.Ending = append(f.Ending, id)
			}
		}
	}
	if len(q.Children) == 0 {
		return f, nil
	}
	starts := make([]ports.InboxRef, len(q.Children))
	of := map[ports.Key]ports.InstanceID{}
	for i, child := range q.Children {
		starts[i] = step.ChildStart(ref.Tenant, child)
		of[starts[i].Event] = child
	}
	taken, err := o.Arrivals.Replies(ctx, starts)
	for _, t := range taken {
		if t.State == "pending" {
			f.Starting = append(f.Starting, of[t.Event])
		}
	}
	return f, err
}

// taken adds what the store alone can say against a step: unique keys that others hold.
func (o Operator) taken(ctx context.Context, ref ports.Ref, res *migrate.Result) error {
	var ask []ports.Lookup
	var of []ports.Alias
	for _, a := range res.Step.Aliases {
		if a.Unique {
			ask, of = append(ask, ports.Lookup{Tenant: ref.Tenant, Module: a.Module, Alias: a.Name, Value: a.Value}), append(of, a)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	holders, err := o.Keys.Holder(ctx, ask)
	if err != nil {
		return err
	}
	for i, h := range holders {
		if !h.ID.IsZero() && h.ID != ref.ID {
			res.Violations = append(res.Violations, *fault.MigrateAlias.With("its key %q would be unique, and is held by instance %s", of[i].Name, h.ID))
		}
	}
	return nil
}

// target finds the program that the instance is to go on under. What this replica does not know as active it asks for once.
func (o Operator) target(ctx context.Context, row *ports.Instance, m ports.Migration) (*step.Program, error) {
	served, err := targetIn(o.Served.Current(), row, m.To)
	if err != nil {
		set, asked := o.Served.Ask(ctx)
		if asked != nil {
			return nil, asked
		}
		if served, err = targetIn(set, row, m.To); err != nil {
			return nil, err
		}
	}
	process := m.Process
	if process == "" {
		process = row.Process
	}
	if p := served.Programs[process]; p != nil {
		return p, nil
	}
	return nil, fault.MigrateProcess.With("deployment %s of slot %s has no process %q; name the process to go on under", served.Row.ID, served.Row.Slot, process)
}

func targetIn(set *converge.Set, row *ports.Instance, to string) (*converge.Served, error) {
	if to == "" {
		own := set.Revision(row.Deployment)
		if own == nil {
			return nil, fault.NotReady.With("this replica cannot serve deployment %s", row.Deployment)
		}
		if served := set.Slot(own.Row.Slot); served != nil {
			return served, nil
		}
		return nil, inactive(own.Row.Slot.String())
	}
	if served := set.Revision(ports.DeploymentID(to)); served != nil && served.Row.Slot.Tenant == row.Tenant {
		if !served.Active() {
			return nil, inactive(to)
		}
		return served, nil
	}
	for _, served := range set.Active(row.Tenant, "") {
		if served.Row.Slot.String() == to {
			return served, nil
		}
	}
	return nil, fault.MigrateTarget.With("tenant %s has no active revision %q; name a slot, or the id of its active revision", row.Tenant, to)
}

func inactive(target string) error {
	return fault.MigrateInactive.With("%q has no active revision; instances are moved to active ones alone", target)
}
