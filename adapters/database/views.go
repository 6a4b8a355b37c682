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

// What one request reads at most for a page whose filters no index has together, and in how large bites. A page may so come back short.
const (
	walked = 5_000
	stride = 1_000
)

// manyTenants is how many tenants a list of everybody's goes through one by one.
const manyTenants = 100

func (s views) List(ctx context.Context, q ports.InstanceQuery) (ports.InstancePage, error) {
	var page ports.InstancePage
	paths, err := s.paths(ctx, q)
	if err != nil || len(paths) == 0 {
		return page, err
	}
	w := walk{paths: paths, after: slices.Repeat([]ports.InstanceID{q.After}, len(paths)), ended: make([]bool, len(paths))}
	for size := max(min(q.Limit, 8*q.Limit/len(paths)), 10); ; size = stride {
		rows, err := s.bite(ctx, &w, size)
		if err != nil {
			return page, err
		}
		for _, in := range rows {
			if shows(q, in) {
				page.Instances = append(page.Instances, in)
			}
		}
		switch n := q.Limit; {
		case len(page.Instances) >= n:
			page.Instances, page.Next = page.Instances[:n], page.Instances[n-1].ID
			return page, nil
		case w.floor.IsZero(), w.read >= walked:
			page.Next = w.floor
			return page, nil
		}
	}
}

// walk is how far a list was read along its paths.
type walk struct {
	paths []op
	after []ports.InstanceID // of each path, the last row that was read
	ended []bool
	floor ports.InstanceID // what is newer was read in all paths; zero: everything was
	ahead []ports.Instance // read, and older than floor
	read  int
}

// bite reads on in those paths that are behind the others, and answers what is known in full by then, newest first.
func (s views) bite(ctx context.Context, w *walk, size int) ([]ports.Instance, error) {
	var ops []op
	for i, path := range w.paths {
		if w.ended[i] || newer(w.floor, w.after[i]) {
			continue
		}
		path.args["limit"] = size
		given(path.args, "after", w.after[i], w.after[i].IsZero())
		w.ended[i] = true
		n := 0
		path.scan = func(r row) error {
			var in ports.Instance
			err := scanInstance(r, &in)
			w.ahead = append(w.ahead, in)
			n++
			w.after[i], w.ended[i] = in.ID, n < size
			return err
		}
		ops = append(ops, path)
	}
	if err := s.read(ctx, fleet, ops...); err != nil {
		return nil, err
	}
	w.floor = ports.InstanceID{}
	for i, id := range w.after {
		if !w.ended[i] && newer(id, w.floor) {
			w.floor = id
		}
	}
	slices.SortFunc(w.ahead, func(a, b ports.Instance) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	known, there := slices.BinarySearchFunc(w.ahead, w.floor, func(in ports.Instance, id ports.InstanceID) int { return bytes.Compare(id[:], in.ID[:]) })
	if there {
		known++
	}
	rows := w.ahead[:known]
	w.ahead = w.ahead[known:]
	w.read += len(rows)
	return rows, nil
}

// paths are the ranges of indexes that have what is asked for, each in the order of the list. Every status has a range of its own: so each
// index serves lists with a status and without. What the ranges have too much of, shows leaves out.
func (s views) paths(ctx context.Context, q ports.InstanceQuery) ([]op, error) {
	name, all, tenants, statuses := "instance_range", args{}, scopes(q.Tenants), q.Statuses
	given(all, "since_id", ports.FirstID(q.Since.Add(-late)), q.Since.IsZero())
	given(all, "until_id", ports.FirstID(q.Until.Add(late)), q.Until.IsZero())
	if len(statuses) == 0 {
		statuses = ports.Statuses()
	}
	switch {
	case q.Alias != nil:
		name, all["alias"], tenants, statuses = "instance_list", valueKey(*q.Alias), scopes(nil), nil
	case !q.Parent.IsZero():
		all["parent"], tenants, statuses = q.Parent, scopes(nil), nil
	case q.Deployment != "":
		all["deployment"], tenants = q.Deployment, scopes(nil)
	case q.Tenants != nil:
		given(all, "process", q.Process, q.Process == "")
	case q.Process == "" && len(q.Statuses) == 0:
		name, statuses = "instance_list", nil
	default:
		var err error
		if tenants, err = s.tenants(ctx); err != nil {
			return nil, err
		}
		if len(tenants) > manyTenants {
			name, tenants, statuses = "instance_list", scopes(nil), nil
			break
		}
		given(all, "process", q.Process, q.Process == "")
	}
	if len(statuses) == 0 {
		return []op{{name: name, args: all}}, nil
	}
	var paths []op
	for _, tenant := range tenants {
		for _, status := range statuses {
			path := op{name: name, args: maps.Clone(all)}
			given(path.args, "tenant", tenant, tenant == nil)
			path.args["status"] = status
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// tenants are those that ever deployed something, or as many of them that there are too many.
func (s views) tenants(ctx context.Context) (out []any, err error) {
	err = s.read(ctx, fleet, op{name: "tenant_list", args: args{"limit": manyTenants + 1}, scan: func(r row) error {
		var tenant string
		err := r.Scan(&tenant)
		out = append(out, tenant)
		return err
	}})
	return out, err
}

func newer(a, b ports.InstanceID) bool { return bytes.Compare(a[:], b[:]) > 0 }

// shows says that an instance is what was asked for.
func shows(q ports.InstanceQuery, in ports.Instance) bool {
	return (q.Tenants == nil || slices.Contains(q.Tenants, in.Tenant)) &&
		(q.Deployment == "" || q.Deployment == in.Deployment) &&
		(q.Process == "" || q.Process == in.Process) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, in.Status)) &&
		(q.Since.IsZero() || !in.Created.Before(q.Since)) &&
		(q.Until.IsZero() || in.Created.Before(q.Until)) &&
		(q.Parent.IsZero() || in.Parent != nil && in.Parent.Instance == q.Parent)
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

func (s views) Living(ctx context.Context, tenant, channel string, most int) (n int, err error) {
	var ops []op
	count := func(name, what string, value any) {
		ops = append(ops, op{name: name, args: args{"tenant": tenant, "limit": most, what: value}, scan: func(r row) error {
			var more int
			err := r.Scan(&more)
			n += more
			return err
		}})
	}
	if channel != "" {
		count("channel_living", "channel", channel)
	} else {
		for _, status := range ports.Statuses() {
			if !status.Ended() {
				count("instance_living", "status", status)
			}
		}
	}
	err = s.read(ctx, tenant, ops...)
	return min(n, most), err
}

func (s views) Backlog(ctx context.Context) (b ports.Backlog, err error) {
	err = s.read(ctx, fleet, op{name: "backlog", args: args{"now": s.now()}, scan: func(r row) error {
		return r.Scan(&b.InboxDue, &b.OutboxDue, &b.TimersOverdue, &b.TasksFetchable, &b.ClaimsHeld,
			&b.OldestInbox, &b.OldestOutbox, &b.OldestTimer, &b.OldestTask, &b.OldestClaim,
			&b.OutboxPoisoned, &b.InboxDead, &b.TasksTerminal, &b.InstancesFailed, &b.InstancesSuspended)
	}})
	return b, err
}
