package database

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Claims takes and drops ownership.
func (s *Store) Claims() ports.Claims { return claims{s} }

type claims struct{ *Store }

// farFuture is later than every claim.
func farFuture() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

func (s claims) Claim(ctx context.Context, owner ports.Owner, refs []ports.Ref, silent time.Time) ([]ports.Claimed, error) {
	out := make([]ports.Claimed, len(refs))
	at := map[ports.Ref][]int{}
	var distinct []ports.Ref
	for i, ref := range refs {
		out[i].Ref = ref
		if at[ref] == nil {
			distinct = append(distinct, ref)
		}
		at[ref] = append(at[ref], i)
	}
	take := func(c ports.Claimed) {
		for _, i := range at[c.Ref] {
			out[i] = c
		}
	}
	err := eachTenant(distinct, refTenant, func(tenant string, refs []ports.Ref) error {
		sortRefs(refs)
		return s.claim(ctx, owner, tenant, refs, silent, take)
	})
	return out, err
}

func (s claims) claim(ctx context.Context, owner ports.Owner, tenant string, refs []ports.Ref, silent time.Time, take func(ports.Claimed)) error {
	all := args{"tenant": tenant, "owner": owner, "now": s.now(), "silent": silent}
	var got map[ports.InstanceID]bool
	err := s.repeat(ctx, func() error {
		got = map[ports.InstanceID]bool{}
		err := s.run.write(ctx, tx{tenant: tenant, cheap: true, ops: []op{{
			name: "instance_claim", args: all, rows: column(refs, refID), scan: func(r row) error {
				c := ports.Claimed{Outcome: ports.Done}
				err := scanInstance(r, &c.Instance)
				got[c.ID] = true
				take(c)
				return err
			},
		}}})
		if t, ok := errors.AsType[*trouble](err); ok {
			t.uncertain = false // what may have happened is sent again: it is granted to its owner once more
		}
		return err
	})
	if err != nil || len(got) == len(refs) {
		return coded(err)
	}
	var missed []ports.Ref
	for _, ref := range refs {
		if !got[ref.ID] {
			missed = append(missed, ref)
		}
	}
	there, err := s.states(ctx, tenant, column(missed, refID))
	for _, ref := range missed {
		c := ports.Claimed{Outcome: ports.Held, Instance: ports.Instance{Ref: ref}}
		if _, known := there[ref.ID]; !known {
			c.Outcome = ports.Gone
		}
		take(c)
	}
	return err
}

func (s claims) Beat(ctx context.Context, held []ports.Claim) ([]ports.Answer, error) {
	out := s.settle(ctx, group{
		n:      len(held),
		tenant: func(i int) string { return held[i].Tenant },
		keys:   func(i int) []string { return []string{string(held[i].ID[:])} },
		size:   func(int) int { return 100 },
		write: func(ctx context.Context, tenant string, open []int) error {
			return s.run.write(ctx, tx{tenant: tenant, cheap: true, ops: []op{
				{name: "instance_beat", args: args{"tenant": tenant, "now": s.now()}, rows: claimRows(held, open)},
			}})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			states, err := s.states(ctx, tenant, column(open, func(i int) any { return held[i].ID }))
			for _, i := range open {
				if err == nil && !states[held[i].ID].stands(held[i]) {
					out[i].Outcome = ports.ClaimLost
				}
			}
			return err
		},
	})
	return out, nil
}

// Release passes over rows that somebody has locked for a moment, and looks again whether they are still held.
func (s claims) Release(ctx context.Context, held []ports.Claim) error {
	return eachTenant(held, func(c ports.Claim) string { return c.Tenant }, func(tenant string, held []ports.Claim) error {
		for try := range maxTries {
			all := args{"tenant": tenant, "silent": farFuture()}
			if err := s.write(ctx, tenant, op{name: "instance_free", args: all, rows: claimRows(held, indices(held))}); err != nil {
				return err
			}
			states, err := s.states(ctx, tenant, column(held, func(c ports.Claim) any { return c.ID }))
			if err != nil {
				return err
			}
			var left []ports.Claim
			for _, c := range held {
				if states[c.ID].stands(c) {
					left = append(left, c)
				}
			}
			if held = left; len(held) == 0 || s.pause(ctx, try) != nil {
				break
			}
		}
		return nil // the sweep frees what is locked for longer
	})
}

