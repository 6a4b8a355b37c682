package rabbitmq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/adapters/rabbitmq"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestAddressStaysOutOfErrors(t *testing.T) {
	for _, address := range []string{"amqp://user:hunter2@127.0.0.1:1/", "amqp://user:hunter2@:x/", "user:hunter2"} {
		_, err := (&rabbitmq.Sender{Now: time.Now}).Send(t.Context(), ports.Emission{Destination: address, Topic: "queue"})
		if err == nil || strings.Contains(err.Error(), "hunter2") || fault.Of(err).Code.Disposition() == fault.Reject {
			t.Errorf("send to %s: got %v; want a failure that may pass, without the password", address, err)
		}
		err = rabbitmq.Broker{Now: time.Now}.Consume(t.Context(), ports.Queue{URL: address, Path: "queue", Ahead: 1}, func() {}, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("consume from %s: got %v; want a failure without the password", address, err)
		}
	}
}

// A broker on which these queues are; a real one.
func broker(t *testing.T, queues ...string) (*provision.Broker, *amqp.Channel) {
	t.Helper()
	if err := provision.FindBroker("rabbitmq"); err != nil {
		t.Skip(err)
	}
	b, err := provision.StartBroker(t.Context(), "rabbitmq")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	conn, err := amqp.Dial(b.URL)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	must(t, err)
	for _, q := range queues {
		_, err = ch.QueueDeclare(q, true, false, false, false, nil)
		must(t, err)
	}
	return b, ch
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAgainstABroker(t *testing.T) {
	b, ch := broker(t, "there", "alone", "frozen")
	t.Run("SentMeansInAQueue", func(t *testing.T) { sentMeansInAQueue(t, b.URL, ch) })
	t.Run("WhoConsumesAloneIsAlone", func(t *testing.T) { whoConsumesAlone(t, b.URL, ch) })
	t.Run("FrozenBrokerHoldsNobodyUp", func(t *testing.T) { frozenBroker(t, b) })
}

func sentMeansInAQueue(t *testing.T, address string, ch *amqp.Channel) {
	t.Helper()
	s := &rabbitmq.Sender{Now: time.Now}
	t.Cleanup(func() { must(t, s.Close()) })
	id := ports.ID{1}
	send := func(topic string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := s.Send(ctx, ports.Emission{
			ID: id, Instance: ports.ID{2}, Seq: 3, Destination: address, Topic: topic, ContentType: "text/plain", Body: []byte("hello"),
			Headers: []ports.Header{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}, Trace: "00-t-s-01 v=1",
		})
		return err
	}
	// What reaches no queue was not sent, and spoils nothing for the next.
	for topic, why := range map[string]string{"nowhere": "no queue takes it", "amq.direct/nowhere": "no queue takes it", "missing/key": "no exchange"} {
		if err := send(topic); err == nil || fault.Of(err).Code != fault.SendFailed || !strings.Contains(err.Error(), why) {
			t.Errorf("to %s: got %v, want a failure that says: %s", topic, err, why)
		}
		must(t, send("there"))
	}
	m, ok, err := ch.Get("there", true)
	if err != nil || !ok || m.MessageId != id.String() || m.DeliveryMode != amqp.Persistent || m.ContentType != "text/plain" || string(m.Body) != "hello" {
		t.Errorf("got %+v, %v, %v; want the emission under its id, persistent", m, ok, err)
	}
	if m.Headers["A"] != "1, 2" || m.Headers["Sutra-Instance"] != (ports.ID{2}).String() || m.Headers["Sutra-Sequence"] != int64(3) ||
		m.Headers["traceparent"] != "00-t-s-01" || m.Headers["tracestate"] != "v=1" {
		t.Errorf("got headers %v", m.Headers)
	}
	if err := send(""); fault.Of(err).Code != fault.SendRefused {
		t.Errorf("to no topic: got %v, want it refused for good", err)
	}
}

func whoConsumesAlone(t *testing.T, address string, ch *amqp.Channel) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	opened, ended := make(chan struct{}), make(chan error)
	queue := ports.Queue{URL: address, Path: "alone", Ahead: 1, Alone: true}
	got := make(chan ports.Incoming, 1)
	go func() {
		ended <- rabbitmq.Broker{Now: time.Now}.Consume(ctx, queue, func() { close(opened) }, func(in ports.Incoming) ports.Ruling {
			got <- in
			return ports.Ruling{Disposal: ports.Acknowledge}
		})
	}()
	<-opened
	if err := (rabbitmq.Broker{Now: time.Now}).Consume(t.Context(), queue, func() { t.Error("opened for two") }, nil); err == nil {
		t.Error("a second one consumes: want it refused")
	}
	must(t, ch.PublishWithContext(ctx, "", "alone", false, false, amqp.Publishing{
		MessageId: "m", Type: "order.placed", Headers: amqp.Table{"cloudEvents:source": "/shop", "n": int32(7), "traceparent": "00-t-s-01", "x-death": []any{}}, Body: []byte("b"),
	}))
	in := <-got
	headers := map[string]string{}
	for _, h := range in.Headers {
		headers[h.Name] = h.Value
	}
	if string(in.EventID) != "m" || headers["Sutra-Message-Type"] != "order.placed" || headers["ce-source"] != "/shop" || headers["n"] != "7" || ports.TraceOf(in.Headers) != "00-t-s-01" || len(headers) != 4 {
		t.Errorf("got event %q with headers %v", in.EventID, headers)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v, want nothing", err)
	}
	if q, err := ch.QueueDeclarePassive("alone", true, false, false, false, nil); err != nil || q.Messages != 0 || q.Consumers != 0 {
		t.Errorf("left %+v, %v; want the queue empty and nobody at it", q, err)
	}
}

// A broker that is there and answers nothing keeps neither a consumer that stops, nor a send whose time is over, nor the end of the process.
func frozenBroker(t *testing.T, b *provision.Broker) {
	t.Helper()
	const soon = 4 * time.Second // a heartbeat would find out after 30 s
	s := &rabbitmq.Sender{Now: time.Now}
	e := ports.Emission{Destination: b.URL, Topic: "frozen"}
	_, err := s.Send(t.Context(), e)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	opened, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- rabbitmq.Broker{Now: time.Now}.Consume(ctx, ports.Queue{URL: b.URL, Path: "frozen", Ahead: 1}, func() { close(opened) },
			func(ports.Incoming) ports.Ruling { return ports.Ruling{Disposal: ports.Requeue, After: time.Hour} })
	}()
	<-opened
	must(t, b.Pause())
	began := time.Now()
	sending, over := context.WithTimeout(t.Context(), time.Second)
	defer over()
	if _, err := s.Send(sending, e); fault.Of(err).Code != fault.SendFailed {
		t.Errorf("send: got %v, want a failure that may pass", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the consumer ended with %v, want nothing", err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("the send and the consumer took %v, want less than %v", took, soon)
	}
	_ = s.Close()
	if took := time.Since(began); took > 2*soon {
		t.Errorf("all took %v, want less than %v", took, 2*soon)
	}
	must(t, b.Resume())
}
