package database

import (
	"context"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// Leases keeps one holder a role.
func (s *Store) Leases() ports.Leases { return leases{s} }

type leases struct{ *Store }

func (s leases) Hold(ctx context.Context, role, holder string, ttl, margin time.Duration) (ports.Term, ports.Outcome, error) {
	var term ports.Term
	var outcome ports.Outcome
	hold := func() error {
		return s.hold(ctx, fleet, func(run run) (err error) {
			term, outcome, err = s.take(run, ports.Term{Role: role, Holder: holder}, ttl, margin)
			return err
		})
	}
	err := hold()
	if class, _ := classOf(err); class == dialects.Duplicate {
		err = hold() // the role appeared for two at once: now it is there
	}
	return term, outcome, err
}

// take decides under the role's lock. The database's time is read there: a clock that is off gets no lease.
func (s leases) take(run run, want ports.Term, ttl, margin time.Duration) (ports.Term, ports.Outcome, error) {
	now, said := s.now(), time.Time{}
	found := map[string]ports.Term{}
	ops := []op{{name: "lease_lock", rows: []any{want.Role}}, leaseOp([]any{want.Role}, found)}
	_, disciplined := s.clock.(*clock)
	if disciplined {
		ops = append(ops, op{name: "store_now", scan: func(r row) error { return r.Scan(&said) }})
	}
	if err := run(ops...); err != nil {
		return ports.Term{}, "", err
	}
	if disciplined && said.Sub(s.now()).Abs() > margin {
		return ports.Term{}, ports.Stale, errUnchanged
	}
	is, there := found[want.Role]
	expired := !is.Expires.After(now)
	switch {
	case there && !expired && is.Holder != want.Holder:
		return is, ports.Held, errUnchanged
	case there && !expired:
		want.Number = is.Number
	default:
		want.Number = is.Number + 1
	}
	want.Expires = now.Add(ttl)
	write := op{name: "lease_update", args: args{"role": want.Role, "holder": want.Holder, "term": want.Number, "expires": want.Expires}}
	if !there {
		write.name = "lease_insert"
	}
	return want, ports.Done, run(write)
}

func (s leases) GiveBack(ctx context.Context, terms []ports.Term) error {
	o := op{name: "lease_end", args: args{"now": s.now()}}
	for _, t := range terms {
		o.rows = append(o.rows, t.Role, t.Holder, t.Number)
	}
	return s.write(ctx, fleet, o)
}

func (s leases) List(ctx context.Context) ([]ports.Term, error) {
	var out []ports.Term
	err := s.read(ctx, fleet, op{name: "lease_list", scan: func(r row) error {
		var t ports.Term
		err := r.Scan(&t.Role, &t.Holder, &t.Number, &t.Expires)
		out = append(out, t)
		return err
	}})
	return out, err
}

func leaseOp(roles []any, into map[string]ports.Term) op {
	return op{name: "lease_state", rows: roles, scan: func(r row) error {
		var t ports.Term
		err := r.Scan(&t.Role, &t.Holder, &t.Number, &t.Expires)
		into[t.Role] = t
		return err
	}}
}
