package database

import (
	"context"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Correlation finds who waits.
func (s *Store) Correlation() ports.Correlation { return correlation{s} }

type correlation struct{ *Store }

func (s correlation) Find(ctx context.Context, all []ports.Lookup, limit int) ([][]ports.Waiting, error) {
	out := make([][]ports.Waiting, len(all))
	err := eachTenant(indices(all), func(i int) string { return all[i].Tenant }, func(tenant string, part []int) error {
		var ops []op
		for _, i := range part {
			l := all[i]
			a := args{"tenant": tenant, "name": l.Wait, "limit": limit}
			o := op{name: "correlate_name", args: a, scan: waiting(tenant, &out[i])}
			if l.Alias != "" {
				o.name = "correlate_alias"
				a["alias"] = valueKey(lookupAlias(l))
			}
			ops = append(ops, o)
		}
		return s.read(ctx, tenant, ops...)
	})
	return out, err
}

func (s correlation) Holder(ctx context.Context, all []ports.Lookup) ([]ports.Ref, error) {
	out := make([]ports.Ref, len(all))
	err := eachTenant(indices(all), func(i int) string { return all[i].Tenant }, func(tenant string, part []int) error {
		q := newQuestion(tenant)
		q.add("alias_holder", column(part, func(i int) any { return uniqueKey(tenant, lookupAlias(all[i])) })...)
		err := s.read(ctx, tenant, q.ops()...)
		for _, i := range part {
			if id, there := q.aliases[uniqueKey(tenant, lookupAlias(all[i]))]; there {
				out[i] = ports.Ref{Tenant: tenant, ID: id}
			}
		}
		return err
	})
	return out, err
}

func (s correlation) Signalled(ctx context.Context, tenant string, name ports.Key, armed time.Time, after ports.Waiting, limit int) ([]ports.Waiting, error) {
	var out []ports.Waiting
	err := s.read(ctx, tenant, op{
		name: "correlate_signal",
		args: args{"tenant": tenant, "name": name, "armed": armed, "instance": floor(after.ID), "wait": after.Wait, "limit": limit},
		scan: waiting(tenant, &out),
	})
	return out, err
}

func lookupAlias(l ports.Lookup) ports.Alias {
	return ports.Alias{Module: l.Module, Name: l.Alias, Value: l.Value}
}

func waiting(tenant string, into *[]ports.Waiting) func(row) error {
	return func(r row) error {
		w := ports.Waiting{Ref: ports.Ref{Tenant: tenant}}
		var armed time.Time
		err := r.Scan(&w.ID, &w.Deployment, &w.Wait, &w.Node, &armed)
		*into = append(*into, w)
		return err
	}
}
