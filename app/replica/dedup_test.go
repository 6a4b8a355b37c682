package replica_test

import (
	"fmt"
	"testing"
)

// TestAHotDeployForgetsNoMessage: what one revision took is a duplicate to the next, whatever the channel's ack-mode is.
func TestAHotDeployForgetsNoMessage(t *testing.T) {
	for _, mode := range []string{"on-complete", "on-persist"} {
		t.Run(mode, func(t *testing.T) {
			channel := fmt.Sprintf("  - {name: begin, transport: http, ack-mode: %s, auth: {scheme: none}}\n", mode)
			e := run(t, channel, process("p", start("p", "begin"), `<endEvent id="p-1"/>`))
			in := e.incoming(`{}`)
			in.Channel = "begin"
			if r, err := e.Intake.Take(t.Context(), in); err != nil || r.Duplicate {
				t.Fatalf("the first: got %+v, %v", r, err)
			}
			e.ended(map[string]int{"p completed": 1})
			e.deploy(channel, process("p", start("p", "begin"), `<task id="p-1"/>`, `<endEvent id="p-2"/>`))
			if r, err := e.Intake.Take(t.Context(), in); err != nil || !r.Duplicate {
				t.Errorf("the same after a deploy: got %+v, %v; want a duplicate", r, err)
			}
			e.ended(map[string]int{"p completed": 1})
		})
	}
}
