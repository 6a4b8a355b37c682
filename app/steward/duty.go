package steward

import (
	"context"
	"log/slog"
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
	Retention   ports.Retention
	Clock       ports.Clock
	Watch       ports.Watch
	Log         *slog.Logger

	ClaimTimeout      time.Duration
	SweepEvery        time.Duration
	InstanceRetention time.Duration // of ended instances
	InboxRetention    time.Duration
	ArchiveRetention  time.Duration // of retired revisions
	RetentionEvery    time.Duration
	RetireEvery       time.Duration
	// Changed hears that the served set changed, and does not block.
	Changed func()
}

// bite bounds what one statement removes.
const bite = 500

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

// retire retires each draining revision that nothing holds back.
func (s Sweeps) retire(ctx context.Context) error {
	_, revisions, err := s.Deployments.Served(ctx)
	if err != nil {
		return err
	}
	for _, r := range revisions {
		if r.Phase != ports.Draining {
			continue
		}
		_, answer, err := s.Deployments.Retire(ctx, r.ID)
		if err != nil {
			return err
		}
		if answer.Outcome == ports.Done {
			s.Log.InfoContext(ctx, "retired", "deployment", r.ID, "slot", r.Slot.String(), "revision", r.Number)
			s.Changed()
		}
	}
	return nil
}

// purge removes ended instances, done messages and archives of retired revisions whose time is over, in bites that always make progress.
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
	for n := bite; n >= bite && ctx.Err() == nil; {
		var err error
		if n, err = s.Inbox.Purge(ctx, now.Add(-s.InboxRetention), bite); err != nil {
			return err
		}
		s.Watch.Count("sutra_inbox_purged_total", int64(n))
	}
	_, err := s.Deployments.DropArchives(ctx, now.Add(-s.ArchiveRetention), bite)
	return err
}
