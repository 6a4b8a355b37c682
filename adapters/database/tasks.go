package database

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Tasks hands out external tasks.
func (s *Store) Tasks() ports.Tasks { return tasks{s} }

type tasks struct{ *Store }

func (s tasks) Take(ctx context.Context, ask ports.TaskAsk) ([]ports.LockedTask, error) {
	var out []ports.LockedTask
	took, err := s.handOut(ctx, func(run run) error {
		out = nil
		for _, topic := range ask.Topics {
			for _, tenant := range scopes(ask.Tenants) {
				got, err := s.take(run, ask, topic, tenant, ask.Max-len(out))
				if err != nil {
					return err
				}
				out = append(out, got...)
			}
		}
		return nil
	})
	if !took {
		return nil, err
	}
	return out, nil
}

func (s tasks) take(run run, ask ports.TaskAsk, topic ports.TaskTopic, tenant any, limit int) (out []ports.LockedTask, err error) {
	if limit <= 0 {
		return nil, nil
	}
	now := s.now()
	until := now.Add(topic.Lock)
	err = run(op{name: "task_due", args: args{"topic": topic.Name, "tenant": tenant, "now": now, "limit": limit}, scan: func(r row) error {
		t, err := scanTask(r)
		t.Worker, t.Epoch, t.LockUntil = ask.Worker, t.Epoch+1, until
		out = append(out, t)
		return err
	}})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	ids := column(out, func(t ports.LockedTask) any { return t.Task.ID })
	return out, run(op{name: "task_lock", args: args{"worker": ask.Worker, "until": until, "now": now}, rows: ids})
}

func (s tasks) Locate(ctx context.Context, tenants []string, id ports.TaskID) (tenant string, err error) {
	err = s.read(ctx, fleet, op{name: "task_tenant", rows: []any{id}, scan: func(r row) error { return r.Scan(&tenant) }})
	if tenants != nil && !slices.Contains(tenants, tenant) {
		return "", err
	}
	return tenant, err
}

func (s tasks) Read(ctx context.Context, refs []ports.TaskLock) ([]ports.LockedTask, error) {
	var out []ports.LockedTask
	err := eachTenant(refs, lockTenant, func(tenant string, refs []ports.TaskLock) error {
		return s.read(ctx, tenant, op{
			name: "task_read", args: args{"tenant": tenant}, rows: column(refs, func(l ports.TaskLock) any { return l.ID }),
			scan: func(r row) error {
				t, err := scanTask(r)
				out = append(out, t)
				return err
			},
		})
	})
	return out, err
}

func (s tasks) Extend(ctx context.Context, locks []ports.TaskLock, by time.Duration) ([]ports.Answer, error) {
	return s.locked(ctx, locks, func(w *writing, i int) {
		w.until = w.now.Add(by)
		w.add("task_extend", locks[i].ID, locks[i].Worker, locks[i].Epoch)
	}, nil), nil
}

func (s tasks) Fail(ctx context.Context, all []ports.FailedTask) ([]ports.Answer, error) {
	locks := make([]ports.TaskLock, len(all))
	for i := range all {
		locks[i] = all[i].TaskLock
	}
	return s.locked(ctx, locks, func(w *writing, i int) {
		f := &all[i]
		w.add("task_fail", f.ID, f.Worker, f.Epoch, f.Retries, w.now.Add(f.After), flag(f.Retries <= 0), f.Error)
	}, nil), nil
}

func (s tasks) Deliver(ctx context.Context, all []ports.CompletedTask) ([]ports.Answer, error) {
	locks := make([]ports.TaskLock, len(all))
	for i := range all {
		locks[i] = all[i].TaskLock
	}
	return s.locked(ctx, locks, func(w *writing, i int) {
		w.add("task_complete", locks[i].ID, locks[i].Worker, locks[i].Epoch)
		w.accept(&all[i].Delivery)
	}, func(i int) ports.Key { return all[i].Delivery.Event }), nil
}

// locked writes to tasks whose locks have to stand. event names the message that proves that an element has landed; nil: none does.
func (s tasks) locked(ctx context.Context, locks []ports.TaskLock, write func(w *writing, i int), event func(i int) ports.Key) []ports.Answer {
	return s.settle(ctx, group{
		n:      len(locks),
		tenant: func(i int) string { return locks[i].Tenant },
		keys:   func(i int) []string { return []string{string(locks[i].ID[:])} },
		size:   func(int) int { return 500 },
		write: func(ctx context.Context, tenant string, open []int) error {
			w := newWriting(tenant, s.now())
			for _, i := range open {
				write(w, i)
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: w.ops()})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			q := newQuestion(tenant)
			for _, i := range open {
				q.add("task_state", locks[i].ID)
				if event != nil {
					q.add("inbox_state", event(i))
				}
			}
			if err := s.run.read(ctx, tenant, q.ops()); err != nil {
				return err
			}
			for _, i := range open {
				now, there := q.tasks[locks[i].ID]
				landed := false
				if event != nil {
					_, landed = q.events[event(i)]
				}
				switch {
				case !there && landed:
					out[i].Outcome = ports.Done
				case !there:
					out[i].Outcome = ports.Gone
				case !lockStands(now, locks[i]):
					out[i].Outcome = ports.LockLost
				}
			}
			return nil
		},
	})
}

func (s tasks) Retry(ctx context.Context, ref ports.TaskLock, retries int, by ports.Audit) (ports.Answer, error) {
	found, err := s.Read(ctx, []ports.TaskLock{ref})
	if err != nil {
		return ports.Answer{Err: err}, err
	}
	if len(found) == 0 || !found[0].Terminal {
		return ports.Answer{Outcome: ports.Gone}, nil
	}
	all := args{"tenant": ref.Tenant, "retries": retries, "now": s.now()}
	return s.revive(ctx, found[0].Deployment, op{name: "task_retry", args: all, rows: []any{ref.ID}}, s.noted(by))
}

func lockTenant(l ports.TaskLock) string { return l.Tenant }

func scanTask(r row) (t ports.LockedTask, err error) {
	var open, terminal int64
	err = r.Scan(&t.Tenant, &t.Task.ID, &t.Ref.ID, &t.Wait, &t.Deployment, &t.Process, &t.Node, &t.Topic, &t.Inputs, &t.Headers, &t.Retries,
		&open, &t.Worker, &t.Epoch, &t.LockUntil, &terminal, &t.LastError, &t.Created)
	t.Inputs, t.Headers = bytes.Clone(t.Inputs), bytes.Clone(t.Headers)
	t.Open, t.Terminal = open != 0, terminal != 0
	return t, err
}
