package kafka_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/adapters/kafka"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestAddressStaysOutOfErrors(t *testing.T) {
	for _, address := range []string{
		"kafka://user:hunter2@127.0.0.1:1", "kafka://user:hunter2@127.0.0.1:1,127.0.0.1:2/", "kafka://user:hunter2@:x", "user:hunter2", "kafka://user:hunter2",
		"kafka://user:hun/ter2@127.0.0.1:1", "amqp://user:hunter2@127.0.0.1:1", "kafka://user:hunter2@127.0.0.1:1?sasl.mechanism=hunter2",
		"kafka://user:hunter2@127.0.0.1:1?session.timeout.ms=hunter2", "kafka://user:hunter2@127.0.0.1:1?password.too=hunter2", "kafkas://user:hunter2@127.0.0.1:1",
	} {
		s := &kafka.Sender{}
		_, err := s.Send(t.Context(), ports.Emission{Destination: address, Topic: "topic"})
		if err == nil || strings.Contains(err.Error(), "ter2") || fault.Of(err).Code.Disposition() == fault.Reject {
			t.Errorf("send to %s: got %v; want a failure that may pass, without the password", address, err)
		}
		must(t, s.Close())
		err = kafka.Broker{}.Consume(t.Context(), ports.Queue{URL: address, Path: "topic/group", Ahead: 1}, func() {}, nil)
		if err == nil || strings.Contains(err.Error(), "ter2") {
			t.Errorf("consume from %s: got %v; want a failure without the password", address, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster is a real broker, seen past the adapter.
type cluster struct {
	*provision.Broker

	client *kgo.Client
	admin  *kadm.Client
}

func TestAgainstABroker(t *testing.T) {
	if err := provision.FindBroker("kafka"); err != nil {
		t.Skip(err)
	}
	b, err := provision.StartBroker(t.Context(), "kafka")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	client, err := b.Kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(t, err)
	t.Cleanup(client.Close)
	c := cluster{b, client, kadm.NewClient(client)}
	for _, one := range []struct {
		name string
		run  func(*testing.T, cluster)
	}{
		{"SentMeansConfirmed", sentMeansConfirmed},
		{"WhoLogsInOtherwise", whoLogsInOtherwise},
		{"WhatCannotBeConsumedIsRefused", whatCannotBeConsumed},
		{"MessagesAreKnownByTheirPlace", knownByTheirPlace},
		{"NothingBehindAGapIsCommitted", nothingBehindAGap},
		{"WhatIsRefusedIsPassedOver", refusedIsPassedOver},
		{"OrderOutlastsARequeue", orderOutlastsARequeue},
		{"AHeldPartitionHoldsNoOtherUp", heldPartitionHoldsNoOtherUp},
		{"WhatIsInHandIsSettledBeforeItGoesToAnother", settledBeforeItGoes},
		{"WhatTakesTooLongIsAnothers", tooLongIsAnothers},
		{"FrozenBrokerHoldsNobodyUp", frozenBroker},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(t, c) })
	}
}

// topic makes one, and waits until the broker knows of it.
func (c cluster) topic(t *testing.T, name string, partitions int32) {
	t.Helper()
	_, err := c.admin.CreateTopic(t.Context(), partitions, 1, nil, name)
	must(t, err)
	for {
		topics, err := c.admin.ListTopics(t.Context(), name)
		must(t, err)
		if topics.Has(name) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// put writes numbers into one partition.
func (c cluster) put(t *testing.T, topic string, partition int32, first, last int) {
	t.Helper()
	for n := first; n <= last; n++ {
		must(t, c.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, n)}).FirstErr())
	}
}

// committed is how far a group is in a partition; -1: it has said nothing.
func (c cluster) committed(t *testing.T, group, topic string, partition int32) int64 {
	t.Helper()
	offsets, err := c.admin.FetchOffsets(t.Context(), group)
	must(t, err)
	if o, ok := offsets.Lookup(topic, partition); ok {
		return o.At
	}
	return -1
}

