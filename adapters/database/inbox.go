package database

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// The states of an inbox row.
const (
	inboxPending = "pending"
	inboxDone    = "done"
	inboxDead    = "dead"
)

// Inbox keeps messages.
func (s *Store) Inbox() ports.Inbox { return inbox{s} }

type inbox struct{ *Store }

func (s inbox) Accept(ctx context.Context, all []ports.Message) []ports.Answer {
	return s.settle(ctx, group{
		n:      len(all),
		tenant: func(i int) string { return all[i].Tenant },
		keys:   func(i int) []string { return []string{string(all[i].Event[:])} },
		size:   func(i int) int { return 300 + len(all[i].Payload) },
		write: func(ctx context.Context, tenant string, open []int) error {
			w := newWriting(tenant, s.now())
			for _, i := range open {
				w.accept(&all[i])
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: w.ops()})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			q := newQuestion(tenant)
			for _, i := range open {
				q.add("inbox_state", all[i].Event)
				q.lease(all[i].Leases)
			}
			if err := s.run.read(ctx, tenant, q.ops()); err != nil {
				return err
			}
			for _, i := range open {
				if e, there := q.events[all[i].Event]; there {
					out[i] = ports.Answer{Outcome: ports.Duplicate, Other: e.instance}
				} else {
					out[i] = q.passed(all[i].Leases)
				}
			}
			return nil
		},
	})
}

func (s *Store) events(ctx context.Context, tenant string, keys []any) (map[ports.Key]event, error) {
	q := newQuestion(tenant)
	q.add("inbox_state", keys...)
	err := s.run.read(ctx, tenant, q.ops())
	return q.events, err
}

func (s inbox) Pending(ctx context.Context, before time.Time, lease time.Duration, limit int) ([]ports.Message, error) {
	var found map[ports.Key]*ports.Message
	took, err := s.handOut(ctx, func(run run) error {
		found = map[ports.Key]*ports.Message{}
		var targets []any
		all := args{"before": before, "limit": limit}
		err := run(op{name: "inbox_due", args: all, scan: func(r row) error {
			m, err := scanMessage(r)
			found[m.Event] = m
			if !m.Target.IsZero() && !slices.Contains(targets, any(m.Target)) {
				targets = append(targets, m.Target)
			}
			return err
		}})
		if err != nil || len(found) == 0 {
			return err
		}
		if err := run(op{name: "inbox_along", args: all, rows: targets, scan: func(r row) error {
			m, err := scanMessage(r)
			found[m.Event] = m
			return err
		}}); err != nil {
			return err
		}
		var keys []any
		for _, m := range byTarget(found) {
			keys = append(keys, m.Event)
		}
		return run(op{name: "inbox_lease", args: args{"until": s.now().Add(lease), "before": before}, rows: keys})
	})
	if !took {
		return nil, err
	}
	return byTarget(found), nil
}

// byTarget orders messages by the age of their target's oldest row; rows without a target stand alone.
func byTarget(found map[ports.Key]*ports.Message) []ports.Message {
	oldest := map[ports.InstanceID]time.Time{}
	out := make([]ports.Message, 0, len(found))
	for _, m := range found {
		out = append(out, *m)
		if first, there := oldest[m.Target]; !there || m.NextAttempt.Before(first) {
			oldest[m.Target] = m.NextAttempt
		}
	}
	since := func(m *ports.Message) time.Time {
		if m.Target.IsZero() {
			return m.NextAttempt
		}
		return oldest[m.Target]
	}
	slices.SortFunc(out, func(a, b ports.Message) int {
		return cmp.Or(since(&a).Compare(since(&b)), bytes.Compare(a.Target[:], b.Target[:]), older(&a, &b))
	})
	return out
}

func older(a, b *ports.Message) int {
	return cmp.Or(a.Accepted.Compare(b.Accepted), bytes.Compare(a.Event[:], b.Event[:]))
}

func (s inbox) Of(ctx context.Context, targets []ports.Ref) ([]ports.Message, error) {
	var out []ports.Message
	err := eachTenant(targets, refTenant, func(tenant string, refs []ports.Ref) error {
		return s.messages(ctx, &out, tenant, op{name: "inbox_of", args: args{"tenant": tenant}, rows: column(refs, refID)})
	})
	slices.SortFunc(out, func(a, b ports.Message) int {
		return cmp.Or(bytes.Compare(a.Target[:], b.Target[:]), older(&a, &b))
	})
	return out, err
}

func (s inbox) Kept(ctx context.Context, tenant string, names []ports.Key, limit int) ([]ports.Message, error) {
	var out []ports.Message
	err := s.messages(ctx, &out, tenant, op{
		name: "inbox_kept", args: args{"tenant": tenant, "limit": limit}, rows: column(names, func(k ports.Key) any { return k }),
	})
	slices.SortFunc(out, func(a, b ports.Message) int { return older(&a, &b) })
	return out[:min(len(out), limit)], err
}

func (s inbox) messages(ctx context.Context, into *[]ports.Message, tenant string, o op) error {
	o.scan = func(r row) error {
		m, err := scanMessage(r)
		*into = append(*into, *m)
		return err
	}
	return s.read(ctx, tenant, o)
}

func (s inbox) Defer(ctx context.Context, refs []ports.InboxRef, until time.Time, why string) error {
	return s.onRows(ctx, refs, op{name: "inbox_defer", args: args{"until": until, "why": why, "now": s.now()}})
}

func (s inbox) Bury(ctx context.Context, refs []ports.InboxRef, why string) error {
	return s.onRows(ctx, refs, op{name: "inbox_bury", args: args{"why": why}})
}

