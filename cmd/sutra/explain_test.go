package main

import (
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/client/wire"
)

func TestARevisionIsHeldByNamedWork(t *testing.T) {
	d := wire.Deployment{DeploymentID: "d", Slot: "t--m--1", Phase: "Draining", Blockers: &wire.Blockers{
		LiveInstances: 7, ParkedTasks: 1, Examples: &wire.Examples{Instances: []string{"i1", "i2"}, Outbox: []string{"gone since the count"}, Tasks: []string{"k1"}},
	}}
	said := explained(d)
	for _, want := range []string{"7 instances have not ended: sutra instances --deployment d", "\n      i1\n      i2", "1 external tasks are not done: sutra tasks\n      k1"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if strings.Contains(said, "gone since") || strings.Contains(said, "emissions") {
		t.Errorf("a leg that is zero is told in\n%s", said)
	}
	d.Blockers = &wire.Blockers{}
	if said := explained(d); !strings.Contains(said, "by nothing") {
		t.Errorf("got\n%s", said)
	}
}
