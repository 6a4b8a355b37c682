package replica_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/app/replica"
	"github.com/sutra-engine/sutra/ports"
)

// second runs a second replica on the same database, which hears of deploys when it asks and not before.
func (e *engine) second() *replica.Replica {
	e.t.Helper()
	config := replica.Default(1)
	config.DeploymentsPoll, config.OutboxTick = time.Hour, 20*time.Millisecond
	config.Complete()
	r := replica.New(replica.Deps{
		Store: e.store, Config: config, Secrets: system.Secrets{}, IDs: &system.IDs{}, Now: system.Now, Watch: ports.Blind{},
		Log: slog.New(slog.DiscardHandler), Name: "beside",
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(e.t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx, 10*time.Second); err != nil {
			e.t.Error(err)
		}
	})
	e.t.Cleanup(func() {
		stop()
		running.Wait()
	})
	for len(r.Ready(e.t.Context())) > 0 {
		time.Sleep(time.Millisecond)
	}
	return r
}

const alarm = `<signal id="alarm" name="alarm"/>`

func woken(id, more string) string {
	return process(id, fmt.Sprintf(`<startEvent id="%s-0"><extensionElements>%s</extensionElements><signalEventDefinition signalRef="alarm"/></startEvent>`, id, more),
		fmt.Sprintf(`<receiveTask id="%s-1"><extensionElements><q:source channel="go"/></extensionElements></receiveTask>`, id), fmt.Sprintf(`<endEvent id="%s-2"/>`, id))
}

// TestASignalStartsWhatWasJustDeployedElsewhere: the answer of a deploy is definitive, whichever replica takes the signal.
func TestASignalStartsWhatWasJustDeployedElsewhere(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"), process("p", start("p", "begin"), `<endEvent id="p-1"/>`))
	stale := e.second()
	e.deploy(fmt.Sprintf(door+door, "begin", "go"), process("p", start("p", "begin"), `<endEvent id="p-1"/>`), alarm+woken("woken", ""))
	if _, err := stale.Intake.Broadcast(t.Context(), tenant, "alarm", e.incoming(`{}`)); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"woken suspended": 1})
}

// TestASignalStartThatIsRefusedKeepsNoOtherFromStarting, nor does it end the signal.
func TestASignalStartThatIsRefusedKeepsNoOtherFromStarting(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "go"), alarm+
		woken("a", `<q:alias name="only" expression="key" unique="true"/>`)+woken("b", ""))
	for i := range 2 {
		if _, err := e.Intake.Broadcast(t.Context(), tenant, "alarm", e.incoming(`{"key": 7}`)); err != nil {
			t.Fatal(err)
		}
		e.ended(map[string]int{"a suspended": 1, "b suspended": i + 1})
	}
	backlog, err := e.store.Views().Backlog(t.Context())
	if err != nil || backlog.InboxDead != 0 {
		t.Errorf("got %+v, %v; want no dead message", backlog, err)
	}
}
