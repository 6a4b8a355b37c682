package database

import (
	"bytes"
	"context"
	"slices"

	"github.com/sutra-engine/sutra/ports"
)

// Audits keeps what operators did.
func (s *Store) Audits() ports.Audits { return audits{s} }

type audits struct{ *Store }

func (s audits) Note(ctx context.Context, a ports.Audit) error {
	return s.write(ctx, a.Tenant, s.noted(a))
}

// noted writes an action in the transaction of what it did.
func (s *Store) noted(a ports.Audit) op {
	return op{name: "audit_insert", args: args{"tenant": a.Tenant, "now": s.now()}, rows: auditRow(a)}
}

func auditRow(a ports.Audit) []any {
	return []any{a.ID, a.Actor, a.Action, a.Instance, a.Subject, a.Detail}
}

func (s audits) List(ctx context.Context, q ports.AuditQuery) ([]ports.Audit, error) {
	all := args{"limit": q.Limit}
	given(all, "after", q.After, q.After.IsZero())
	given(all, "instance", q.Instance, q.Instance.IsZero())
	given(all, "actor", q.Actor, q.Actor == "")
	given(all, "action", q.Action, q.Action == "")
	given(all, "since", q.Since, q.Since.IsZero())
	given(all, "until", q.Until, q.Until.IsZero())
	var out []ports.Audit
	for _, tenant := range scopes(q.Tenants) {
		all["tenant"] = tenant
		err := s.read(ctx, fleet, op{name: "audit_list", args: all, scan: func(r row) error {
			var a ports.Audit
			err := r.Scan(&a.ID, &a.Tenant, &a.At, &a.Actor, &a.Action, &a.Instance, &a.Subject, &a.Detail)
			a.Detail = bytes.Clone(a.Detail)
			out = append(out, a)
			return err
		}})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b ports.Audit) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return out[:min(len(out), q.Limit)], nil
}
