package replica_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestAKeptMessageWhoseKeyIsHeldGoesToTheHolder where the model says so, whatever the channel's ack-mode is.
func TestAKeptMessageWhoseKeyIsHeldGoesToTheHolder(t *testing.T) {
	const n = 8
	for _, mode := range []string{"on-complete", "on-persist"} {
		t.Run(mode, func(t *testing.T) {
			e := run(t, fmt.Sprintf("  - {name: begin, transport: http, ack-mode: %s, auth: {scheme: none}}\n", mode), process("p",
				`<startEvent id="p-0"><extensionElements><q:source channel="begin"/><q:alias name="key" expression="payload.key" unique="true" onConflict="correlate"/></extensionElements></startEvent>`,
				`<task id="p-1"><extensionElements><q:reply contentType="application/json" body="{}"/></extensionElements></task>`,
				wait("p", 2, "begin"), `<endEvent id="p-3"/>`))
			var beside sync.WaitGroup
			for i := range n {
				for range 2 { // they look for who waits at once, and find nobody
					beside.Go(func() { e.send("begin", fmt.Sprintf(`{"key": %d}`, i)) })
				}
			}
			beside.Wait()
			e.ended(map[string]int{"p completed": n})
		})
	}
}
