package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// What brokers need of a database is in the suite, on every dialect; whole fleets on brokers are proven on one.
const brokersOn = "postgres"

// sharedBroker is the broker of all tests that do not break it. It starts when the first of them asks for it.
type sharedBroker struct {
	kind   string
	once   sync.Once
	broker *provision.Broker
	err    error
}

func (s *sharedBroker) get() (*provision.Broker, error) {
	s.once.Do(func() { s.broker, s.err = provision.StartBroker(context.Background(), s.kind) })
	return s.broker, s.err
}

func (s *sharedBroker) close() error {
	if s.broker == nil {
		return nil
	}
	return s.broker.Close()
}

var sharedRabbit = &sharedBroker{kind: "rabbitmq"}

// rabbit is a fleet with a corner of a broker, whose queues are orders, shipped, ticks and counted.
func rabbit(t *testing.T, settings scenario.Settings, alone bool) (*scenario.Fleet, *scenario.Rabbit, *provision.Broker) {
	t.Helper()
	if *dialect != brokersOn {
		t.Skip("fleets on brokers are proven on " + brokersOn + " (-dialect=" + brokersOn + ")")
	}
	if err := provision.FindBroker("rabbitmq"); err != nil {
		t.Skip(err)
	}
	f := fleet(t, settings)
	from := sharedRabbit
	if alone {
		from = &sharedBroker{kind: "rabbitmq"}
		t.Cleanup(func() {
			if err := from.close(); err != nil {
				t.Error(err)
			}
		})
	}
	broker, err := from.get()
	if err != nil {
		t.Fatal(err)
	}
	r := f.Rabbit(broker, "orders", "shipped", "ticks", "counted")
	r.Bind("counted", "amq.direct")
	return f, r, broker
}

// at is where a replica finds the broker.
func at(address string) scenario.Settings {
	return scenario.Settings{"sutra.brokers": "main=" + address}
}

// queues is the package over the test's own queues.
func queues(t *testing.T, r *scenario.Rabbit) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	dir := os.DirFS(filepath.Join("testdata", "queues"))
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, path)
		files[path] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(data), "scenario.", r.Prefix))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func message(id string, body any) amqp.Publishing {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return amqp.Publishing{MessageId: id, ContentType: "application/json", Body: data}
}

// ordersOf are the orders from to to, as messages.
func ordersOf(from, to int) []amqp.Publishing {
	var all []amqp.Publishing
	for i := from; i <= to; i++ {
		all = append(all, message(fmt.Sprintf("order-%d", i), order{i}))
	}
	return all
}

// wantDrained requires that each of the orders 1 to n came out of the queue: under one id, and where again is not allowed once.
func wantDrained(t *testing.T, f *scenario.Fleet, out *scenario.Drain, n int, again bool) {
	t.Helper()
	byOrder := map[int]map[string]int{}
	f.Eventually("every order comes out", func() error {
		clear(byOrder)
		for _, m := range out.Messages() {
			var o order
			if err := json.Unmarshal(m.Body, &o); err != nil {
				t.Fatalf("got %q: %v", m.Body, err)
			}
			if byOrder[o.Number] == nil {
				byOrder[o.Number] = map[string]int{}
			}
			byOrder[o.Number][m.MessageId]++
		}
		if len(byOrder) < n {
			return fmt.Errorf("got %d of %d", len(byOrder), n)
		}
		return nil
	})
	twice := 0
	for i := 1; i <= n; i++ {
		if len(byOrder[i]) != 1 {
			t.Errorf("order %d: came out under the ids %v, want one", i, byOrder[i])
		}
		for id, times := range byOrder[i] {
			if times != 1 && !again {
				t.Errorf("order %d: %s came out %d times, want once", i, id, times)
			}
			twice += times - 1
		}
	}
	if len(byOrder) != n {
		t.Errorf("got %d orders, want %d", len(byOrder), n)
	}
	t.Logf("%d orders came out, %d of them again under their id", len(byOrder), twice)
}

// wantEmpty requires that everything in a queue was settled.
func wantEmpty(t *testing.T, f *scenario.Fleet, r *scenario.Rabbit, name string) {
	t.Helper()
	f.Eventually(name+" is empty", func() error {
		if n, _ := r.Depth(name); n != 0 {
			return fmt.Errorf("got %d messages", n)
		}
		return nil
	})
}

func TestTwoReplicasShareAQueue(t *testing.T) {
	const number = 500
	f, r, _ := rabbit(t, nil, false)
	r.Put("orders", ordersOf(1, number)...)
	a, b := f.Launch("a", at(r.Address(10))), f.Launch("b", at(r.Address(10)))
	a.AwaitReady()
	b.AwaitReady()
	began := time.Now()
	a.DeployFiles("queues", queues(t, r))
	out := r.Drain("shipped")
	wantEnded(t, f, a, number)
	t.Logf("%d messages by two replicas in %v, with the deploy", number, time.Since(began).Round(10*time.Millisecond))
	wantDrained(t, f, out, number, false)
	wantEmpty(t, f, r, "orders")
	for _, replica := range []*scenario.Replica{a, b} {
		if n := taken(replica, "acknowledge"); n == 0 {
			t.Errorf("%s took no message", replica.Name)
		} else {
			t.Logf("%s took %d", replica.Name, n)
		}
	}
	if m := out.Messages()[0]; m.DeliveryMode != amqp.Persistent || m.ContentType != "application/json" || m.Headers["Sutra-Instance"] == nil {
		t.Errorf("an emission is %+v; want it persistent, JSON, and to name its instance", m)
	}
}