func (c cluster) wantCommitted(t *testing.T, group, topic string, partition int32, want int64) {
	t.Helper()
	got := int64(-1)
	for range 100 {
		if got = c.committed(t, group, topic, partition); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("group %s has committed %d of %s/%d, want %d", group, got, topic, partition, want)
}

// consumer is one that runs until it is stopped.
type consumer struct {
	t    *testing.T
	stop context.CancelFunc
	done chan error

	mu  sync.Mutex
	all []string // partition:body, as handed over
}

// consume opens the queue and waits until it is open.
func (c cluster) consume(t *testing.T, queue ports.Queue, take func(body string) ports.Ruling) *consumer {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	one := &consumer{t: t, stop: stop, done: make(chan error, 1)}
	queue.URL = c.URL + "?session.timeout.ms=2000"
	opened := make(chan struct{})
	go func() {
		one.done <- kafka.Broker{}.Consume(ctx, queue, func() { close(opened) }, func(in ports.Incoming) ports.Ruling {
			one.mu.Lock()
			one.all = append(one.all, in.Stream[strings.LastIndex(in.Stream, "/")+1:]+":"+string(in.Body))
			one.mu.Unlock()
			return take(string(in.Body))
		})
	}()
	t.Cleanup(stop)
	select {
	case <-opened:
	case err := <-one.done:
		t.Fatalf("not opened: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("not opened in 20 s")
	}
	return one
}

// end stops it and waits.
func (c *consumer) end() {
	c.t.Helper()
	c.stop()
	select {
	case err := <-c.done:
		if err != nil {
			c.t.Errorf("ended with %v, want nothing", err)
		}
	case <-time.After(20 * time.Second):
		c.t.Fatal("has not ended in 20 s")
	}
}

func (c *consumer) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// want waits until so many were handed over.
func (c *consumer) want(n int) []string {
	c.t.Helper()
	for range 200 {
		if all := c.taken(); len(all) >= n {
			return all
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("was handed %q, want %d messages", c.taken(), n)
	return nil
}

func acknowledge(string) ports.Ruling { return ports.Ruling{Disposal: ports.Acknowledge} }

func sentMeansConfirmed(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "sent", 3)
	s := &kafka.Sender{}
	t.Cleanup(func() { must(t, s.Close()) })
	e := ports.Emission{
		ID: ports.ID{1}, Instance: ports.ID{2}, Seq: 3, Destination: c.URL, Topic: "sent", ContentType: "text/plain", Body: []byte("hello"), Trace: "00-t-s-01 v=1",
		Headers: []ports.Header{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}, {Name: "ce-source", Value: "/shop"}},
	}
	send := func(e ports.Emission) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := s.Send(ctx, e)
		return err
	}
	missing, huge, nowhere, keyed := e, e, e, e
	missing.Topic, huge.Body, nowhere.Topic = "missing", make([]byte, 2<<20), ""
	keyed.Headers = []ports.Header{{Name: "kafka-key", Value: "A-17"}}
	for range 2 {
		if err := send(missing); fault.Of(err).Code != fault.SendFailed || !strings.Contains(err.Error(), "UNKNOWN_TOPIC") {
			t.Errorf("to a topic that is not there: got %v, want a failure that may pass", err)
		}
		must(t, send(e))
	}
	if err := send(huge); fault.Of(err).Code != fault.SendRefused {
		t.Errorf("2 MiB: got %v, want it refused for good", err)
	}
	if err := send(nowhere); fault.Of(err).Code != fault.SendRefused {
		t.Errorf("to no topic: got %v, want it refused for good", err)
	}
	must(t, send(keyed))
	reader, err := c.Kafka(kgo.ConsumeTopics("sent"))
	must(t, err)
	defer reader.Close()
	var got []*kgo.Record
	for len(got) < 3 {
		got = append(got, reader.PollFetches(t.Context()).Records()...)
	}
	partitions := map[string]map[int32]bool{}
	for _, r := range got {
		if partitions[string(r.Key)] == nil {
			partitions[string(r.Key)] = map[int32]bool{}
		}
		partitions[string(r.Key)][r.Partition] = true
		if string(r.Key) == "A-17" {
			continue
		}
		headers := ""
		for _, h := range r.Headers {
			headers += h.Key + "=" + string(h.Value) + ";"
		}
		want := "A=1;A=2;ce_source=/shop;content-type=text/plain;traceparent=00-t-s-01;tracestate=v=1;Idempotency-Key=" + e.ID.String() +
			";Sutra-Instance=" + e.Instance.String() + ";Sutra-Sequence=3;"
		if headers != want || string(r.Value) != "hello" {
			t.Errorf("got %q with headers %s, want %s", r.Value, headers, want)
		}
	}
	if len(got) != 3 || len(partitions) != 2 || len(partitions[e.Instance.String()]) != 1 || len(partitions["A-17"]) != 1 {
		t.Errorf("got %d messages with the partitions %v by key; want 3, and each key in one", len(got), partitions)
	}
}

func whoLogsInOtherwise(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "entered", 1)
	for address, works := range map[string]bool{
		c.URL + "?sasl.mechanism=SCRAM-SHA-512":                                               true,
		strings.Replace(c.URL, "@", "@127.0.0.1:1,", 1):                                       true, // one of two is away
		strings.Replace(c.URL, "provision:", "provision:hunter2", 1):                          false,
		strings.Replace(c.URL, "provision:", "hunter2:", 1) + "?sasl.mechanism=SCRAM-SHA-512": false,
		strings.Replace(c.URL, "kafka://", "kafkas://", 1):                                    false,
		"kafka://" + c.URL[strings.Index(c.URL, "@")+1:]:                                      false,
	} {
		s := &kafka.Sender{}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		began := time.Now()
		_, err := s.Send(ctx, ports.Emission{ID: ports.ID{1}, Destination: address, Topic: "entered"})
		cancel()
		if (err == nil) != works || err != nil && (fault.Of(err).Code != fault.SendFailed || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: got %v after %v, want it to work: %v", address, err, time.Since(began), works)
		}
		must(t, s.Close())
	}
}

