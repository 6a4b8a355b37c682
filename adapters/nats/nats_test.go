package nats_test

import (
	"context"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sutra-engine/sutra/adapters/nats"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestAddressStaysOutOfErrors(t *testing.T) {
	for _, address := range []string{"nats://user:hunter2@127.0.0.1:1", "nats://user:hunter2@:x", "user:hunter2"} {
		_, err := (&nats.Sender{}).Send(t.Context(), ports.Emission{Destination: address, Topic: "subject"})
		if err == nil || strings.Contains(err.Error(), "hunter2") || fault.Of(err).Code.Disposition() == fault.Reject {
			t.Errorf("send to %s: got %v; want a failure that may pass, without the password", address, err)
		}
		err = nats.Broker{}.Consume(t.Context(), ports.Queue{URL: address, Path: "stream/consumer", Ahead: 1}, func() {}, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("consume from %s: got %v; want a failure without the password", address, err)
		}
	}
}

// broker is a real one with a stream that listens to orders.>.
func broker(t *testing.T) (string, jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	if err := provision.FindBroker("nats"); err != nil {
		t.Skip(err)
	}
	b, err := provision.StartBroker(t.Context(), "nats")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	conn, err := client.Connect(b.URL)
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(t, err)
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>"}})
	must(t, err)
	return b.URL, js, s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSentMeansInAStreamOnce(t *testing.T) {
	address, _, stream := broker(t)
	s := &nats.Sender{}
	t.Cleanup(func() { must(t, s.Close()) })
	send := func(topic string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Send(ctx, ports.Emission{ID: ports.ID{1}, Instance: ports.ID{2}, Destination: address, Topic: topic, ContentType: "text/plain", Body: []byte("hello"), Trace: "00-t-s-01 v=1"})
		return err
	}
	if err := send("nowhere"); err == nil || fault.Of(err).Code != fault.SendFailed {
		t.Errorf("to a subject of no stream: got %v, want a failure that may pass", err)
	}
	must(t, send("orders.new"))
	must(t, send("orders.new"))
	is, err := stream.Info(t.Context())
	if err != nil || is.State.Msgs != 1 {
		t.Errorf("sent twice under one id: got %+v, %v; want one message", is.State, err)
	}
	m, err := stream.GetMsg(t.Context(), is.State.LastSeq)
	must(t, err)
	if m.Header.Get("traceparent") != "00-t-s-01" || m.Header.Get("tracestate") != "v=1" {
		t.Errorf("got headers %v, want the trace", m.Header)
	}
	if err := send(""); fault.Of(err).Code != fault.SendRefused {
		t.Errorf("to no topic: got %v, want it refused for good", err)
	}
}

func TestConsumersThatCannotKeepThePromiseAreRefused(t *testing.T) {
	address, _, stream := broker(t)
	for name, c := range map[string]jetstream.ConsumerConfig{
		"many":  {Durable: "many", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10},
		"never": {Durable: "never", AckPolicy: jetstream.AckNonePolicy},
		"gone":  {},
	} {
		if c.Durable != "" {
			_, err := stream.CreateConsumer(t.Context(), c)
			must(t, err)
		}
		queue := ports.Queue{URL: address, Path: "orders/" + name, Ahead: 1, Alone: true}
		if err := (nats.Broker{}).Consume(t.Context(), queue, func() { t.Errorf("%s: opened", name) }, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want a refusal that names it", name, err)
		}
	}
}

// What is worked on for longer than the ack wait is not delivered again; what is not worked on when the consumer stops is given back at
// once.
func TestMessagesStayTheirConsumersWhileItWorks(t *testing.T) {
	address, js, stream := broker(t)
	const wait = time.Second
	consumer, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "slow", AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait})
	must(t, err)
	for range 3 {
		_, err := js.Publish(t.Context(), "orders.new", []byte("x"))
		must(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var events []string
	err = nats.Broker{}.Consume(ctx, ports.Queue{URL: address, Path: "orders/slow", Ahead: 1}, func() {}, func(in ports.Incoming) ports.Ruling {
		events = append(events, string(in.EventID))
		if len(events) == 1 {
			time.Sleep(3 * wait)
		} else {
			cancel()
		}
		return ports.Ruling{Disposal: ports.Acknowledge}
	})
	must(t, err)
	if len(events) != 2 || events[0] == events[1] || !strings.HasPrefix(events[0], "orders/1@") {
		t.Errorf("handed over %q, want two messages, each known by its place", events)
	}
	is, err := consumer.Info(t.Context())
	if err != nil || is.NumRedelivered > 1 || is.AckFloor.Stream != 2 {
		t.Errorf("got %+v, %v; want two settled, and at most the third given back", is, err)
	}
}
