package replica_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

const persisted = "  - {name: %s, transport: http, ack-mode: on-persist, ttl: %s, auth: {scheme: none}}\n"

func one(n int) limit.Bounds { return limit.Bounds{Instances: limit.Bound{All: n}} }

// waiting waits for an answer to its key.
func waiting(id, channel string) string {
	return process(id, start(id, channel), wait(id, 1, "answer"), end(id, 2, "done"))
}

// refused hands a start to a channel that is refused, and leaves nothing behind.
func (e *engine) refused(in ports.Incoming, want error) {
	e.t.Helper()
	before, err := e.store.Views().Living(e.t.Context(), tenant, "", 1000)
	if err != nil {
		e.t.Fatal(err)
	}
	receipt, err := e.Intake.Take(e.t.Context(), in)
	if !errors.Is(err, want) || receipt.Durable {
		e.t.Fatalf("got %+v, %v; want %v", receipt, err, want)
	}
	if after, err := e.store.Views().Living(e.t.Context(), tenant, "", 1000); err != nil || after != before {
		e.t.Errorf("%d instances live after a refusal, %d before, %v", after, before, err)
	}
	if backlog, err := e.store.Views().Backlog(e.t.Context()); err != nil || backlog.InboxDue != 0 {
		e.t.Errorf("a refusal left %d messages, %v", backlog.InboxDue, err)
	}
}

func (e *engine) message(channel, body string) ports.Incoming {
	in := e.incoming(body)
	in.Channel = channel
	return in
}

func TestATenantAtItsLimitStartsNoMore(t *testing.T) {
	e := runWithin(t, one(2), fmt.Sprintf(door+door, "begin", "answer"), waiting("w", "begin"))
	first := e.message("begin", `{"key": 1}`)
	for _, in := range []ports.Incoming{first, e.message("begin", `{"key": 2}`)} {
		e.sendBesideIncoming(in)
	}
	e.ended(map[string]int{"w suspended": 2})
	third := e.message("begin", `{"key": 3}`)
	e.refused(third, fault.TooManyInstances)
	if _, err := e.Intake.Start(t.Context(), tenant, "", "w", e.incoming(`{}`)); !errors.Is(err, fault.TooManyInstances) {
		t.Errorf("a start by name: got %v", err)
	}
	// What came before is no start: it is answered as it was.
	if r, err := e.Intake.Take(t.Context(), first); err != nil || !r.Duplicate {
		t.Errorf("a duplicate at the limit: got %+v, %v", r, err)
	}
	e.send("answer", `{"key": 1}`) // a relay is no start
	e.sendBesideIncoming(third)    // again until the next count
	e.ended(map[string]int{"w completed": 1, "w suspended": 2})
	e.send("answer", `{"key": 2}`)
	e.send("answer", `{"key": 3}`)
	e.ended(map[string]int{"w completed": 3})
}

// sendBesideIncoming hands a message over, again while it is one too many, and does not wait for its answer.
func (e *engine) sendBesideIncoming(in ports.Incoming) {
	e.beside.Go(func() {
		_, err := e.Intake.Take(e.t.Context(), in)
		for ; errors.Is(err, fault.TooManyInstances); _, err = e.Intake.Take(e.t.Context(), in) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil && e.t.Context().Err() == nil {
			e.t.Error(err)
		}
	})
}

