// Package deployer changes what the fleet serves. A deploy verifies and compiles everything before anything changes, swaps in one
// transaction, and converges this replica before it answers, so that its answer is definitive.
package deployer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/callback"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/core/timer"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Deps are what a deployer works with.
type Deps struct {
	Deployments ports.Deployments
	Operations  ports.Operations
	Audits      ports.Audits
	Served      *converge.Loop
	Clock       ports.Clock
	IDs         ports.IDs
	Log         *slog.Logger
	Archives    archive.Limits
	Limits      deploy.Limits
	FleetWait   time.Duration // how long a deploy waits for the fleet
	Silent      time.Duration // age at which a replica counts as gone, and an operation as abandoned
	Replica     string
	Outbox      func() // hears that notices were enqueued
	Callbacks   callback.Rules
	Secrets     ports.Secrets
	Senders     map[string]ports.Sender // by URL scheme: what a broker's address has to begin with, to be notified
}

// Deployer is the ports.Deployer of a replica.
type Deployer struct {
	Deps
	submitted chan ports.Operation
}

// New makes a deployer.
func New(d Deps) *Deployer { return &Deployer{Deps: d, submitted: make(chan ports.Operation, 64)} }

// Deploy makes the archive its slot's active revision.
func (d *Deployer) Deploy(ctx context.Context, call ports.Deploy) (ports.Deployed, error) {
	if err := d.checkNotices(call); err != nil {
		return ports.Deployed{}, err
	}
	id := d.IDs.New()
	return d.deploy(ctx, call, func(a *ports.Activation) {
		a.Call, a.Notices = id, d.notices(call.Callback, call.Notify, id, ports.Revision{Slot: a.Slot, ID: a.ID}, nil)
	})
}

// deploy does what every deploy does; mark says whose this one is.
func (d *Deployer) deploy(ctx context.Context, call ports.Deploy, mark func(*ports.Activation)) (ports.Deployed, error) {
	a, rev, err := d.compile(call)
	if err != nil {
		return ports.Deployed{}, err
	}
	activation, err := d.activation(ctx, a, rev, call.Supersedes)
	if err != nil {
		return ports.Deployed{}, err
	}
	activation.Audit = &ports.Audit{ID: d.IDs.New(), Tenant: rev.Slot.Tenant, Actor: call.By.Name, Action: "deploy", Subject: string(rev.ID)}
	mark(&activation)
	d.Served.Known(rev)
	revision, answer, err := d.Deployments.Activate(ctx, activation)
	if err != nil {
		return ports.Deployed{}, err
	}
	if err := refused(answer, rev); err != nil {
		return ports.Deployed{}, err
	}
	if len(activation.Notices) > 0 {
		d.Outbox()
	}
	if _, err := d.Served.Ask(ctx); err != nil {
		return ports.Deployed{}, fmt.Errorf("it is active, but this replica cannot read what is served: %w", err)
	}
	out := ports.Deployed{Revision: revision, Unchanged: answer.Outcome == ports.Duplicate}
	if call.Fleet {
		out.Behind, err = d.fleet(ctx, revision)
	}
	d.Log.InfoContext(ctx, "deployed", "deployment", revision.ID, "slot", revision.Slot.String(), "revision", revision.Number, "unchanged", out.Unchanged)
	return out, err
}

// compile verifies the archive and compiles everything in it.
func (d *Deployer) compile(call ports.Deploy) (*archive.Archive, *deploy.Revision, error) {
	a, err := archive.Open(call.Archive, d.Archives)
	if err != nil {
		return nil, nil, err
	}
	if call.By.Tenants != nil && !slices.Contains(call.By.Tenants, a.Manifest.Labels.Tenant) {
		return nil, nil, fault.DeployForbidden.With("this key may not deploy for tenant %q", a.Manifest.Labels.Tenant)
	}
	rev, findings := deploy.Compile(a, d.Limits)
	if rev == nil {
		return nil, nil, deploy.Refusal(findings)
	}
	for _, f := range findings {
		if f.Level == lint.Warning {
			d.Log.Warn("deploying with a warning", "finding", f.String())
		}
	}
	return a, rev, nil
}

func (d *Deployer) activation(ctx context.Context, a *archive.Archive, rev *deploy.Revision, supersedes string) (ports.Activation, error) {
	out := ports.Activation{Slot: rev.Slot, ID: rev.ID, Archive: a.Bytes, Doors: rev.Doors}
	if supersedes == "" {
		supersedes, out.Declared = rev.Supersedes, true
	}
	if supersedes != "" && supersedes != rev.Slot.String() {
		slot, err := ParseSlot(supersedes)
		if err != nil {
			return out, err
		}
		if slot.Tenant != rev.Slot.Tenant || slot.Module != rev.Slot.Module {
			return out, fault.DeployInvalid.With("slot %s cannot supersede %s: only another version of the same tenant and module", rev.Slot, slot)
		}
		out.Supersedes = &slot
	}
	now := d.Clock.Now()
	for _, t := range rev.Timers {
		due, left, armed, err := timer.First(t.Spec, now)
		if err != nil {
			return out, fault.DeployInvalid.With("timer start event %q of process %q cannot be counted: %w", t.Node, t.Process, err)
		}
		if !armed {
			d.Log.WarnContext(ctx, "a timer start event is not armed: its time has passed", "process", t.Process, "node", t.Node)
			continue
		}
		out.Schedules = append(out.Schedules, ports.Schedule{
			Tenant: rev.Slot.Tenant, Deployment: rev.ID, Process: t.Process, Node: t.Node, Due: due, Anchor: due, Left: left,
		})
	}
	return out, nil
}

