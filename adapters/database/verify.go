package database

import (
	"context"

	"github.com/sutra-engine/sutra/ports"
)

// rule is what must hold at every instant, by the statement that finds what breaks it: an instance, or a revision.
type rule struct{ statement, says, of string }

// rules are all of them. One statement is one snapshot, so a fleet at work breaks none.
func rules() []rule {
	return []rule{
		{"verify_wait", "only a suspended instance has waits", "instance"},
		{"verify_alias", "no instance that has ended has aliases", "instance"},
		{"verify_task", "only a suspended instance has tasks", "instance"},
		{"verify_driven", "every suspended instance has a wait or a pending message that can drive it", "instance"},
		{"verify_timer", "every timer has a time at which it is tried", "instance"},
		{"verify_work", "whoever waits for a task has it, or a pending message", "instance"},
		{"verify_claim", "a claim has an owner and a time, or neither", "instance"},
		{"verify_slot", "a slot has at most one active revision", "revision"},
		{"verify_retired", "a retired revision has no live instance, no pending emission and no parked task", "revision"},
		{"verify_door", "every door is an active revision's", "revision"},
		{"verify_schedule", "every armed schedule is an active revision's", "revision"},
		{"verify_archive", "a revision that is not dropped has its archive", "revision"},
		{"verify_history", "the history is that of an instance which is there", "instance"},
	}
}

// Verify finds up to limit breaches of each rule. It reads, and locks nothing.
func (s views) Verify(ctx context.Context, limit int) ([]ports.Breach, error) {
	var out []ports.Breach
	for _, rule := range rules() {
		err := s.read(ctx, fleet, op{name: rule.statement, args: args{"limit": limit}, scan: func(r row) error {
			breach := ports.Breach{Rule: rule.says}
			var err error
			if rule.of == "revision" {
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
