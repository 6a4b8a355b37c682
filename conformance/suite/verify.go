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
	n.Waits = append(n.Waits, ports.Wait{ID: 3, Kind: ports.WaitTask, Node: "work"})
	f.start(n)
	_, a, err := f.store.Deployments().Activate(t.Context(), ports.Activation{
		Slot: f.slot("2"), ID: f.deployment(), Archive: []byte("zip"), Doors: []ports.Door{{Channel: "c", Address: f.tenant}},
		Schedules: []ports.Schedule{{Process: "p", Node: "s", Due: f.clock.Now()}},
	})
	f.must(err)
	f.settled("deploy", ports.Answer{Outcome: a.Outcome}, ports.Done)
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
		{"UPDATE sutra_deployment SET phase = 'retired'", 3}, // with work, a door and a schedule
		{"UPDATE sutra_deployment SET phase = 'active'", 0},
		{"UPDATE sutra_wait SET attempt_at = NULL WHERE kind = 'timer'", 1},
		{"UPDATE sutra_wait SET attempt_at = due_at WHERE kind = 'timer'", 0},
		{"UPDATE sutra_wait SET wait_id = 4 WHERE kind = 'task'", 1}, // whose task is another's
		{"UPDATE sutra_wait SET wait_id = 3 WHERE kind = 'task'", 0},
		{"DELETE FROM sutra_archive", 1},
		{"UPDATE sutra_deployment SET dropped = 1", 0},
		{"UPDATE sutra_instance SET status = 'failed'", 2}, // with waits, and with a task
		{"UPDATE sutra_instance SET status = 'suspended'", 0},
		{"UPDATE sutra_instance SET status = 'completed', ended_at = created_at", 3}, // and with an alias
		{"UPDATE sutra_instance SET status = 'suspended', ended_at = NULL", 0},
		{"DELETE FROM sutra_wait", 1},
		{"DELETE FROM sutra_instance", 3}, // a task, an alias and a history of nobody
	} {
		f.db.Exec(t, tc.statement)
		if got := broken(); len(got) != tc.rules {
			t.Errorf("after %s: got %d rules broken, %v; want %d", tc.statement, len(got), got, tc.rules)
		}
	}
}
