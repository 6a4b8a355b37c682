// Package replica is one running process of the fleet: it puts the parts together, starts them in order, says how they are, and stops
// them in order. It knows nothing that another replica could not know.
package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sutra-engine/sutra/app/consumer"
	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/deployer"
	"github.com/sutra-engine/sutra/app/intake"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/app/operator"
	"github.com/sutra-engine/sutra/app/steward"
	"github.com/sutra-engine/sutra/app/tasks"
	"github.com/sutra-engine/sutra/app/worker"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
)

// Deps are what a replica is made of.
type Deps struct {
	Store   ports.Store
	Config  Config
	Senders map[string]ports.Sender // by URL scheme
	Brokers map[channel.Transport]ports.Broker
	Secrets ports.Secrets
	IDs     ports.IDs
	Now     func() time.Time // the machine's clock, with its monotonic reading
	Watch   ports.Watch
	Log     *slog.Logger
	Name    string // for people, as a host name; not unique
	Address string // where it listens
}

// Replica is one process. Its parts are for the transports that call them.
type Replica struct {
	Deps
	ID       string
	Intake   *intake.Intake
	Deployer *deployer.Deployer
	Operator operator.Operator
	Tasks    *tasks.Queue

	served   *converge.Loop
	lanes    *lane.Pool
	inbox    *worker.Inbox
	outbox   *worker.Outbox
	roles    *steward.Roles
	brokers  *consumer.Consumers
	duties   []steward.Duty
	booted   atomic.Bool
	stopping atomic.Bool
}

