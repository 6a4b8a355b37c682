package scenario

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Rabbit is one test's corner of a RabbitMQ broker: queues whose names nobody else uses. It is a client of its own, past the engine.
type Rabbit struct {
	Prefix string // of every queue's name

	t      testing.TB
	broker *provision.Broker
}

// Rabbit takes a corner of the broker, with durable queues of these names.
func (f *Fleet) Rabbit(b *provision.Broker, queues ...string) *Rabbit {
	f.t.Helper()
	r := &Rabbit{Prefix: fmt.Sprintf("q%d.", time.Now().UnixNano()), t: f.t, broker: b}
	for _, name := range queues {
		r.Declare(name, nil)
	}
	return r
}

// Address is where replicas find the broker, with a heartbeat of so many seconds.
func (r *Rabbit) Address(heartbeat int) string { return r.at(r.broker.URL, heartbeat) }

// Through is that address behind a proxy.
func (r *Rabbit) Through(p *Proxy, heartbeat int) string {
	r.t.Helper()
	u, err := url.Parse(r.broker.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	u.Host = p.Address()
	return r.at(u.String(), heartbeat)
}

func (r *Rabbit) at(address string, heartbeat int) string {
	return fmt.Sprintf("%s?heartbeat=%d", address, heartbeat)
}

// Declare makes a durable queue.
func (r *Rabbit) Declare(name string, args amqp.Table) {
	r.t.Helper()
	r.with(func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(r.Prefix+name, true, false, false, false, args)
		return err
	})
}

// Bind brings what an exchange gets under the queue's name to the queue.
func (r *Rabbit) Bind(name, exchange string) {
	r.t.Helper()
	r.with(func(ch *amqp.Channel) error { return ch.QueueBind(r.Prefix+name, r.Prefix+name, exchange, false, nil) })
}

// Put publishes messages that outlive the broker, and waits until all are confirmed.
func (r *Rabbit) Put(name string, messages ...amqp.Publishing) {
	r.t.Helper()
	r.with(func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		var all []*amqp.DeferredConfirmation
		for _, m := range messages {
			m.DeliveryMode = amqp.Persistent
			c, err := ch.PublishWithDeferredConfirmWithContext(r.t.Context(), "", r.Prefix+name, true, false, m)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		for _, c := range all {
			if ok, err := c.WaitContext(r.t.Context()); err != nil || !ok {
				return fmt.Errorf("not confirmed: %v, %w", ok, err)
			}
		}
		return nil
	})
}

// Depth is how many messages wait in a queue, and how many consume from it.
func (r *Rabbit) Depth(name string) (messages, consumers int) {
	r.t.Helper()
	r.with(func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(r.Prefix+name, true, false, false, false, nil)
		messages, consumers = q.Messages, q.Consumers
		return err
	})
	return messages, consumers
}

func (r *Rabbit) with(work func(*amqp.Channel) error) {
	r.t.Helper()
	conn, err := amqp.Dial(r.broker.URL)
	if err != nil {
		r.t.Fatalf("reach RabbitMQ: %v", err)
	}
	defer conn.Close() //nolint:errcheck // what was asked of it is confirmed
	ch, err := conn.Channel()
	if err == nil {
		err = work(ch)
	}
	if err != nil {
		r.t.Fatalf("RabbitMQ: %v", err)
	}
}

// Drain is what has come out of a queue.
type Drain struct {
	mu  sync.Mutex
	all []amqp.Delivery
}

// Drain takes all that comes into a queue, across restarts of the broker, until the test ends.
func (r *Rabbit) Drain(name string) *Drain {
	d := &Drain{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = d.take(ctx, r.broker.URL, r.Prefix+name) // the broker is away
			time.Sleep(100 * time.Millisecond)
		}
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	return d
}

func (d *Drain) take(ctx context.Context, address, queue string) error {
	conn, err := amqp.Dial(address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // what is not acknowledged comes again
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-deliveries:
			if !ok {
				return amqp.ErrClosed
			}
			d.mu.Lock()
			d.all = append(d.all, m)
			d.mu.Unlock()
			if err := m.Ack(false); err != nil {
				return err
			}
		}
	}
}

// Messages are all that came out, in order.
func (d *Drain) Messages() []amqp.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}