// The consumer is killed when its messages are durable and their acknowledgements are not through: the broker gives all of them to the
// other, which knows them.
func TestConsumerKilledBeforeItAcknowledges(t *testing.T) {
	const number, ahead = 200, 64
	f, r, broker := rabbit(t, nil, false)
	const ack = "\x00\x3c\x00\x50" // basic.ack: class 60, method 80
	p := f.ProxyTo(broker.Address())
	p.Hold(ack)
	a := f.Launch("a", at(r.Through(p, 10))).AwaitReady()
	a.DeployFiles("queues", queues(t, r))
	r.Put("orders", ordersOf(1, number)...)
	ledger := f.Ledger()
	f.Eventually("a has made durable what it was sent ahead", func() error {
		if n := ledger.Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'order'"); n != ahead {
			return fmt.Errorf("got %d, want %d", n, ahead)
		}
		return nil
	})
	a.Kill()
	p.Cut()
	killed := time.Now()
	b := f.Launch("b", at(r.Address(10))).AwaitReady()
	out := r.Drain("shipped")
	wantEnded(t, f, b, number)
	t.Logf("all %d had ended %v after the kill; b knew %d of them", number, time.Since(killed).Round(10*time.Millisecond), taken(b, "duplicate"))
	wantDrained(t, f, out, number, true) // a may have been killed between a send and its settlement
	wantEmpty(t, f, r, "orders")
	if n := taken(b, "duplicate"); n != ahead {
		t.Errorf("b was given %d messages that a had made durable, want %d", n, ahead)
	}
}