func (s inbox) onRows(ctx context.Context, refs []ports.InboxRef, o op) error {
	return eachTenant(refs, inboxTenant, func(tenant string, refs []ports.InboxRef) error {
		o.args["tenant"] = tenant
		o.rows = sortedKeys(refs)
		return s.write(ctx, tenant, o)
	})
}

func (s inbox) Finish(ctx context.Context, refs []ports.InboxRef) ([]ports.Answer, error) {
	out := s.settle(ctx, group{
		n:      len(refs),
		tenant: func(i int) string { return refs[i].Tenant },
		keys:   func(i int) []string { return []string{string(refs[i].Event[:])} },
		size:   func(int) int { return 100 },
		write: func(ctx context.Context, tenant string, open []int) error {
			return s.run.write(ctx, tx{tenant: tenant, ops: []op{{
				name: "inbox_finish", args: args{"tenant": tenant, "now": s.now()}, rows: column(open, func(i int) any { return refs[i].Event }),
			}}})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			return s.notPending(ctx, tenant, refs, open, out)
		},
	})
	return out, unsettled(out)
}

func (s inbox) notPending(ctx context.Context, tenant string, refs []ports.InboxRef, open []int, out []ports.Answer) error {
	events, err := s.events(ctx, tenant, column(open, func(i int) any { return refs[i].Event }))
	for _, i := range open {
		if err == nil && events[refs[i].Event].state != inboxPending {
			out[i].Outcome = ports.Gone
		}
	}
	return err
}

func (s inbox) Forward(ctx context.Context, from ports.InboxRef, cursor []byte, last bool, to []ports.Message) (ports.Answer, error) {
	fresh := to // what is not there yet: an earlier attempt may have written some
	out := s.settle(ctx, group{
		n:      1,
		tenant: func(int) string { return from.Tenant },
		keys:   func(int) []string { return []string{string(from.Event[:])} },
		size:   func(int) int { return 0 },
		write: func(ctx context.Context, tenant string, _ []int) error {
			w := newWriting(tenant, s.now())
			for i := range fresh {
				w.accept(&fresh[i])
			}
			turn := op{name: "inbox_forward", args: args{"tenant": tenant, "now": w.now}, rows: []any{from.Event, cursor}}
			if last {
				turn = op{name: "inbox_finish", args: turn.args, rows: []any{from.Event}}
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: append([]op{turn}, w.ops()...)})
		},
		ask: func(ctx context.Context, tenant string, _ []int, out []ports.Answer) error {
			keys := []any{from.Event}
			for _, m := range to {
				keys = append(keys, m.Event)
			}
			events, err := s.events(ctx, tenant, keys)
			switch now := events[from.Event]; {
			case err != nil:
			case now.state != inboxPending:
				out[0].Outcome = ports.Gone
			case !last && len(cursor) > 0 && bytes.Equal(now.cursor, cursor):
				out[0].Outcome = ports.Done
			}
			fresh = slices.DeleteFunc(slices.Clone(to), func(m ports.Message) bool { _, there := events[m.Event]; return there })
			return err
		},
	})
	return out[0], out[0].Err
}

// unsettled is the trouble of a group's elements.
func unsettled(all []ports.Answer) error {
	var errs []error
	for _, a := range all {
		errs = append(errs, a.Err)
	}
	return errors.Join(errs...)
}

func (s inbox) Replies(ctx context.Context, refs []ports.InboxRef) ([]ports.Taken, error) {
	var out []ports.Taken
	err := eachTenant(refs, inboxTenant, func(tenant string, refs []ports.InboxRef) error {
		return s.read(ctx, tenant, op{
			name: "inbox_taken", args: args{"tenant": tenant}, rows: sortedKeys(refs), scan: func(r row) error {
				var t ports.Taken
				var fault ports.Fault
				err := r.Scan(&t.Tenant, &t.Channel, &t.Event, &t.State, &t.Instance, &t.Reply, &t.Status,
					&fault.Code, &fault.Detail, &fault.Node, &t.Deployment)
				t.Reply = bytes.Clone(t.Reply)
				if fault != (ports.Fault{}) {
					t.Fault = &fault
				}
				out = append(out, t)
				return err
			},
		})
	})
	return out, err
}

func (s inbox) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	purged := 0
	err := s.hold(ctx, fleet, func(run run) error {
		var keys []any
		err := run(op{name: "inbox_old", args: args{"before": before, "limit": limit}, scan: func(r row) error {
			var k ports.Key
			err := r.Scan(&k)
			keys = append(keys, k)
			return err
		}})
		if purged = len(keys); err != nil || purged == 0 {
			return err
		}
		return run(op{name: "inbox_delete", rows: keys})
	})
	return purged, err
}

func inboxTenant(r ports.InboxRef) string { return r.Tenant }

// sortedKeys is a group of event keys in the order in which all transactions take them.
func sortedKeys(refs []ports.InboxRef) []any {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b ports.InboxRef) int { return bytes.Compare(a.Event[:], b.Event[:]) })
	return column(refs, func(r ports.InboxRef) any { return r.Event })
}

func scanMessage(r row) (*ports.Message, error) {
	var m ports.Message
	err := r.Scan(&m.Tenant, &m.Event, &m.Channel, &m.EventID, &m.Kind, &m.Target, &m.Wait, &m.Source, &m.Deployment, &m.Name,
		&m.Correlation, &m.Stream, &m.Position, &m.Cursor, &m.Payload, &m.Accepted, &m.Expires, &m.Attempts, &m.NextAttempt,
		&m.Refused.Code, &m.Refused.At)
	m.EventID, m.Cursor, m.Payload = bytes.Clone(m.EventID), bytes.Clone(m.Cursor), bytes.Clone(m.Payload)
	return &m, err
}
