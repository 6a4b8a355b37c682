package database

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Timers finds what is due.
func (s *Store) Timers() ports.Timers { return timers{s} }

type timers struct{ *Store }

func (s timers) Due(ctx context.Context, lease time.Duration, limit int) ([]ports.Timer, error) {
	var out []ports.Timer
	took, err := s.handOut(ctx, func(run run) error {
		now := s.now()
		out = nil
		err := run(op{name: "timer_due", args: args{"now": now, "limit": limit}, scan: func(r row) error {
			var t ports.Timer
			err := r.Scan(&t.Tenant, &t.ID, &t.Wait, &t.Kind, &t.Due, &t.Deployment)
			out = append(out, t)
			return err
		}})
		if err != nil || len(out) == 0 {
			return err
		}
		return run(op{name: "timer_lease", args: args{"until": now.Add(lease), "now": now}, rows: timerRows(out)})
	})
	if !took {
		return nil, err
	}
	return out, nil
}

func (s timers) Defer(ctx context.Context, all []ports.Timer, until time.Time, why string) error {
	if len(all) == 0 {
		return nil
	}
	return s.write(ctx, fleet, op{name: "timer_defer", args: args{"until": until, "why": why, "now": s.now()}, rows: timerRows(all)})
}

// timerRows is a group of waits in the order of their keys.
func timerRows(all []ports.Timer) (rows []any) {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b ports.Timer) int {
		return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Wait, b.Wait))
	})
	for _, t := range sorted {
		rows = append(rows, t.ID, t.Wait)
	}
	return rows
}

func (s timers) Schedules(ctx context.Context, limit int) ([]ports.Schedule, error) {
	var out []ports.Schedule
	err := s.read(ctx, fleet, op{name: "schedule_due", args: args{"now": s.now(), "limit": limit}, scan: func(r row) error {
		var d ports.Schedule
		err := r.Scan(&d.Tenant, &d.Deployment, &d.Process, &d.Node, &d.Due, &d.Anchor, &d.Left)
		out = append(out, d)
		return err
	}})
	return out, err
}
