package rabbitmq

import (
	"context"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/ports"
)

// Broker is a ports.Broker for RabbitMQ. A queue's path is its name. Every consumer has a connection of its own, so that the trouble of
// one is nobody else's.
type Broker struct {
	Now func() time.Time // the machine's clock
}

// Consume takes messages until ctx ends. What is not settled when the connection closes, the broker delivers again.
func (b Broker) Consume(ctx context.Context, from ports.Queue, opened func(), take func(ports.Incoming) ports.Ruling) error {
	conn, err := dial(from.URL)
	if err != nil {
		return err
	}
	defer hangUp(conn, b.Now)                                            //nolint:errcheck // what it could say, the end of the deliveries has said
	giveUp := context.AfterFunc(ctx, func() { _ = hangUp(conn, b.Now) }) // on a broker that does not answer
	deliveries, closed, err := open(conn, from)
	if !giveUp() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("consume from %s: %w", from.Path, err)
	}
	opened()
	var taking sync.WaitGroup
	defer taking.Wait() // before the connection closes
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case d, ok := <-deliveries:
			if !ok {
				return fmt.Errorf("consume from %s: %w", from.Path, why(closed))
			}
			if ctx.Err() != nil {
				return nil
			}
			taking.Go(func() { settle(stopping, &d, take(incoming(&d))) })
		}
	}
}

// open begins the deliveries. closed has the reason of their end.
func open(conn *amqp.Connection, from ports.Queue) (deliveries <-chan amqp.Delivery, closed <-chan *amqp.Error, err error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, nil, err
	}
	closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	if err := ch.Qos(from.Ahead, 0, false); err != nil {
		return nil, nil, err
	}
	deliveries, err = ch.Consume(from.Path, "", false, from.Alone, false, false, nil)
	return deliveries, closed, err
}

// settle does as was ruled. When it cannot, the connection is gone and the message comes again.
func settle(ctx context.Context, d *amqp.Delivery, r ports.Ruling) {
	switch r.Disposal {
	case ports.Acknowledge:
		_ = d.Ack(false)
	case ports.Refuse:
		_ = d.Reject(false)
	case ports.Requeue:
		// The broker knows no delay: the message is held here for a while.
		t := time.NewTimer(r.After)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		_ = d.Nack(false, true)
	}
}
