package replica_test

import (
	"fmt"
	"testing"

	"github.com/sutra-engine/sutra/ports/fault"
)

// TestAStartByNameThatFailsSaysSo, the first time as every other.
func TestAStartByNameThatFailsSaysSo(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"), process("p", `<startEvent id="p-0"/>`,
		`<endEvent id="p-1"><errorEventDefinition errorRef="boom"/></endEvent>`)+`<error id="boom" errorCode="BOOM"/>`)
	in := e.incoming(`{}`)
	var told []string
	for range 2 {
		r, err := e.Intake.Start(t.Context(), tenant, "", "p", in)
		if err == nil || r.Instance.IsZero() {
			t.Fatalf("got %+v, %v; want why it failed", r, err)
		}
		told = append(told, fmt.Sprint(fault.Of(err).Code, " ", fault.Of(err).Instance))
	}
	if told[0] != told[1] {
		t.Errorf("the first call is told %s, the second %s", told[0], told[1])
	}
	e.ended(map[string]int{"p failed": 1})
}
