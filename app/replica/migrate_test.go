package replica_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// keyed is a process that waits, with a key for its life.
func keyed(alias, name string) string {
	return process("p", `<extensionElements>`+alias+`</extensionElements>`+start("p", "begin"), wait("p", 1, "go"), `<endEvent id="p-2" name="`+name+`"/>`)
}

func TestAMigrationNamesATargetThatTakesIt(t *testing.T) {
	doors := fmt.Sprintf(door+door, "begin", "go")
	e := run(t, doors, keyed("", "old"))
	e.sendBeside("begin", `{"key": 1}`)
	e.ended(map[string]int{"p suspended": 1})
	instance := e.listed(1)[0]
	e.deploy(doors, keyed("", "new"))
	for _, tc := range []struct {
		code fault.Code
		m    ports.Migration
	}{
		{fault.MigrateTarget, ports.Migration{To: "acme--m--9"}},
		{fault.MigrateTarget, ports.Migration{To: "another--m--1"}},
		{fault.MigrateInactive, ports.Migration{To: string(instance.Deployment)}}, // it drains
		{fault.MigrateProcess, ports.Migration{Process: "q"}},
	} {
		for _, tc.m.DryRun = range []bool{true, false} {
			r := e.Operator.Migrate(t.Context(), ports.Actor{}, instance.ID, tc.m)
			if r.Outcome != ports.Refused || !errors.Is(r.Err, tc.code) {
				t.Errorf("%+v: got %s, %v, want %s", tc.m, r.Outcome, r.Err, tc.code)
			}
		}
	}
	if now := e.listed(1)[0]; now.Deployment != instance.Deployment || now.LastStep != instance.LastStep || now.Owner != "" {
		t.Errorf("a refused migration left %+v, was %+v", now, instance)
	}
}

func TestAMigrationTakesNobodysUniqueKey(t *testing.T) {
	doors := fmt.Sprintf(door+door, "begin", "go")
	e := run(t, doors, keyed(`<q:alias name="order" expression="payload.order"/>`, ""))
	e.sendBeside("begin", `{"key": 1, "order": "A"}`)
	e.sendBeside("begin", `{"key": 2, "order": "A"}`)
	e.ended(map[string]int{"p suspended": 2})
	two := e.listed(2)
	e.deploy(doors, keyed(`<q:alias name="order" expression="payload.order" unique="true"/>`, ""))
	if r := e.Operator.Migrate(t.Context(), ports.Actor{}, two[0].ID, ports.Migration{}); r.Outcome != ports.Migrated {
		t.Fatalf("got %s, %v", r.Outcome, r.Err)
	}
	for _, dry := range []bool{true, false} {
		r := e.Operator.Migrate(t.Context(), ports.Actor{}, two[1].ID, ports.Migration{DryRun: dry})
		f := fault.Of(r.Err)
		if r.Outcome != ports.Refused || f.Code != fault.MigrateRefused || len(f.All) != 1 || f.All[0].Code != fault.MigrateAlias {
			t.Errorf("got %s, %v, want %s", r.Outcome, r.Err, fault.MigrateAlias)
		}
	}
}

// listed are the instances, and there have to be so many.
func (e *engine) listed(n int) []ports.Instance {
	e.t.Helper()
	page, err := e.store.Views().List(e.t.Context(), ports.InstanceQuery{Limit: n + 1})
	rows := page.Instances
	if err != nil || len(rows) != n {
		e.t.Fatalf("got %v, %v, want %d instances", rows, err, n)
	}
	return rows
}