func (s claims) Sweep(ctx context.Context, silent time.Time, limit int) ([]ports.Ref, error) {
	switch n, err := s.EndSessions(ctx, abandoned); {
	case err != nil:
		s.log.WarnContext(ctx, "sessions of stopped processes cannot be seen; their row locks stay", "error", err)
	case n > 0:
		s.log.WarnContext(ctx, "ended sessions whose transaction was left open", "sessions", n)
	}
	var found []ports.Claim
	err := s.read(ctx, fleet, op{name: "instance_silent", args: args{"silent": silent, "limit": limit}, scan: func(r row) error {
		var c ports.Claim
		err := r.Scan(&c.Tenant, &c.ID, &c.Owner, &c.Epoch)
		found = append(found, c)
		return err
	}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	all := args{"tenant": nil, "silent": silent}
	if err := s.write(ctx, fleet, op{name: "instance_free", args: all, rows: claimRows(found, indices(found))}); err != nil {
		return nil, err
	}
	states, err := s.states(ctx, fleet, column(found, func(c ports.Claim) any { return c.ID }))
	var freed []ports.Ref
	for _, c := range found {
		if now := states[c.ID]; now.owner == "" && now.epoch == c.Epoch {
			freed = append(freed, c.Ref)
		}
	}
	return freed, err
}

func (s claims) Forget(ctx context.Context, replica string) (int, error) {
	claims, err := s.forget(ctx, replica+"/", replica+"0") // 0 comes after /
	if err != nil {
		return claims, err
	}
	named, err := s.free(ctx, replica, replica+"\x01")
	if err != nil {
		return claims + named, err
	}
	stamps, err := s.free(ctx, replica+"/", replica+"0")
	return claims + named + stamps, err
}

func (s *Store) forget(ctx context.Context, low, high string) (int, error) {
	var hits int
	all := args{"low": low, "high": high}
	err := s.write(ctx, fleet, op{name: "instance_forget", args: all, hits: &hits})
	return hits, err
}

// held is how an instance's claim stands.
type held struct {
	last  ports.StepID
	owner ports.Owner
	epoch int64
}

func (h held) stands(c ports.Claim) bool { return h.owner == c.Owner && h.epoch == c.Epoch }

// states reads how claims stand; tenant may be the fleet.
func (s *Store) states(ctx context.Context, tenant string, ids []any) (map[ports.InstanceID]held, error) {
	out := map[ports.InstanceID]held{}
	err := s.read(ctx, tenant, stateOp(tenant, ids, out))
	return out, err
}

func stateOp(tenant string, ids []any, into map[ports.InstanceID]held) op {
	all := args{"tenant": tenant}
	if tenant == fleet {
		all["tenant"] = nil
	}
	return op{name: "instance_state", args: all, rows: ids, scan: func(r row) error {
		var id ports.InstanceID
		var h held
		var at time.Time
		err := r.Scan(&id, &h.last, &h.owner, &h.epoch, &at)
		into[id] = h
		return err
	}}
}

func claimRows(held []ports.Claim, open []int) []any {
	rows := make([]any, 0, 3*len(open))
	for _, i := range open {
		rows = append(rows, held[i].ID, held[i].Owner, held[i].Epoch)
	}
	return rows
}

func indices[T any](all []T) []int {
	out := make([]int, len(all))
	for i := range out {
		out[i] = i
	}
	return out
}

func refTenant(r ports.Ref) string { return r.Tenant }
func refID(r ports.Ref) any        { return r.ID }

func sortRefs(refs []ports.Ref) {
	slices.SortFunc(refs, func(a, b ports.Ref) int { return strings.Compare(string(a.ID[:]), string(b.ID[:])) })
}