func TestBrokerRestarts(t *testing.T) {
	const number = 300
	f, r, broker := rabbit(t, nil, true)
	a := f.Launch("a", at(r.Address(10))).AwaitReady()
	a.DeployFiles("queues", queues(t, r))
	b := f.Launch("b", at(r.Address(10))).AwaitReady()
	out := r.Drain("shipped")
	r.Put("orders", ordersOf(1, number/2)...)
	f.Eventually("the first come out", func() error {
		if len(out.Messages()) == 0 {
			return errors.New("none did")
		}
		return nil
	})
	if err := broker.Kill(); err != nil {
		t.Fatal(err)
	}
	// Without its broker a replica is ready: everything else it can do, and none of the others could do more.
	for _, replica := range []*scenario.Replica{a, b} {
		if err := replica.Health("ready", 200); err != nil {
			t.Error(err)
		}
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	r.Put("orders", ordersOf(number/2+1, number)...)
	wantEnded(t, f, a, number)
	t.Logf("all %d had ended %v after the broker was back", number, time.Since(back).Round(10*time.Millisecond))
	wantDrained(t, f, out, number, true) // what was sent and not confirmed is sent again, under its id
	wantEmpty(t, f, r, "orders")
}

// What can never be taken goes to the dead letters, and holds nothing up. A door that is gone is consumed from no more.
func TestRefusedMessagesAreDeadLetters(t *testing.T) {
	f, r, _ := rabbit(t, nil, false)
	r.Declare("dead", nil)
	r.Declare("strict", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": r.Prefix + "dead"})
	files := queues(t, r).(fstest.MapFS)
	files["channels.yaml"].Data = []byte(strings.ReplaceAll(string(files["channels.yaml"].Data), r.Prefix+"orders", r.Prefix+"strict"))
	a := f.Launch("a", at(r.Address(10))).AwaitReady()
	deployed := a.DeployFiles("queues", files)
	out, dead := r.Drain("shipped"), r.Drain("dead")
	broken, nameless := message("broken", 1), message("", order{2})
	broken.Body = []byte("{")
	r.Put("strict", broken, nameless, message("good", order{1}))
	wantDrained(t, f, out, 1, false)
	f.Eventually("two dead letters", func() error {
		if n := len(dead.Messages()); n != 2 {
			return fmt.Errorf("got %d, want 2", n)
		}
		return nil
	})
	for _, code := range []string{"SUTRA.INTAKE.BODY.UNDECODABLE", "SUTRA.INTAKE.EVENT_ID.MISSING"} {
		if !strings.Contains(a.Log(), code) {
			t.Errorf("the log says nothing of %s", code)
		}
	}
	if n := taken(a, "refuse"); n != 2 {
		t.Errorf("got %d refused, want 2", n)
	}
	if _, n := r.Depth("strict"); n != 1 {
		t.Errorf("got %d consumers, want 1", n)
	}
	a.Undeploy(deployed.DeploymentID)
	f.Eventually("nobody consumes", func() error {
		if _, n := r.Depth("strict"); n != 0 {
			return fmt.Errorf("got %d consumers", n)
		}
		return nil
	})
}

// taken is how many messages of its queues a replica settled in one way.
func taken(r *scenario.Replica, outcome string) int {
	return r.Metric("sutra_broker_messages_total", `outcome="`+outcome+`"`)
}

const tickRole = "channel:acme:tick"

func ticks(from, to int) []amqp.Publishing {
	var all []amqp.Publishing
	for i := from; i <= to; i++ {
		all = append(all, message(fmt.Sprintf("tick-%d", i), map[string]int{"counter": 1, "number": i}))
	}
	return all
}

// holds waits until a replica holds a role, and answers the term.
func holds(t *testing.T, f *scenario.Fleet, asked, want *scenario.Replica, role string) int64 {
	t.Helper()
	var term int64
	f.Eventually(want.Name+" leads in "+role, func() error {
		addresses := map[string]string{}
		for _, r := range list[wire.Replica](t, asked, "/admin/replicas") {
			addresses[r.ID] = "http://" + r.Address
		}
		for _, l := range list[wire.Lease](t, asked, "/admin/leases") {
			if l.Role == role && addresses[l.Holder] == want.URL && l.Expires.After(time.Now()) {
				term = l.Term
				return nil
			}
		}
		return errors.New("it does not")
	})
	return term
}

// The one consumer of a singleton channel sleeps past its lease in the middle of a stream, and wakes when another leads. Every tick
// counts once, in the order in which it was queued.
func TestSingletonConsumerThatWakesLate(t *testing.T) {
	const number = 120
	f, r, _ := rabbit(t, nil, false)
	a := f.Launch("a", at(r.Address(1))).AwaitReady()
	a.DeployFiles("queues", queues(t, r))
	first := holds(t, f, a, a, tickRole)
	b := f.Launch("b", at(r.Address(1))).AwaitReady()
	b.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": number}})
	out := r.Drain("counted")
	r.Put("ticks", ticks(1, number)...)
	ledger := f.Ledger()
	accepted := func() int { return ledger.Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'tick'") }
	f.Eventually("a takes ticks", func() error {
		if n := accepted(); n < 5 {
			return fmt.Errorf("got %d", n)
		}
		return nil
	})
	a.Pause()
	t.Logf("a slept after %d ticks", accepted())
	slept := time.Now()
	if term := holds(t, f, b, b, tickRole); term <= first {
		t.Errorf("the term went from %d to %d, want it raised", first, term)
	}
	f.Eventually("b takes ticks", func() error {
		if n := taken(b, "acknowledge") + taken(b, "duplicate"); n == 0 {
			return errors.New("none")
		}
		return nil
	})
	t.Logf("b took its first tick %v after a fell asleep; ttl 3 s, heartbeat 1 s", time.Since(slept).Round(10*time.Millisecond))
	a.Continue()
	var told struct {
		Seen []int `json:"seen"`
	}
	f.Eventually("the counter tells", func() error {
		for _, m := range out.Messages() {
			return json.Unmarshal(m.Body, &told)
		}
		return fmt.Errorf("nothing came, of %d ticks taken", accepted())
	})
	want := make([]int, number)
	for i := range want {
		want[i] = i + 1
	}
	if !slices.Equal(told.Seen, want) {
		t.Errorf("counted %v, want 1 to %d", told.Seen, number)
	}
	wantEmpty(t, f, r, "ticks")
}

// A singleton's consumer is held between taking a message and making it durable until another leads. Nobody else has that message, so
// nothing but the term can tell that it comes too late.
func TestMessageOfAPassedTermLeavesNoTrace(t *testing.T) {
	f, r, _ := rabbit(t, scenario.Settings{"sutra.lease.ttl": "PT8S"}, false)
	p := f.Proxy()
	settings := at(r.Address(60)) // its broker waits for it
	settings["sutra.datasource.url"] = f.Through(p)
	a := f.Launch("a", settings).AwaitReady()
	a.DeployFiles("queues", queues(t, r))
	holds(t, f, a, a, tickRole)
	b := f.Launch("b", at(r.Address(60))).AwaitReady()
	b.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": 1}})
	f.Eventually("a consumes", func() error {
		if _, n := r.Depth("ticks"); n != 1 {
			return fmt.Errorf("got %d consumers", n)
		}
		return nil
	})
	p.Hold("INTO sutra_inbox")
	r.Put("ticks", ticks(1, 1)...)
	f.Eventually("a is about to make the tick durable", func() error {
		if p.Held() == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	a.Pause()
	holds(t, f, b, b, tickRole)
	b.Pause()
	a.Continue()
	p.Release()
	const refused = "SUTRA.RUNTIME.SINGLETON.TERM_PASSED"
	f.Eventually("a is told that its term has passed", func() error {
		if !strings.Contains(a.Log(), refused) {
			return errors.New("it is not")
		}
		return nil
	})
	if n := f.Ledger().Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'tick'"); n != 0 {
		t.Errorf("the late message left %d rows, want none", n)
	}
	b.Continue()
	wantEnded(t, f, b, 1)
	wantEmpty(t, f, r, "ticks")
}