// New puts a replica together. Its id is new with each process: nobody can take it for a process that died.
func New(d Deps) *Replica {
	r := &Replica{Deps: d, ID: d.Name + "-" + d.IDs.New().String()}
	c, s := d.Config, d.Store
	guard := claim.Guard{Claims: s.Claims(), Clock: s.Clock(), Silent: c.ClaimTimeout}
	r.served = converge.New(converge.Deps{
		Deployments: s.Deployments(), Changes: s.Changes(), Clock: s.Clock(), Log: d.Log, Archives: c.Archives, Limits: c.Limits, Poll: c.DeploymentsPoll,
		Replica: ports.Replica{ID: r.ID, Started: s.Clock().Now(), Lanes: c.Lanes, Address: d.Address},
		Applied: func() { r.brokers.Wake() },
	})
	r.lanes = lane.New(lane.Deps{
		Instances: s.Instances(), Guard: guard, Clock: s.Clock(), IDs: d.IDs, Programs: r, Watch: d.Watch, Log: d.Log,
		Gate:    limit.New(limit.Deps{Bounds: c.Tenants, Living: s.Views().Living, Clock: s.Clock(), Watch: d.Watch}),
		Replica: r.ID, Lanes: c.Lanes, Capacity: c.LaneCapacity, Batch: c.LaneBatch,
		Wake: lane.Wake{
			Outbox:  func() { r.outbox.Wake() },
			Inbox:   func() { r.inbox.Wake() },
			Tasks:   func() { r.Tasks.Parked() },
			Replied: func(ref ports.InboxRef, document []byte) { r.Intake.Held.Replied(ref, document) },
			Waits: func(tenant string, id ports.DeploymentID, waits []ports.Wait) {
				r.inbox.Waits(tenant, id, waits)
			},
		},
	})
	r.Intake = intake.New(intake.Deps{
		Served: r.served, Lanes: r.lanes, Inbox: s.Inbox(), Correlation: s.Correlation(), Clock: s.Clock(), IDs: d.IDs, Secrets: d.Secrets,
		Watch: d.Watch, Log: d.Log, ReplyTimeout: c.ReplyTimeout, MaxPayload: c.MaxPayload, Recovery: c.InboxRecovery,
		Reserve: func(m ports.Message) (bool, func(bool)) { return r.inbox.Reserve(m) },
	})
	r.inbox = worker.NewInbox(worker.InboxDeps{
		Inbox: s.Inbox(), Correlation: s.Correlation(), Served: r.served, Router: r.Intake.Router, Lanes: r.lanes, Clock: s.Clock(), IDs: d.IDs,
		Log: d.Log, Poll: c.OutboxTick, Recovery: c.InboxRecovery, Batch: c.OutboxBatch, Backoff: loop.Backoff{Base: time.Second, Max: time.Minute},
	})
	r.outbox = worker.NewOutbox(worker.OutboxDeps{
		Outbox: s.Outbox(), Senders: d.Senders, Served: r.served, Secrets: d.Secrets, Clock: s.Clock(), Watch: d.Watch, Log: d.Log,
		Inbox: func() { r.inbox.Wake() }, By: r.ID, Poll: c.OutboxTick, ClaimTimeout: c.OutboxClaimTimeout, SendTimeout: c.SendTimeout,
		Batch: c.OutboxBatch, Parallel: c.OutboxParallel, PerHost: max(1, c.OutboxParallel/4), MaxAttempts: c.OutboxMaxAttempts,
		Backoff: loop.Backoff{Base: c.OutboxBase, Max: c.OutboxMax},
	})
	r.Deployer = deployer.New(deployer.Deps{
		Deployments: s.Deployments(), Operations: s.Operations(), Audits: s.Audits(), Served: r.served, Clock: s.Clock(), IDs: d.IDs, Log: d.Log,
		Archives: c.Archives, Limits: c.Limits, FleetWait: c.FleetWait, Callbacks: c.Callbacks, Secrets: d.Secrets, Senders: d.Senders, Silent: c.Abandoned, Replica: r.ID, Outbox: func() { r.outbox.Wake() },
	})
	r.Operator = operator.Operator{Deps: operator.Deps{
		Instances: s.Instances(), Views: s.Views(), Outbox: s.Outbox(), Tasks: s.Tasks(), Arrivals: s.Inbox(), Keys: s.Correlation(), Guard: guard, Programs: r, Served: r.served,
		Clock: s.Clock(), IDs: d.IDs, Watch: d.Watch, Log: d.Log, Replica: r.ID,
		Inbox: func() { r.inbox.Wake() }, Sending: func() { r.outbox.Wake() }, Parked: func() { r.Tasks.Parked() },
		Waits: func(tenant string, id ports.DeploymentID, waits []ports.Wait) { r.inbox.Waits(tenant, id, waits) },
	}}
	r.Tasks = tasks.New(tasks.Deps{
		Tasks: s.Tasks(), Lanes: r.lanes, Clock: s.Clock(), Watch: d.Watch, Log: d.Log, Limits: c.Tasks, Inbox: func() { r.inbox.Wake() },
	})
	r.roles = &steward.Roles{
		Leases: s.Leases(), Now: d.Now, Log: d.Log, Watch: d.Watch, Holder: r.ID, TTL: c.LeaseTTL, Poll: c.LeasePoll, Always: s.Exclusive(),
		Fit: func() bool { return len(r.served.Current().Broken) == 0 },
	}
	r.brokers = consumer.New(consumer.Deps{
		Served: r.served, Intake: r.Intake, Brokers: d.Brokers, Roles: r.roles, Secrets: d.Secrets, Clock: s.Clock(), Watch: d.Watch, Log: d.Log,
		Ahead: c.BrokerAhead, Opening: loop.Backoff{Base: 250 * time.Millisecond, Max: c.BrokerMaxDelay}, Again: loop.Backoff{Base: time.Second, Max: time.Minute},
	})
	timers := worker.Timers{TimerDeps: worker.TimerDeps{
		Timers: s.Timers(), Served: r.served, Lanes: r.lanes, Clock: s.Clock(), IDs: d.IDs, Watch: d.Watch, Log: d.Log,
		Lease: 30 * time.Second, Batch: c.TimerBatch,
	}}
	r.duties = append(steward.Sweeps{
		Claims: s.Claims(), Inbox: s.Inbox(), Deployments: s.Deployments(), Operations: s.Operations(), Retention: s.Retention(), Clock: s.Clock(), Watch: d.Watch, Log: d.Log,
		ClaimTimeout: c.ClaimTimeout, SweepEvery: c.SweepInterval, InstanceRetention: c.InstanceRetention, InboxRetention: c.InboxRetention,
		ArchiveRetention: c.ArchiveKeep, RetentionEvery: c.RetentionInterval, RetireEvery: c.DeploymentsPoll,
	}.Duties(),
		steward.Duty{Name: "fire timers", Role: steward.TimerLeader, Every: c.TimerTick, Do: timers.Tick},
		steward.Duty{Name: "note that this replica lives", Every: c.Abandoned / 4, Do: r.served.Note})
	return r
}

// Program finds the process of an instance. A revision this replica has not heard of is asked for once.
func (r *Replica) Program(ctx context.Context, id ports.DeploymentID, process string) *step.Program {
	served := r.served.Current().Revision(id)
	if served == nil {
		set, err := r.served.Ask(ctx)
		if err != nil {
			return nil
		}
		if served = set.Revision(id); served == nil {
			return nil
		}
	}
	return served.Programs[process]
}

