package database

import (
	"context"

	"github.com/sutra-engine/sutra/ports"
)

// rules are what must hold at every instant, each by the statement that finds what breaks it. One statement is one snapshot, so a
// fleet at work breaks none of them.
func rules() []struct{ statement, says string } {
	return []struct{ statement, says string }{
		{"verify_wait", "only a suspended instance has waits"},
		{"verify_alias", "no instance that has ended has aliases"},
		{"verify_task", "only a suspended instance has tasks"},
		{"verify_driven", "every suspended instance has a wait or a pending message that can drive it"},
		{"verify_claim", "a claim has an owner and a time, or neither"},
		{"verify_slot", "a slot has at most one active revision"},
		{"verify_retired", "a retired revision has no live instance, no pending emission and no parked task"},
	}
}

// Verify finds up to limit breaches of each rule. It reads, and locks nothing.
func (s views) Verify(ctx context.Context, limit int) ([]ports.Breach, error) {
	var out []ports.Breach
	for _, rule := range rules() {
		err := s.read(ctx, fleet, op{name: rule.statement, args: args{"limit": limit}, scan: func(r row) error {
			breach := ports.Breach{Rule: rule.says}
			var err error
			if rule.statement == "verify_slot" || rule.statement == "verify_retired" {
				err = r.Scan(&breach.Tenant, &breach.Deployment)
			} else {
				err = r.Scan(&breach.Tenant, &breach.Instance)
			}
			out = append(out, breach)
			return err
		}})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