func whatCannotBeConsumed(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "alone", 2)
	refused := func(path string, alone bool) error {
		return kafka.Broker{}.Consume(t.Context(), ports.Queue{URL: c.URL, Path: path, Ahead: 1, Alone: alone}, func() { t.Errorf("%s: opened", path) }, nil)
	}
	if err := refused("missing/g", false); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a topic that is not there: got %v, want it named", err)
	}
	one := c.consume(t, ports.Queue{Path: "alone/one", Ahead: 1, Alone: true}, acknowledge)
	if err := refused("alone/one", true); err == nil || !strings.Contains(err.Error(), "one has 1 members") {
		t.Errorf("a second one alone: got %v, want a refusal that names the group", err)
	}
	one.end()
	c.consume(t, ports.Queue{Path: "alone/one", Ahead: 1, Alone: true}, acknowledge).end() // it left when it ended
}

func knownByTheirPlace(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "place", 1)
	at := time.UnixMilli(1700000000000)
	header := func(name, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: []byte(value)} }
	must(t, c.client.ProduceSync(t.Context(), &kgo.Record{Topic: "place", Timestamp: at}, &kgo.Record{
		Topic: "place", Key: []byte("A-17"), Value: []byte("b"), Headers: []kgo.RecordHeader{
			header("idempotency-key", "m"), header("Content-Type", "text/plain"), header("ce_source", "/shop"), header("raw", "\xff"), header("traceparent", "00-t-s-01"),
		},
	}).FirstErr())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []ports.Incoming
	must(t, kafka.Broker{}.Consume(ctx, ports.Queue{URL: c.URL, Path: "place/g", Ahead: 1}, func() {}, func(in ports.Incoming) ports.Ruling {
		if got = append(got, in); len(got) == 2 {
			cancel()
		}
		return ports.Ruling{Disposal: ports.Acknowledge}
	}))
	if string(got[0].EventID) != "place/0/0@1700000000000" || got[0].Stream != "place/0" || got[0].Position != 0 {
		t.Errorf("without an id: got %+v, want it known by its place", got[0])
	}
	if m := got[1]; string(m.EventID) != "m" || m.ContentType != "text/plain" || m.Position != 1 || fmt.Sprint(m.Headers) != "[{Kafka-Key A-17} {ce-source /shop} {traceparent 00-t-s-01}]" {
		t.Errorf("got %+v, want it known by the id that it brings", m)
	}
	c.wantCommitted(t, "g", "place", 0, 2) // what is settled when it ends
}

