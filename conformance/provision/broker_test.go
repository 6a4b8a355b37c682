package provision_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/conformance/provision"
)

func TestBrokersKeepWhatIsDurable(t *testing.T) {
	for _, kind := range provision.Brokers() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if err := provision.FindBroker(kind); err != nil {
				t.Skip(err)
			}
			b, err := provision.StartBroker(t.Context(), kind)
			must(t, err)
			t.Cleanup(func() { must(t, b.Close()) })
			put(t, b)
			must(t, b.Kill())
			must(t, b.Restart(t.Context()))
			if n := held(t, b); n != 1 {
				t.Errorf("after a kill and a restart: got %d messages, want 1", n)
			}
		})
	}
}

func put(t *testing.T, b *provision.Broker) {
	t.Helper()
	if b.Kind == "kafka" {
		client, err := b.Kafka()
		must(t, err)
		defer client.Close()
		_, err = kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "facts")
		must(t, err)
		must(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "facts", Value: []byte("1")}).FirstErr())
		return
	}
	if b.Kind == "nats" {
		conn, err := nats.Connect(b.URL)
		must(t, err)
		defer conn.Close()
		js, err := conn.JetStream()
		must(t, err)
		_, err = js.AddStream(&nats.StreamConfig{Name: "facts", Subjects: []string{"facts"}})
		must(t, err)
		_, err = js.Publish("facts", []byte("1"))
		must(t, err)
		return
	}
	conn, err := amqp.Dial(b.URL)
	must(t, err)
	defer conn.Close()
	ch, err := conn.Channel()
	must(t, err)
	_, err = ch.QueueDeclare("facts", true, false, false, false, nil)
	must(t, err)
	must(t, ch.Confirm(false))
	c, err := ch.PublishWithDeferredConfirmWithContext(t.Context(), "", "facts", true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("1")})
	must(t, err)
	if !c.Wait() {
		t.Fatal("not confirmed")
	}
}

// held counts what is there.
func held(t *testing.T, b *provision.Broker) int {
	t.Helper()
	if b.Kind == "kafka" {
		client, err := b.Kafka()
		must(t, err)
		defer client.Close()
		ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), "facts")
		must(t, err)
		end, _ := ends.Lookup("facts", 0)
		must(t, end.Err)
		return int(end.Offset)
	}
	if b.Kind == "nats" {
		conn, err := nats.Connect(b.URL)
		must(t, err)
		defer conn.Close()
		js, err := conn.JetStream(nats.MaxWait(20 * time.Second))
		must(t, err)
		info, err := js.StreamInfo("facts")
		must(t, err)
		return int(info.State.Msgs)
	}
	conn, err := amqp.Dial(b.URL)
	must(t, err)
	defer conn.Close()
	ch, err := conn.Channel()
	must(t, err)
	q, err := ch.QueueDeclarePassive("facts", true, false, false, false, nil)
	must(t, err)
	return q.Messages
}