func refused(a ports.Answer, rev *deploy.Revision) error {
	switch a.Outcome {
	case ports.Done, ports.Duplicate:
		return nil
	case ports.DoorTaken:
		return fault.DoorTaken.With("%s cannot open its doors: %s; drain that slot, name it in supersedes, or bind elsewhere", rev.Slot, a.Detail)
	case ports.Stale:
		return fault.DeploySuperseded.With("%s was not swapped: %s", rev.Slot, a.Detail)
	}
	if a.Err != nil {
		return a.Err
	}
	return fault.DeployConflict.With("%s was not swapped: %s; send it again", rev.Slot, a.Outcome)
}

// fleet waits until every live replica serves the revision, and names those that do not in time.
func (d *Deployer) fleet(ctx context.Context, revision ports.Revision) ([]string, error) {
	deadline := d.Clock.Now().Add(d.FleetWait)
	for {
		replicas, err := d.Deployments.Replicas(ctx, d.Clock.Now().Add(-d.Silent))
		if err != nil {
			return nil, err
		}
		var behind []string
		for _, r := range replicas {
			if r.ID != d.Replica && !serves(r, revision) {
				behind = append(behind, r.ID)
			}
		}
		if len(behind) == 0 || !d.Clock.Now().Before(deadline) {
			return behind, nil
		}
		if err := loop.Pause(ctx, 50*time.Millisecond); err != nil {
			return behind, err
		}
	}
}

// serves says that a replica, when it was last seen, had heard of the revision and could load it.
func serves(r ports.Replica, revision ports.Revision) bool {
	return r.Served >= revision.Since && !slices.Contains(r.Broken, revision.ID)
}

// Undeploy drains a revision, named by its slot or its id.
func (d *Deployer) Undeploy(ctx context.Context, by ports.Actor, target string) (ports.Revision, error) {
	unknown := fault.DeploymentUnknown.With("there is no active or draining revision %q; sutra deployments lists what there is", target)
	_, revisions, err := d.Deployments.Served(ctx)
	if err != nil {
		return ports.Revision{}, err
	}
	for _, r := range revisions {
		if string(r.ID) != target && (r.Slot.String() != target || r.Phase != ports.Active) || !may(by.Tenants, r.Slot.Tenant) {
			continue
		}
		answer, err := d.Deployments.Drain(ctx, r.ID)
		if err != nil {
			return r, err
		}
		if answer.Outcome != ports.Done {
			return r, unknown
		}
		if r.Phase == ports.Active {
			r.Phase, r.Drained = ports.Draining, d.Clock.Now()
		}
		note := ports.Audit{ID: d.IDs.New(), Tenant: r.Slot.Tenant, Actor: by.Name, Action: "undeploy", Subject: string(r.ID)}
		if err := d.Audits.Note(ctx, note); err != nil {
			return r, err // draining what drains is no harm: it is noted when it is asked for again
		}
		_, err = d.Served.Ask(ctx)
		return r, err
	}
	return ports.Revision{}, unknown
}

// Revisions lists revisions with what blocks their retirement and who serves them.
func (d *Deployer) Revisions(ctx context.Context, tenants []string) ([]ports.RevisionView, error) {
	revisions, err := d.Deployments.Revisions(ctx, tenants)
	if err != nil {
		return nil, err
	}
	replicas, err := d.Deployments.Replicas(ctx, d.Clock.Now().Add(-d.Silent))
	if err != nil {
		return nil, err
	}
	var held []ports.DeploymentID
	for _, r := range revisions {
		if r.Phase != ports.Retired {
			held = append(held, r.ID)
		}
	}
	counts, err := d.Deployments.Count(ctx, held)
	if err != nil {
		return nil, err
	}
	set, err := d.Served.Ask(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]ports.RevisionView, len(revisions))
	for i, r := range revisions {
		out[i] = ports.RevisionView{Revision: r, Counts: counts[r.ID]}
		if broken := set.Broken[r.ID]; broken != nil {
			out[i].Failed = broken.Error()
		}
		if served := set.Revision(r.ID); served != nil {
			for _, door := range served.Doors {
				out[i].Channels = append(out[i].Channels, door.Address)
			}
		}
		for _, replica := range replicas {
			switch {
			case r.Phase == ports.Retired:
			case serves(replica, r):
				out[i].Served = append(out[i].Served, replica.ID)
			default:
				out[i].Behind = append(out[i].Behind, replica.ID)
			}
		}
	}
	return out, nil
}

func may(tenants []string, tenant string) bool {
	return tenants == nil || slices.Contains(tenants, tenant)
}

// ParseSlot reads tenant--module--version.
func ParseSlot(text string) (ports.Slot, error) {
	parts := strings.Split(text, "--")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return ports.Slot{}, fault.DeployInvalid.With("%q is no slot; a slot is tenant--module--version", text)
	}
	return ports.Slot{Tenant: parts[0], Module: parts[1], Version: parts[2]}, nil
}