// While one message is in hand, those after it are settled and not committed: who has the partition next is handed all of them.
func nothingBehindAGap(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "gap", 1)
	c.put(t, "gap", 0, 0, 9)
	release := make(chan struct{})
	one := c.consume(t, ports.Queue{Path: "gap/g", Ahead: 4}, func(body string) ports.Ruling {
		if body == "3" {
			<-release
		}
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	one.want(10)
	c.wantCommitted(t, "g", "gap", 0, 3)
	time.Sleep(time.Second) // longer than commits are apart
	c.wantCommitted(t, "g", "gap", 0, 3)
	close(release)
	c.wantCommitted(t, "g", "gap", 0, 10)
	one.end()
}

func refusedIsPassedOver(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "refused", 1)
	c.put(t, "refused", 0, 0, 2)
	one := c.consume(t, ports.Queue{Path: "refused/g", Ahead: 4, Ordered: true}, func(string) ports.Ruling { return ports.Ruling{Disposal: ports.Refuse} })
	one.want(3)
	c.wantCommitted(t, "g", "refused", 0, 3)
	one.end()
}

func orderOutlastsARequeue(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "order", 2)
	const number = 30
	for p := range int32(2) {
		c.put(t, "order", p, 0, number-1)
	}
	var mu sync.Mutex
	refused := map[string]int{}
	one := c.consume(t, ports.Queue{Path: "order/g", Ahead: 8, Ordered: true}, func(body string) ports.Ruling {
		mu.Lock()
		defer mu.Unlock()
		if refused[body]++; body == "7" && refused[body] <= 4 { // two partitions: twice each, or nearly
			return ports.Ruling{Disposal: ports.Requeue, After: 50 * time.Millisecond}
		}
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	all := one.want(2*number + 4)
	for p := range 2 {
		var got, want []string
		for _, m := range all {
			if strings.HasPrefix(m, fmt.Sprint(p, ":")) {
				got = append(got, m)
			}
		}
		for n := range number {
			want = append(want, fmt.Sprintf("%d:%d", p, n))
		}
		if again := slices.Compact(slices.Clone(got)); !slices.Equal(again, want) {
			t.Errorf("partition %d was handed over as %q, want it in order", p, got)
		}
		c.wantCommitted(t, "g", "order", int32(p), number)
	}
	one.end()
}

func heldPartitionHoldsNoOtherUp(t *testing.T, c cluster) {
	t.Helper()
	const number = 300 // more than a member holds of a partition
	c.topic(t, "held", 2)
	c.put(t, "held", 0, 0, number-1)
	c.put(t, "held", 1, 1000, 1000+number-1)
	one := c.consume(t, ports.Queue{Path: "held/g", Ahead: 2, Ordered: true}, func(body string) ports.Ruling {
		if body == "0" {
			return ports.Ruling{Disposal: ports.Requeue, After: time.Hour}
		}
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	one.want(1 + number)
	c.wantCommitted(t, "g", "held", 1, number)
	one.end() // an hour is not waited for
	if at := c.committed(t, "g", "held", 0); at > 0 {
		t.Errorf("committed %d of the held partition, want nothing", at)
	}
	two := c.consume(t, ports.Queue{Path: "held/g", Ahead: 2, Ordered: true}, acknowledge)
	if all := two.want(number); all[0] != "0:0" {
		t.Errorf("the next member was handed %s first, want 0:0", all[0])
	}
	c.wantCommitted(t, "g", "held", 0, number) // through the whole of it, past what a member holds
	two.end()
}

// A second member gets a share. What the first has in hand of it is settled and committed before: nothing is handed over twice.
func settledBeforeItGoes(t *testing.T, c cluster) {
	t.Helper()
	const each = 40
	c.topic(t, "shared", 4)
	for p := range int32(4) {
		c.put(t, "shared", p, 0, each-1)
	}
	slowly := func(string) ports.Ruling {
		time.Sleep(50 * time.Millisecond)
		return ports.Ruling{Disposal: ports.Acknowledge}
	}
	queue := ports.Queue{Path: "shared/g", Ahead: 8, Ordered: true}
	one := c.consume(t, queue, slowly)
	one.want(8)
	two := c.consume(t, queue, slowly)
	for p := range int32(4) {
		c.wantCommitted(t, "g", "shared", p, each)
	}
	times := map[string]int{}
	for _, m := range append(one.taken(), two.taken()...) {
		times[m]++
	}
	for m, n := range times {
		if n != 1 {
			t.Errorf("%s was handed over %d times, want once", m, n)
		}
	}
	if len(times) != 4*each || len(two.taken()) == 0 {
		t.Errorf("got %d messages, %d of them by the second member; want %d, and some", len(times), len(two.taken()), 4*each)
	}
	one.end()
	two.end()
}

// A message that takes longer than a member waits when it gives a partition back is handed to the next one, and nothing that the first
// settles of it later is committed.
func tooLongIsAnothers(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "slow", 2)
	for p := range int32(2) {
		c.put(t, "slow", p, 0, 2)
	}
	release := make(chan struct{})
	queue := ports.Queue{Path: "slow/g", Ahead: 8, Ordered: true}
	one := c.consume(t, queue, func(string) ports.Ruling {
		<-release
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	one.want(2)
	hold := make(chan struct{})
	two := c.consume(t, queue, func(string) ports.Ruling {
		<-hold
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	got := two.want(1)
	if !slices.Contains(one.taken(), got[0]) {
		t.Errorf("the second member was handed %s first, want what the first has in hand: %q", got[0], one.taken())
	}
	close(release)
	var gone int32
	if _, err := fmt.Sscanf(got[0], "%d:", &gone); err != nil {
		t.Fatal(err)
	}
	c.wantCommitted(t, "g", "slow", 1-gone, 3) // its own, the first goes on with
	if at := c.committed(t, "g", "slow", gone); at > 0 {
		t.Errorf("committed %d of the partition that is another's, who has settled nothing", at)
	}
	close(hold)
	c.wantCommitted(t, "g", "slow", gone, 3)
	one.end()
	two.end()
}

// A broker that is there and answers nothing keeps neither a consumer that stops, nor a send whose time is over, nor the end of the process.
func frozenBroker(t *testing.T, c cluster) {
	t.Helper()
	c.topic(t, "frozen", 1)
	s := &kafka.Sender{}
	e := ports.Emission{Destination: c.URL, Topic: "frozen"}
	_, err := s.Send(t.Context(), e)
	must(t, err)
	one := c.consume(t, ports.Queue{Path: "frozen/g", Ahead: 1}, func(string) ports.Ruling { return ports.Ruling{Disposal: ports.Requeue, After: time.Hour} })
	one.want(1)
	must(t, c.Pause())
	defer func() { must(t, c.Resume()) }()
	began := time.Now()
	sending, over := context.WithTimeout(t.Context(), time.Second)
	defer over()
	if _, err := s.Send(sending, e); fault.Of(err).Code != fault.SendFailed {
		t.Errorf("send: got %v, want a failure that may pass", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the send took %v, want 1 s", took)
	}
	one.end()
	must(t, s.Close())
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("all took %v, want less than 10 s", took)
	}
}
