package suite

import (
	"testing"

	"github.com/sutra-engine/sutra/ports"
)

func verifyTests() []test {
	return []test{
		{"VerifyFindsEachBreach", verifyFindsEachBreach},
	}
}

// verifyFindsEachBreach breaks each rule past the store, and wants it found, and nothing before.
func verifyFindsEachBreach(t *testing.T, h Harness) {
	f := own(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	f.start(n)
	broken := func() map[string]bool {
		breaches, err := f.store.Views().Verify(t.Context(), 10)
		f.must(err)
		rules := map[string]bool{}
		for _, b := range breaches {
			f.want("the tenant of a breach", b.Tenant, f.tenant)
			rules[b.Rule] = true
		}
		return rules
	}
	f.want("breaches of a sound database", len(broken()), 0)
	for _, tc := range []struct {
		statement string
		rules     int
	}{
		{"UPDATE sutra_instance SET claim_owner = 'nobody'", 1},
		{"UPDATE sutra_instance SET claim_owner = NULL", 0},
		{"UPDATE sutra_deployment SET phase = 'retired'", 1},
		{"UPDATE sutra_deployment SET phase = 'active'", 0},
		{"UPDATE sutra_instance SET status = 'failed'", 2}, // with waits, and with a task
		{"UPDATE sutra_instance SET status = 'suspended'", 0},
		{"UPDATE sutra_instance SET status = 'completed', ended_at = created_at", 3}, // and with an alias
		{"UPDATE sutra_instance SET status = 'suspended', ended_at = NULL", 0},
		{"DELETE FROM sutra_wait", 1},
		{"DELETE FROM sutra_instance", 2}, // a task and an alias of nobody
	} {
		f.db.Exec(t, tc.statement)
		if got := broken(); len(got) != tc.rules {
			t.Errorf("after %s: got %d rules broken, %v; want %d", tc.statement, len(got), got, tc.rules)
		}
	}
}
