package database

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Views reads for people.
func (s *Store) Views() ports.Views { return views{s} }

type views struct{ *Store }

// late is how long after its id was made an instance is still found by when it was created: the machine that made the id has a clock of
// its own, and a called instance has to wait for its turn.
const late = time.Hour

func (s views) List(ctx context.Context, q ports.InstanceQuery) ([]ports.Instance, error) {
	all := args{"limit": q.Limit}
	given(all, "after", q.After, q.After.IsZero())
	given(all, "deployment", q.Deployment, q.Deployment == "")
	given(all, "process", q.Process, q.Process == "")
	given(all, "since", q.Since, q.Since.IsZero())
	given(all, "since_id", ports.FirstID(q.Since.Add(-late)), q.Since.IsZero())
	given(all, "until", q.Until, q.Until.IsZero())
	given(all, "until_id", ports.FirstID(q.Until.Add(late)), q.Until.IsZero())
	given(all, "parent", q.Parent, q.Parent.IsZero())
	chosen(all, q.Statuses)
	if q.Alias != nil {
		all["alias"] = valueKey(*q.Alias)
	}
	var out []ports.Instance
	for _, part := range halves(all, q) {
		for _, tenant := range scopes(q.Tenants) {
			part["tenant"] = tenant
			err := s.read(ctx, fleet, op{name: "instance_list", args: part, scan: func(r row) error {
				var in ports.Instance
				err := scanInstance(r, &in)
				out = append(out, in)
				return err
			}})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(out, func(a, b ports.Instance) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return out[:min(len(out), q.Limit)], nil
}

// halves asks for a process's or a revision's instances in two parts, those that live and those that have ended: each has its index.
func halves(all args, q ports.InstanceQuery) []args {
	if q.Process == "" && q.Deployment == "" || all["living"] != nil || all["failed"] != nil {
		return []args{all}
	}
	ended := maps.Clone(all)
	ended["ended"] = 1
	if len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, func(s ports.Status) bool { return !s.Ended() }) {
		return []args{ended}
	}
	all["living"] = 1
	return []args{all, ended}
}

// chosen filters by status. Living and failed instances are said in the words of their indexes: they are few among many that have ended.
func chosen(all args, statuses []ports.Status) {
	n := len(statuses)
	if n == 0 {
		return
	}
	if !slices.ContainsFunc(statuses, ports.Status.Ended) {
		all["living"] = 1
	}
	if !slices.ContainsFunc(statuses, func(s ports.Status) bool { return s != ports.Failed }) {
		all["failed"] = 1
		return
	}
	for i, name := range []string{"status_a", "status_b", "status_c", "status_d", "status_e"} {
		all[name] = statuses[min(i, n-1)]
	}
}

func given(all args, name string, value any, zero bool) {
	if !zero {
		all[name] = value
	}
}

func (s views) Waits(ctx context.Context, ref ports.Ref) ([]ports.WaitView, error) {
	var out []ports.WaitView
	err := s.read(ctx, ref.Tenant, op{name: "wait_list", args: args{"tenant": ref.Tenant}, rows: []any{ref.ID}, scan: func(r row) error {
		w := ports.WaitView{Ref: ref}
		err := r.Scan(&w.Wait.ID, &w.Kind, &w.Node, &w.Name, &w.Due, &w.Armed, &w.Attempt, &w.Refused.Code, &w.Refused.At)
		out = append(out, w)
		return err
	}})
	return out, err
}

func (s views) History(ctx context.Context, ref ports.Ref, after int64, limit int) ([]ports.HistoryEntry, error) {
	var out []ports.HistoryEntry
	all := args{"tenant": ref.Tenant, "instance": ref.ID, "after": after, "limit": limit}
	err := s.read(ctx, ref.Tenant, op{name: "history_list", args: all, scan: func(r row) error {
		var h ports.HistoryEntry
		err := r.Scan(&h.Seq, &h.At, &h.Step, &h.Document)
		h.Document = bytes.Clone(h.Document)
		out = append(out, h)
		return err
	}})
	return out, err
}

func (s views) Emissions(ctx context.Context, tenants []string, poisoned bool, after ports.EmissionID, limit int) ([]ports.EmissionView, error) {
	var out []ports.EmissionView
	for _, tenant := range scopes(tenants) {
		all := args{"tenant": tenant, "poisoned": flag(poisoned), "after": floor(after), "limit": limit}
		err := s.read(ctx, fleet, op{name: "outbox_list", args: all, scan: func(r row) error {
			v := ports.EmissionView{Poisoned: poisoned}
			err := scanStamped(r, &v.Stamped, &v.Next, &v.LastError)
			out = append(out, v)
			return err
		}})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b ports.EmissionView) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out[:min(len(out), limit)], nil
}

func (s views) ListTasks(ctx context.Context, tenants []string, terminal bool, after ports.TaskID, limit int) ([]ports.LockedTask, error) {
	var out []ports.LockedTask
	for _, tenant := range scopes(tenants) {
		all := args{"tenant": tenant, "terminal": flag(terminal), "after": floor(after), "limit": limit}
		err := s.read(ctx, fleet, op{name: "task_list", args: all, scan: func(r row) error {
			t, err := scanTask(r)
			out = append(out, t)
			return err
		}})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b ports.LockedTask) int { return bytes.Compare(a.Task.ID[:], b.Task.ID[:]) })
	return out[:min(len(out), limit)], nil
}

func (s views) Locate(ctx context.Context, tenants []string, id ports.InstanceID) (ports.Ref, error) {
	ref := ports.Ref{ID: id}
	err := s.read(ctx, fleet, op{name: "instance_tenant", rows: []any{id}, scan: func(r row) error { return r.Scan(&ref.Tenant) }})
	if ref.Tenant == "" || tenants != nil && !slices.Contains(tenants, ref.Tenant) {
		return ports.Ref{}, err
	}
	return ref, err
}

func (s views) Living(ctx context.Context, tenant string) (n int, err error) {
	err = s.read(ctx, tenant, op{name: "instance_living", args: args{"tenant": tenant}, scan: func(r row) error { return r.Scan(&n) }})
	return n, err
}

func (s views) Backlog(ctx context.Context) (b ports.Backlog, err error) {
	err = s.read(ctx, fleet, op{name: "backlog", args: args{"now": s.now()}, scan: func(r row) error {
		return r.Scan(&b.InboxDue, &b.OutboxDue, &b.TimersOverdue, &b.TasksFetchable, &b.ClaimsHeld,
			&b.OldestInbox, &b.OldestOutbox, &b.OldestTimer, &b.OldestTask, &b.OldestClaim,
			&b.OutboxPoisoned, &b.InboxDead, &b.TasksTerminal, &b.InstancesFailed, &b.InstancesSuspended)
	}})
	return b, err
}