// Door is a transport: it lets work in.
type Door interface {
	// Serve lets work in until Shut, or until ctx ends. It answers nil when it was shut.
	Serve(ctx context.Context) error
	// Shut lets nothing more in and waits, up to ctx, for what is inside to leave.
	Shut(ctx context.Context) error
}

// Run boots, serves through the doors, and stops in order when ctx ends or a door fails. grace bounds the stopping.
func (r *Replica) Run(ctx context.Context, grace time.Duration, doors ...Door) error {
	if err := r.boot(ctx); err != nil {
		r.Log.InfoContext(ctx, "stopped before it was up", "replica", r.ID, "error", err)
		return nil
	}
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	stepping, stopStepping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	defer stopWorking()
	defer stopStepping()

	var leaders, workers, lanes, serving sync.WaitGroup
	lanes.Go(func() { r.lanes.Run(stepping) })
	for _, work := range []func(context.Context){r.served.Run, r.Intake.Held.Run, r.inbox.Run, r.outbox.Run, r.Deployer.Run} {
		workers.Go(func() { work(working) })
	}
	leaders.Go(func() { r.roles.Run(leading) })
	for _, duty := range r.duties {
		leaders.Go(func() { duty.Run(leading, r.roles, r.Log) })
	}
	doors = append(doors, r.brokers)
	failed := make(chan error, len(doors))
	for _, door := range doors {
		serving.Go(func() {
			if err := door.Serve(working); err != nil {
				failed <- err
			}
		})
	}
	r.booted.Store(true)
	r.Log.InfoContext(ctx, "ready", "replica", r.ID, "address", r.Address)

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	r.stopping.Store(true)
	r.Log.InfoContext(ctx, "stopping", "replica", r.ID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	// When the grace is over, nothing is waited for: what is unfinished is thrown away, and the database knows nothing of it.
	over := context.AfterFunc(ctx, func() { stopLeading(); stopWorking(); stopStepping() })
	defer over()

	r.Intake.Held.Close()
	r.Tasks.Close()
	for _, door := range doors {
		err = errors.Join(err, door.Shut(ctx))
	}
	serving.Wait()
	stopLeading()
	leaders.Wait()
	stopWorking()
	workers.Wait()
	r.lanes.Close()
	lanes.Wait()
	return errors.Join(err, r.leave(ctx))
}

// leave frees what this replica may still hold, and takes its row away.
func (r *Replica) leave(ctx context.Context) error {
	if _, err := r.Store.Claims().Forget(ctx, r.ID); err != nil {
		return fmt.Errorf("give claims back: %w", err)
	}
	if err := r.Store.Deployments().Leave(ctx, r.ID); err != nil {
		return fmt.Errorf("leave the fleet: %w", err)
	}
	r.Log.InfoContext(ctx, "stopped", "replica", r.ID)
	return nil
}

// boot reads what is served before anything is let in, and makes this replica one that a deploy can wait for. It tries until ctx ends: a
// database that is away comes back.
func (r *Replica) boot(ctx context.Context) error {
	for try := 0; ; try++ {
		_, err := r.served.Ask(ctx)
		if err == nil {
			err = r.served.Note(ctx)
		}
		if err == nil {
			return nil
		}
		r.Log.WarnContext(ctx, "cannot read what is served; trying again", "error", err)
		t := time.NewTimer(min(time.Second<<min(try, 4), 10*time.Second))
		select {
		case <-ctx.Done():
			t.Stop()
			return errors.Join(ctx.Err(), err)
		case <-t.C:
		}
	}
}

// Live names the lanes that do not work; none: the process is alive.
func (r *Replica) Live() []string {
	if !r.booted.Load() {
		return nil
	}
	return r.lanes.Dead()
}

// Ready names what keeps this replica from taking work; none: it is ready.
func (r *Replica) Ready(ctx context.Context) []string {
	var not []string
	switch {
	case r.stopping.Load():
		return []string{"stopping"}
	case !r.booted.Load():
		not = append(not, "booting")
	}
	if err := r.Store.Check(ctx); err != nil {
		not = append(not, "database: "+err.Error())
	}
	for id, err := range r.served.Current().Broken {
		not = append(not, fmt.Sprintf("deployment %.12s: %v", string(id), err))
	}
	return append(not, r.Live()...)
}
