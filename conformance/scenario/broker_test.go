package scenario_test

import (
	"bytes"
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

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/scenario"
	"github.com/sutra-engine/sutra/core/archive"
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

var sharedBrokers = map[string]*sharedBroker{"rabbitmq": {kind: "rabbitmq"}, "nats": {kind: "nats"}, "kafka": {kind: "kafka"}}

func closeBrokers() error {
	var err error
	for _, b := range sharedBrokers {
		err = errors.Join(err, b.close())
	}
	return err
}

// brokered is a fleet whose channels are at a broker.
type brokered struct {
	*testing.T
	fleet  *scenario.Fleet
	queues *scenario.Queues
}

// condition is what a test asks of its brokers.
type condition struct {
	kinds    []string      // nil: each kind is proven
	alone    bool          // the test breaks it
	silent   time.Duration // after which a consumer that says nothing has lost its message
	settings scenario.Settings
}

// onBrokers runs a test on each kind of broker that is here.
func onBrokers(t *testing.T, c condition, run func(b brokered)) {
	t.Helper()
	if *dialect != brokersOn {
		t.Skip("fleets on brokers are proven on " + brokersOn + " (-dialect=" + brokersOn + ")")
	}
	t.Parallel()
	if c.kinds == nil {
		c.kinds = provision.Brokers()
	}
	for _, kind := range c.kinds {
		t.Run(kind, func(t *testing.T) {
			if err := provision.FindBroker(kind); err != nil {
				t.Skip(err)
			}
			f := fleet(t, c.settings)
			from := sharedBrokers[kind]
			if c.alone {
				from = &sharedBroker{kind: kind}
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
			run(brokered{t, f, f.Queues(broker, c.silent)})
		})
	}
}

// launch runs a replica that finds the broker.
func (b brokered) launch(name string) *scenario.Replica {
	b.Helper()
	return b.fleet.Launch(name, b.queues.Address()).AwaitReady()
}

func (b brokered) deploy(r *scenario.Replica) wire.Deployment {
	b.Helper()
	return r.DeployFiles("queues", b.queues.Package(os.DirFS(filepath.Join("testdata", "queues"))))
}

func sent(id string, body any) scenario.Sent {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return scenario.Sent{ID: id, Kind: "application/json", Body: string(data)}
}

// ordersOf are the orders from first to last, as messages.
func ordersOf(first, last int) []scenario.Sent {
	var all []scenario.Sent
	for i := first; i <= last; i++ {
		all = append(all, sent(fmt.Sprintf("order-%d", i), order{i}))
	}
	return all
}

// wantDrained requires that each of the orders 1 to n came out of the queue, under one id. Where that is allowed, some may have come out
// again under theirs.
func (b brokered) wantDrained(out *scenario.Drain, n int, again bool) {
	b.Helper()
	byOrder := map[int]map[string]int{}
	b.fleet.Eventually("every order comes out", func() error {
		clear(byOrder)
		for _, m := range out.Messages() {
			var o order
			if err := json.Unmarshal([]byte(m.Body), &o); err != nil {
				b.Fatalf("got %q: %v", m.Body, err)
			}
			if byOrder[o.Number] == nil {
				byOrder[o.Number] = map[string]int{}
			}
			byOrder[o.Number][m.ID]++
		}
		if len(byOrder) < n {
			var missing []int
			for i := 1; i <= n && len(missing) < 10; i++ {
				if byOrder[i] == nil {
					missing = append(missing, i)
				}
			}
			return fmt.Errorf("got %d of %d, without %v", len(byOrder), n, missing)
		}
		return nil
	})
	twice := 0
	for i := 1; i <= n; i++ {
		if len(byOrder[i]) != 1 {
			b.Errorf("order %d: came out under the ids %v, want one", i, byOrder[i])
		}
		for id, times := range byOrder[i] {
			if times != 1 && !again {
				b.Errorf("order %d: %s came out %d times, want once", i, id, times)
			}
			twice += times - 1
		}
	}
	if len(byOrder) != n {
		b.Errorf("got %d orders, want %d", len(byOrder), n)
	}
	b.Logf("%d orders came out, %d of them again under their id", len(byOrder), twice)
}

// wantSettled requires that everything in a queue was settled.
func (b brokered) wantSettled(queue string) {
	b.Helper()
	b.fleet.Eventually(queue+" is empty", func() error {
		if n := b.queues.Depth(queue); n != 0 {
			return fmt.Errorf("got %d messages", n)
		}
		return nil
	})
}

// taken is how many messages of its queues a replica settled in one way.
func taken(r *scenario.Replica, outcome string) int {
	return r.Metric("sutra_broker_messages_total", `outcome="`+outcome+`"`)
}

func TestTwoReplicasShareAQueue(t *testing.T) {
	const number = 500
	patient := scenario.Settings{"sutra.outbox.send-timeout": "PT10S", "sutra.outbox.claim-timeout": "PT60S"} // what takes too long is sent again
	onBrokers(t, condition{silent: 20 * time.Second, settings: patient}, func(b brokered) {
		one, two := b.launch("a"), b.launch("b")
		b.deploy(one)
		b.fleet.Eventually("both consume", func() error {
			if n := b.queues.Consumers("orders"); n != 2 {
				return fmt.Errorf("got %d consumers", n)
			}
			return nil
		})
		began := time.Now()
		b.queues.Put("orders", ordersOf(1, number)...)
		out := b.queues.Drain("shipped")
		wantEnded(b.T, b.fleet, one, number)
		b.Logf("%d messages by two replicas in %v", number, time.Since(began).Round(10*time.Millisecond))
		b.wantDrained(out, number, false)
		b.wantSettled("orders")
		for _, r := range []*scenario.Replica{one, two} {
			n := taken(r, "acknowledge")
			b.Logf("%s took %d", r.Name, n)
			if n == 0 {
				b.Errorf("%s took no message", r.Name)
			}
		}
		if m := out.Messages()[0]; m.Kind != "application/json" || m.Headers["Sutra-Instance"] == "" {
			b.Errorf("an emission is %+v; want it JSON, and to name its instance", m)
		}
	})
}

// The consumer is killed when its messages are durable and their acknowledgements are not through: the broker gives all of them to the
// other, which knows them.
func TestConsumerKilledBeforeItAcknowledges(t *testing.T) {
	const number, ahead = 200, 64
	onBrokers(t, condition{silent: 2 * time.Second}, func(b brokered) {
		p := b.fleet.ProxyTo(b.queues.Broker.Detour)
		p.Hold(b.queues.Ack)
		one := b.fleet.Launch("a", b.queues.Through(p)).AwaitReady()
		b.deploy(one)
		b.queues.Put("orders", ordersOf(1, number)...)
		ledger := b.fleet.Ledger()
		durable := func() int { return ledger.Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'order'") }
		b.fleet.Eventually("a has made durable what it was sent ahead", func() error {
			if n := durable(); n < ahead {
				return fmt.Errorf("got %d, want %d", n, ahead)
			}
			return nil
		})
		one.Kill()
		p.Cut()
		killed, known := time.Now(), durable()
		two := b.launch("b")
		out := b.queues.Drain("shipped")
		wantEnded(b.T, b.fleet, two, number)
		b.Logf("all %d had ended %v after the kill; %d were durable then", number, time.Since(killed).Round(10*time.Millisecond), known)
		b.wantDrained(out, number, true) // a may have been killed between a send and its settlement
		b.wantSettled("orders")
		if n := taken(two, "duplicate"); n < known {
			b.Errorf("b was given %d messages that a had made durable, want %d", n, known)
		}
	})
}

// The broker freezes for longer than its clients wait for it, then it is killed in the middle of its work. Consumers and senders come
// back by themselves.
func TestBrokerFreezesAndRestarts(t *testing.T) {
	const number = 200
	onBrokers(t, condition{silent: 2 * time.Second, alone: true}, func(b brokered) {
		one := b.launch("a")
		b.deploy(one)
		two := b.launch("b")
		out := b.queues.Drain("shipped")
		b.queues.Put("orders", ordersOf(1, number/2)...)
		b.fleet.Eventually("the first come out", func() error {
			if len(out.Messages()) == 0 {
				return errors.New("none did")
			}
			return nil
		})
		if err := b.queues.Broker.Pause(); err != nil {
			b.Fatal(err)
		}
		time.Sleep(5 * time.Second) // the heartbeat is 1 s, a send takes 1.5 s at most
		if err := b.queues.Broker.Resume(); err != nil {
			b.Fatal(err)
		}
		thawed := time.Now()
		wantEnded(b.T, b.fleet, one, number/2)
		b.Logf("%d had ended %v after the broker thawed", number/2, time.Since(thawed).Round(10*time.Millisecond))
		b.queues.Put("orders", ordersOf(number/2+1, 3*number/4)...)
		if err := b.queues.Broker.Kill(); err != nil {
			b.Fatal(err)
		}
		// Without its broker a replica is ready: it does everything else, and no other replica could do more.
		for _, r := range []*scenario.Replica{one, two} {
			if err := r.Health("ready", 200); err != nil {
				b.Error(err)
			}
		}
		if err := b.queues.Broker.Restart(b.Context()); err != nil {
			b.Fatal(err)
		}
		back := time.Now()
		b.queues.Put("orders", ordersOf(3*number/4+1, number)...)
		wantEnded(b.T, b.fleet, one, number)
		b.Logf("all %d had ended %v after the broker was back", number, time.Since(back).Round(10*time.Millisecond))
		b.wantDrained(out, number, true) // what was sent and not confirmed is sent again, under its id
		b.wantSettled("orders")
	})
}

// What can never be taken is refused and holds nothing up. A door that is gone is consumed from no more.
func TestRefusedMessagesHoldNothingUp(t *testing.T) {
	onBrokers(t, condition{silent: 20 * time.Second}, func(b brokered) {
		one := b.launch("a")
		deployed := b.deploy(one)
		out := b.queues.Drain("shipped")
		broken, nameless := sent("broken", 1), sent("", order{2})
		broken.Body = "{"
		b.queues.Put("orders", broken, nameless, sent("good", order{1}))
		refused := map[string]string{"SUTRA.INTAKE.BODY.UNDECODABLE": "broken"}
		if b.queues.Broker.Kind == "rabbitmq" { // elsewhere a message is known by its place in the stream
			refused["SUTRA.INTAKE.EVENT_ID.MISSING"] = ""
			dead := b.queues.Drain("dead")
			b.fleet.Eventually("the dead letters", func() error {
				if n := len(dead.Messages()); n != len(refused) {
					return fmt.Errorf("got %d, want %d", n, len(refused))
				}
				return nil
			})
		}
		b.wantDrained(out, 3-len(refused), false)
		b.wantSettled("orders")
		for code := range refused {
			if !strings.Contains(one.Log(), code) {
				b.Errorf("the log says nothing of %s", code)
			}
		}
		if n := taken(one, "refuse"); n != len(refused) {
			b.Errorf("got %d refused, want %d", n, len(refused))
		}
		if n := b.queues.Consumers("orders"); n != 1 {
			b.Errorf("got %d consumers, want 1", n)
		}
		one.Undeploy(deployed.DeploymentID)
		b.fleet.Eventually("nobody consumes", func() error {
			if n := b.queues.Consumers("orders"); n != 0 {
				return fmt.Errorf("got %d consumers", n)
			}
			return nil
		})
	})
}

// someBrokers are those of tests about what the engine makes of messages, which over RabbitMQ is the same as over NATS.
var someBrokers = []string{"nats", "kafka"}

func (b brokered) sealed(files fs.FS) []byte {
	b.Helper()
	a, err := archive.Seal(files, archive.Default())
	if err != nil {
		b.Fatal(err)
	}
	return a.Bytes
}

// edited is the package with words of its channels changed.
func (b brokered) edited(words ...string) fstest.MapFS {
	b.Helper()
	files := b.queues.Package(os.DirFS(filepath.Join("testdata", "queues")))
	files["channels.yaml"].Data = []byte(strings.NewReplacer(words...).Replace(string(files["channels.yaml"].Data)))
	return files
}

// On-complete acknowledges when the message is applied. The consumer is killed in the middle of the step: nobody knows the message, and
// the broker gives it to the other.
func TestConsumerKilledInTheMiddleOfAStep(t *testing.T) {
	const number = 100
	onBrokers(t, condition{silent: 2 * time.Second, kinds: someBrokers}, func(b brokered) {
		p := b.fleet.Proxy()
		settings := b.queues.Address()
		settings["sutra.datasource.url"] = b.fleet.Through(p)
		one := b.fleet.Launch("a", settings).AwaitReady()
		one.DeployFiles("queues", b.edited("- name: order\n", "- name: order\n    ack-mode: on-complete\n"))
		p.Hold(commits)
		b.queues.Put("orders", ordersOf(1, number)...)
		b.fleet.Eventually("a is about to commit", func() error {
			if p.Held() == 0 {
				return errors.New("it is not")
			}
			return nil
		})
		one.Kill()
		p.Cut()
		if n := b.fleet.Ledger().Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'order' AND state = 'pending'"); n != 0 {
			b.Errorf("got %d pending messages, want none: on-complete keeps nothing before its step", n)
		}
		two := b.launch("b")
		out := b.queues.Drain("shipped")
		wantEnded(b.T, b.fleet, two, number)
		b.wantDrained(out, number, false)
		b.wantSettled("orders")
	})
}

// A revision that drains keeps the door that the new one has no more, for the instance that waits there, until it retires. A queue is
// one door over all tenants.
func TestDoorsAtABrokerFollowTheServedSet(t *testing.T) {
	onBrokers(t, condition{silent: 2 * time.Second, kinds: someBrokers}, func(b brokered) {
		one := b.launch("a")
		b.deploy(one)
		foreign := b.edited("- name: order\n", "- name: other\n")
		foreign["package.yaml"].Data = bytes.Replace(foreign["package.yaml"].Data, []byte("tenant: acme"), []byte("tenant: other"), 1)
		foreign["bpmn/order.bpmn"].Data = bytes.Replace(foreign["bpmn/order.bpmn"].Data, []byte(`channel="order"`), []byte(`channel="other"`), 1)
		if a, _, err := deploy(one, "", b.sealed(foreign)); err != nil || a.Problem().Code != "SUTRA.DEPLOY.DOOR.TAKEN" {
			b.Errorf("another tenant's channel at the same queue: got %s, %v; want it refused", a, err)
		}
		one.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": 2}})
		b.queues.Put("ticks", ticks(1, 1)...)
		b.wantSettled("ticks")

		next := b.edited()
		orders, _, _ := bytes.Cut(next["channels.yaml"].Data, []byte("  # One consumer"))
		next["channels.yaml"].Data = orders
		delete(next, "bpmn/counter.bpmn")
		mustDeploy(b.T, one, "", b.sealed(next))
		counted, shipped := b.queues.Drain("counted"), b.queues.Drain("shipped")
		b.queues.Put("ticks", ticks(2, 2)...)
		b.queues.Put("orders", ordersOf(1, 1)...)
		b.wantDrained(shipped, 1, false)
		b.fleet.Eventually("the counter of the draining revision tells", func() error {
			if len(counted.Messages()) == 0 {
				return errors.New("it does not")
			}
			return nil
		})
		b.fleet.Eventually("nobody consumes ticks", func() error {
			if n := b.queues.Consumers("ticks"); n != 0 {
				return fmt.Errorf("got %d consumers", n)
			}
			return nil
		})
		if n := b.queues.Consumers("orders"); n != 1 {
			b.Errorf("got %d consumers of orders, want 1", n)
		}
	})
}

// A replica that stops hands its singletons over at once: the next one need not wait for the lease to expire.
func TestStoppedReplicaHandsItsSingletonsOver(t *testing.T) {
	onBrokers(t, condition{silent: 20 * time.Second, settings: scenario.Settings{"sutra.lease.ttl": "PT20S"}}, func(b brokered) {
		one := b.launch("a")
		b.deploy(one)
		b.leads(one, one)
		two := b.launch("b")
		const number = 40
		two.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": number}})
		out := b.queues.Drain("counted")
		b.queues.Put("ticks", ticks(1, number)...)
		b.fleet.Eventually("a takes ticks", func() error {
			if taken(one, "acknowledge") == 0 {
				return errors.New("none")
			}
			return nil
		})
		began := time.Now()
		if code := one.Stop(); code != 0 {
			b.Errorf("a ended with %d, want 0", code)
		}
		b.leads(two, two)
		if took := time.Since(began); took > 10*time.Second {
			b.Errorf("b led %v after a was asked to stop; the ttl is 20 s", took)
		}
		b.wantCounted(out, number)
		b.wantSettled("ticks")
		b.Logf("all %d ticks were counted %v after a was asked to stop", number, time.Since(began).Round(10*time.Millisecond))
	})
}

// wantCounted requires that the counter saw 1 to n, in that order.
func (b brokered) wantCounted(out *scenario.Drain, n int) {
	b.Helper()
	b.fleet.Eventually("the counter tells", func() error {
		if len(out.Messages()) == 0 {
			return errors.New("nothing came")
		}
		return nil
	})
	wantSeen(b.T, out.Messages()[0], n)
}

// wantSeen requires that a counter tells of 1 to n, in that order.
func wantSeen(t *testing.T, m scenario.Sent, n int) {
	t.Helper()
	var told struct {
		Seen []int `json:"seen"`
	}
	if err := json.Unmarshal([]byte(m.Body), &told); err != nil {
		t.Fatalf("got %q: %v", m.Body, err)
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i + 1
	}
	if !slices.Equal(told.Seen, want) {
		t.Errorf("counted %v, want 1 to %d", told.Seen, n)
	}
}

const tickRole = "channel:acme:tick"

func ticks(first, last int) []scenario.Sent { return ticksOf(1, first, last) }

// ticksOf are one counter's.
func ticksOf(counter, first, last int) []scenario.Sent {
	var all []scenario.Sent
	for i := first; i <= last; i++ {
		tick := sent(fmt.Sprintf("tick-%d-%d", counter, i), map[string]int{"counter": counter, "number": i})
		tick.Key = fmt.Sprint(counter)
		all = append(all, tick)
	}
	return all
}

// leads waits until a replica holds the role of the singleton channel, and answers the term.
func (b brokered) leads(asked, want *scenario.Replica) int64 {
	b.Helper()
	var term int64
	b.fleet.Eventually(want.Name+" leads in "+tickRole, func() error {
		addresses := map[string]string{}
		for _, r := range list[wire.Replica](b.T, asked, "/admin/replicas") {
			addresses[r.ID] = "http://" + r.Address
		}
		for _, l := range list[wire.Lease](b.T, asked, "/admin/leases") {
			if l.Role == tickRole && addresses[l.Holder] == want.URL && l.Expires.After(time.Now()) {
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
	const number = 60
	onBrokers(t, condition{silent: 2 * time.Second}, func(b brokered) {
		one := b.launch("a")
		b.deploy(one)
		first := b.leads(one, one)
		two := b.launch("b")
		two.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": number}})
		out := b.queues.Drain("counted")
		ledger := b.fleet.Ledger()
		accepted := func() int { return ledger.Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'tick'") }
		b.queues.Put("ticks", ticks(1, number)...)
		b.fleet.Eventually("a takes ticks", func() error {
			if n := accepted(); n < 5 {
				return fmt.Errorf("got %d", n)
			}
			return nil
		})
		one.Pause()
		slept, before := time.Now(), accepted()
		if before == number {
			b.Fatalf("a had taken all %d ticks when it fell asleep", number)
		}
		if term := b.leads(two, two); term <= first {
			b.Errorf("the term went from %d to %d, want it raised", first, term)
		}
		b.fleet.Eventually("b takes ticks", func() error {
			if taken(two, "acknowledge")+taken(two, "duplicate") == 0 {
				return errors.New("none")
			}
			return nil
		})
		b.Logf("a slept after %d ticks; b took its first %v later; ttl 3 s", before, time.Since(slept).Round(10*time.Millisecond))
		one.Continue()
		b.wantCounted(out, number)
		b.wantSettled("ticks")
	})
}

// A singleton's consumer is held between taking a message and making it durable until another leads. Nobody else has that message, so
// nothing but the term can tell that it comes too late.
func TestMessageOfAPassedTermLeavesNoTrace(t *testing.T) {
	onBrokers(t, condition{silent: 2 * time.Minute, settings: scenario.Settings{"sutra.lease.ttl": "PT5S"}}, func(b brokered) { // the broker waits for it
		p := b.fleet.Proxy()
		settings := b.queues.Address()
		settings["sutra.datasource.url"] = b.fleet.Through(p)
		one := b.fleet.Launch("a", settings).AwaitReady()
		b.deploy(one)
		b.leads(one, one)
		two := b.launch("b")
		two.MustSend(scenario.Message{Channel: "counter", Event: "counter", Body: map[string]int{"number": 1, "until": 1}})
		p.Hold("INTO sutra_inbox")
		b.queues.Put("ticks", ticks(1, 1)...)
		b.fleet.Eventually("a is about to make the tick durable", func() error {
			if p.Held() == 0 {
				return errors.New("it is not")
			}
			return nil
		})
		one.Pause()
		b.leads(two, two)
		two.Pause()
		one.Continue()
		p.Release()
		b.fleet.Eventually("a is told that its term has passed", func() error {
			if !strings.Contains(one.Log(), "SUTRA.RUNTIME.SINGLETON.TERM_PASSED") {
				return errors.New("it is not")
			}
			return nil
		})
		if n := b.fleet.Ledger().Count("SELECT COUNT(*) FROM sutra_inbox WHERE channel = 'tick'"); n != 0 {
			b.Errorf("the late message left %d rows, want none", n)
		}
		two.Continue()
		wantEnded(b.T, b.fleet, two, 1)
		b.wantSettled("ticks")
	})
}

// Kafka's channels keep the order of each partition without a singleton: over two replicas who share the partitions, one of whom is killed,
// and one that takes its place.
func TestPartitionsKeepTheirOrder(t *testing.T) {
	const counters, number = 12, 20
	onBrokers(t, condition{silent: 2 * time.Second, kinds: []string{"kafka"}}, func(b brokered) {
		one := b.launch("a")
		one.DeployFiles("queues", b.edited("    singleton: true\n    ordered: true\n", ""))
		two := b.launch("b")
		for c := 1; c <= counters; c++ {
			two.MustSend(scenario.Message{Channel: "counter", Event: fmt.Sprintf("counter-%d", c), Body: map[string]int{"number": c, "until": number}})
		}
		b.fleet.Eventually("both consume", func() error {
			if n := b.queues.Consumers("ticks"); n != 2 {
				return fmt.Errorf("got %d consumers", n)
			}
			return nil
		})
		out := b.queues.Drain("counted")
		put := func(first, last int) {
			var all []scenario.Sent
			for i := first; i <= last; i++ {
				for c := 1; c <= counters; c++ {
					all = append(all, ticksOf(c, i, i)...)
				}
			}
			b.queues.Put("ticks", all...)
		}
		put(1, number/2)
		one.Kill()
		b.launch("c")
		put(number/2+1, number)
		b.fleet.Eventually("every counter tells", func() error {
			if n := len(out.Messages()); n < counters {
				return fmt.Errorf("got %d of %d", n, counters)
			}
			return nil
		})
		for _, m := range out.Messages() {
			wantSeen(b.T, m, number)
		}
		b.wantSettled("ticks")
	})
}