func TestATenantThatStartsTooFastIsSlowed(t *testing.T) {
	e := runWithin(t, limit.Bounds{Rate: limit.Bound{All: 1000, Tenants: map[string]int{tenant: 3}}}, fmt.Sprintf(door, "begin"),
		process("p", start("p", "begin"), end("p", 1, "done")))
	in, refused := 0, 0
	for range 8 {
		switch _, err := e.Intake.Take(t.Context(), e.message("begin", `{"key": 1}`)); {
		case err == nil:
			in++
		case errors.Is(err, fault.TooManyStarts):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if in < 3 || refused == 0 {
		t.Errorf("%d in, %d refused; want 3 and some", in, refused)
	}
	e.ended(map[string]int{"p completed": in})
}

// TestWhatIsKeptWaitsForRoom: a message that was accepted is not lost, however long it waits, and neither are a fire and a signal.
func TestWhatIsKeptWaitsForRoom(t *testing.T) {
	e := runWithin(t, one(1), fmt.Sprintf(persisted+persisted+door, "keep", "PT0.1S", "answer", "PT1M", "begin"),
		waiting("w", "keep"), waiting("first", "begin"),
		process("tick", `<startEvent id="tick-0"><timerEventDefinition><timeCycle>R1/PT0.3S</timeCycle></timerEventDefinition></startEvent>`, `<endEvent id="tick-1"/>`),
		`<signal id="s" name="alarm"/>`+process("a", `<startEvent id="a-0"><signalEventDefinition signalRef="s"/></startEvent>`, `<endEvent id="a-1"/>`),
		`<signal id="s" name="alarm"/>`+process("b", `<startEvent id="b-0"><signalEventDefinition signalRef="s"/></startEvent>`, `<endEvent id="b-1"/>`))
	e.sendBesideIncoming(e.message("begin", `{"key": 1}`))
	e.ended(map[string]int{"first suspended": 1})
	if r := e.send("keep", `{"key": 2}`); !r.Durable {
		t.Fatalf("got %+v, want it kept", r)
	}
	if _, err := e.Intake.Broadcast(t.Context(), tenant, "alarm", e.incoming(`{}`)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond) // past the message's ttl and the schedule's date
	e.ended(map[string]int{"first suspended": 1})
	e.send("answer", `{"key": 1}`)
	e.send("answer", `{"key": 2}`) // kept until there is room for who waits for it
	e.ended(map[string]int{"first completed": 1, "w completed": 1, "tick completed": 1, "a completed": 1, "b completed": 1})
}

func TestACalledProcessIsNeverStoppedHalfWay(t *testing.T) {
	e := runWithin(t, one(1), fmt.Sprintf(door+door, "begin", "answer"),
		process("caller", start("caller", "begin"), `<callActivity id="caller-1" calledElement="called"/>`, end("caller", 2, "done")),
		process("called", `<startEvent id="called-0"/>`, `<endEvent id="called-1"/>`))
	e.send("begin", `{"key": 1}`)
	e.ended(map[string]int{"caller completed": 1, "called completed": 1})
}

// TestAChannelAtItsLimitStartsNoMore: the bound is the channel's alone, and what the channel keeps waits for room.
func TestAChannelAtItsLimitStartsNoMore(t *testing.T) {
	const bounded = "  - {name: %s, transport: http, auth: {scheme: none}, max-concurrent-instances: 1}\n"
	e := run(t, fmt.Sprintf(bounded+door+persisted, "narrow", "wide", "answer", "PT1M")+"  - {name: keep, transport: http, ack-mode: on-persist, auth: {scheme: none}, max-concurrent-instances: 1}\n",
		waiting("n", "narrow"), waiting("w", "wide"), waiting("k", "keep"))
	e.sendBesideIncoming(e.message("narrow", `{"key": 1}`))
	e.ended(map[string]int{"n suspended": 1})
	second := e.message("narrow", `{"key": 2}`)
	e.refused(second, fault.TooManyInstances)
	for key := 3; key < 5; key++ {
		e.sendBesideIncoming(e.message("wide", fmt.Sprintf(`{"key": %d}`, key)))
	}
	for key := 5; key < 7; key++ {
		if r := e.send("keep", fmt.Sprintf(`{"key": %d}`, key)); !r.Durable {
			t.Fatalf("got %+v, want it kept", r)
		}
	}
	e.ended(map[string]int{"n suspended": 1, "w suspended": 2, "k suspended": 1})
	e.send("answer", `{"key": 1}`)
	time.Sleep(150 * time.Millisecond)
	e.sendBesideIncoming(second)
	e.ended(map[string]int{"n completed": 1, "n suspended": 1, "w suspended": 2, "k suspended": 1})
	for _, key := range []int{2, 3, 4, 5} {
		e.send("answer", fmt.Sprintf(`{"key": %d}`, key))
	}
	e.send("answer", `{"key": 6}`) // kept, as the message it is the answer to, until there is room
	e.ended(map[string]int{"n completed": 2, "w completed": 2, "k completed": 2})
}
