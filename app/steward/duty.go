package steward

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// The roles of a fleet.
const (
	TimerLeader      = "timer-leader"
	InstanceSweeper  = "instance-sweeper"
	RetentionSweeper = "retention-sweeper"
)

// Duty is what the holder of a role does again and again.
type Duty struct {
	Name  string
	Role  string // empty: every replica does it
	Every time.Duration
	Do    func(context.Context) error
}

// Run does the duty while this replica leads, until ctx ends. An error is said and ends nothing.
func (d Duty) Run(ctx context.Context, roles *Roles, log *slog.Logger) {
	if d.Role != "" {
		roles.Ask(d.Role)
	}
	t := time.NewTicker(d.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if d.Role != "" {
			if _, leads := roles.Leads(d.Role); !leads {
				continue
			}
		}
		if err := d.Do(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "a duty failed and will be done again", "duty", d.Name, "error", err)
		}
	}
}

// Sweeps are the duties that put right what died.
type Sweeps struct {
	Claims      ports.Claims
	Inbox       ports.Inbox
	Deployments ports.Deployments
	Operations  ports.Operations
	Retention   ports.Retention
	Clock       ports.Clock
	Watch       ports.Watch
	Log         *slog.Logger

	ClaimTimeout      time.Duration
	SweepEvery        time.Duration
	InstanceRetention time.Duration // of ended instances
	InboxRetention    time.Duration
	ArchiveRetention  time.Duration // of retired revisions' archives, and of the outcomes of deploys
	RetentionEvery    time.Duration
	RetireEvery       time.Duration
}

// What one transaction removes at most.
const (
	bite        = 500
	archiveBite = 10 // they are large
)

// replicaRetention is how long the row of a replica that died is kept.
const replicaRetention = 24 * time.Hour

// Duties are the sweeps as duties.
func (s Sweeps) Duties() []Duty {
	return []Duty{
		{"free silent claims", InstanceSweeper, s.SweepEvery, s.claims},
		{"retire drained revisions", InstanceSweeper, s.RetireEvery, s.retire},
		{"purge what has ended", RetentionSweeper, s.RetentionEvery, s.purge},
	}
}

// claims frees claims that have been silent for longer than the timeout, whoever owns them.
func (s Sweeps) claims(ctx context.Context) error {
	for {
		freed, err := s.Claims.Sweep(ctx, s.Clock.Now().Add(-s.ClaimTimeout), bite)
		if err != nil {
			return err
		}
		for _, ref := range freed {
			s.Log.WarnContext(ctx, "freed a silent claim; what is due for the instance will drive it again", "instance", ref.ID, "tenant", ref.Tenant)
		}
		s.Watch.Count("sutra_claims_swept_total", int64(len(freed)))
		if len(freed) < bite {
			return nil
		}
	}
}

// retire retires each draining revision that nothing holds back. It looks without a lock first: what is held back costs nobody a wait.
func (s Sweeps) retire(ctx context.Context) error {
	_, revisions, err := s.Deployments.Served(ctx)
	if err != nil {
		return err
	}
	revisions = slices.DeleteFunc(revisions, func(r ports.Revision) bool { return r.Phase != ports.Draining })
	if len(revisions) == 0 {
		return nil
	}
	ids := make([]ports.DeploymentID, len(revisions))
	for i, r := range revisions {
		ids[i] = r.ID
	}
	counts, err := s.Deployments.Count(ctx, ids)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range revisions {
		if counts[r.ID] != (ports.Counts{}) {
			continue
		}
		_, answer, err := s.Deployments.Retire(ctx, r.ID)
		errs = append(errs, err) // of this one: the others need not wait for it
		if err == nil && answer.Outcome == ports.Done {
			s.Log.InfoContext(ctx, "retired", "deployment", r.ID, "slot", r.Slot.String(), "revision", r.Number)
		}
	}
	return errors.Join(errs...)
}

// purge removes ended instances, done messages, archives of retired revisions and outcomes of deploys whose time is over, in bites that
// always make progress, and the rows of replicas that died.
func (s Sweeps) purge(ctx context.Context) error {
	now := s.Clock.Now()
	for more := true; more && ctx.Err() == nil; {
		var n int
		var err error
		if n, more, err = s.Retention.PurgeInstances(ctx, now.Add(-s.InstanceRetention), bite); err != nil {
			return err
		}
		s.Watch.Count("sutra_instances_purged_total", int64(n))
	}
	for _, step := range []struct {
		name  string
		purge func(ctx context.Context, before time.Time, limit int) (int, error)
		keep  time.Duration
		bite  int
	}{
		{"sutra_inbox_purged_total", s.Inbox.Purge, s.InboxRetention, bite},
		{"sutra_archives_dropped_total", s.Deployments.DropArchives, s.ArchiveRetention, archiveBite},
		{"sutra_operations_purged_total", s.Operations.Purge, s.ArchiveRetention, bite},
	} {
		for n := step.bite; n >= step.bite && ctx.Err() == nil; {
			var err error
			if n, err = step.purge(ctx, now.Add(-step.keep), step.bite); err != nil {
				return err
			}
			s.Watch.Count(step.name, int64(n))
		}
	}
	return s.Deployments.Forget(ctx, now.Add(-replicaRetention))
}
