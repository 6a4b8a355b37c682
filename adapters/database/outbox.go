package database

import (
	"bytes"
	"context"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Outbox hands out emissions and settles them.
func (s *Store) Outbox() ports.Outbox { return outbox{s} }

type outbox struct{ *Store }

func (s outbox) Take(ctx context.Context, by string, stale time.Time, limit int) ([]ports.Stamped, error) {
	var out []ports.Stamped
	took, err := s.handOut(ctx, func(run run) error {
		now := s.now()
		out = nil
		err := run(op{name: "outbox_due", args: args{"now": now, "stale": stale, "limit": limit}, scan: func(r row) error {
			var e ports.Stamped
			err := scanStamped(r, &e)
			e.By, e.At = by, now
			out = append(out, e)
			return err
		}})
		if err != nil || len(out) == 0 {
			return err
		}
		ids := column(out, func(e ports.Stamped) any { return e.ID })
		return run(op{name: "outbox_stamp", args: args{"by": by, "now": now, "stale": stale}, rows: ids})
	})
	if !took {
		return nil, err
	}
	return out, nil
}

func (s outbox) Settle(ctx context.Context, all []ports.Settled) ([]ports.Answer, error) {
	delivered := make([]bool, len(all)) // the delivery is there already
	return s.settle(ctx, group{
		n:      len(all),
		tenant: func(i int) string { return all[i].Tenant },
		keys:   func(i int) []string { return []string{string(all[i].ID[:])} },
		size: func(i int) int {
			if all[i].Delivery == nil {
				return 200
			}
			return 500 + len(all[i].Delivery.Payload)
		},
		write: func(ctx context.Context, tenant string, open []int) error {
			w := newWriting(tenant, s.now())
			for _, i := range open {
				w.settled(&all[i])
				if all[i].Delivery != nil && !delivered[i] {
					w.accept(all[i].Delivery)
				}
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: w.ops()})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			stamps := map[ports.EmissionID]emission{}
			events := newQuestion(tenant)
			for _, i := range open {
				if d := all[i].Delivery; d != nil {
					events.add("inbox_state", d.Event)
				}
			}
			state := emissionOp(tenant, column(open, func(i int) any { return all[i].ID }), stamps)
			if err := s.run.read(ctx, tenant, append(events.ops(), state)); err != nil {
				return err
			}
			for _, i := range open {
				if now := stamps[all[i].ID]; now.by != all[i].By || !now.at.Equal(all[i].At) {
					out[i].Outcome = ports.Gone
				}
				if d := all[i].Delivery; d != nil {
					_, delivered[i] = events.events[d.Event]
				}
			}
			return nil
		},
	}), nil
}

func (w *writing) settled(e *ports.Settled) {
	switch e.Verdict {
	case ports.Sent:
		w.add("outbox_sent", e.ID, e.By, e.At)
	case ports.Poisoned:
		w.add("outbox_poison", e.ID, e.By, e.At, e.Error)
	case ports.Postponed:
		w.add("outbox_later", e.ID, e.By, e.At, e.Next, 0, null(e.Error))
	default:
		w.add("outbox_later", e.ID, e.By, e.At, e.Next, 1, null(e.Error))
	}
}

func (s outbox) Free(ctx context.Context, by string) (int, error) {
	return s.free(ctx, by, by+"\x01")
}

// free takes the stamps of everybody from low to below high.
func (s *Store) free(ctx context.Context, low, high string) (int, error) {
	hits := 0
	err := s.write(ctx, fleet, op{name: "outbox_free", args: args{"low": low, "high": high}, hits: &hits})
	return hits, err
}

func (s outbox) Redrive(ctx context.Context, tenant string, id ports.EmissionID, by ports.Audit) (ports.Answer, error) {
	found := map[ports.EmissionID]emission{}
	if err := s.read(ctx, tenant, emissionOp(tenant, []any{id}, found)); err != nil {
		return ports.Answer{Err: err}, err
	}
	if e, there := found[id]; !there || !e.poisoned {
		return ports.Answer{Outcome: ports.Gone}, nil
	}
	return s.revive(ctx, found[id].deployment, op{name: "outbox_redrive", args: args{"tenant": tenant, "now": s.now()}, rows: []any{id}}, s.noted(by))
}

// emission is how an outbox row stands.
type emission struct {
	by         string
	at         time.Time
	deployment ports.DeploymentID
	poisoned   bool
}

func emissionOp(tenant string, ids []any, into map[ports.EmissionID]emission) op {
	return op{name: "outbox_state", args: args{"tenant": tenant}, rows: ids, scan: func(r row) error {
		var id ports.EmissionID
		var e emission
		var poisoned int64
		err := r.Scan(&id, &e.by, &e.at, &e.deployment, &poisoned)
		e.poisoned = poisoned != 0
		into[id] = e
		return err
	}}
}

// scanStamped reads an emission's columns before those that follow them.
func scanStamped(r row, e *ports.Stamped, after ...any) error {
	var headers []byte
	err := r.Scan(append([]any{
		&e.Tenant, &e.ID, &e.Deployment, &e.Instance, &e.Seq, &e.Destination, &e.ContentType, &headers, &e.Body,
		&e.Wait, &e.Attempt, &e.Trace, &e.Attempts, &e.By, &e.At, &e.Created,
	}, after...)...)
	if err != nil {
		return err
	}
	e.Body = bytes.Clone(e.Body)
	e.Headers, err = unpackHeaders(headers)
	return err
}
