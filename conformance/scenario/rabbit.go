package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbit is a corner of a RabbitMQ broker.
type rabbit struct {
	url, prefix string
	heartbeat   time.Duration
}

// beating is an address with the heartbeat by which the broker finds out that a client is gone.
func (r *rabbit) beating(address string) string {
	return fmt.Sprintf("%s?heartbeat=%d", address, int(max(r.heartbeat/2, time.Second)/time.Second))
}

func (r *rabbit) name(queue string) string { return r.prefix + "." + queue }

func (r *rabbit) words() *strings.Replacer { return strings.NewReplacer("scenario.", r.prefix+".") }

func (r *rabbit) declare(time.Duration) error {
	return r.with(func(ch *amqp.Channel) error {
		dead := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": r.name("dead")}
		for queue, args := range map[string]amqp.Table{"orders": dead, "shipped": nil, "ticks": dead, "counted": nil, "dead": nil} {
			if _, err := ch.QueueDeclare(r.name(queue), true, false, false, false, args); err != nil {
				return err
			}
		}
		return ch.QueueBind(r.name("counted"), r.name("counted"), "amq.direct", false, nil)
	})
}

func (r *rabbit) put(queue string, messages []Sent) error {
	return r.with(func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		var all []*amqp.DeferredConfirmation
		for _, m := range messages {
			c, err := ch.PublishWithDeferredConfirmWithContext(context.Background(), "", r.name(queue), true, false, amqp.Publishing{
				MessageId: m.ID, ContentType: m.Kind, DeliveryMode: amqp.Persistent, Body: []byte(m.Body),
			})
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		for _, c := range all {
			if !c.Wait() {
				return errors.New("a message was not confirmed")
			}
		}
		return nil
	})
}

func (r *rabbit) depth(queue string) (messages, consumers int, err error) {
	err = r.with(func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(r.name(queue), true, false, false, false, nil)
		messages, consumers = q.Messages, q.Consumers
		return err
	})
	return messages, consumers, err
}

func (r *rabbit) with(work func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(r.url)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // what was asked of it is confirmed
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	return work(ch)
}

func (r *rabbit) take(ctx context.Context, queue string, got func(Sent)) error {
	return r.with(func(ch *amqp.Channel) error {
		deliveries, err := ch.Consume(r.name(queue), "", false, false, false, false, nil)
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
				headers := map[string]string{}
				for name, v := range m.Headers {
					headers[name] = fmt.Sprint(v)
				}
				got(Sent{ID: m.MessageId, Kind: m.ContentType, Body: string(m.Body), Headers: headers})
				if err := m.Ack(false); err != nil {
					return err
				}
			}
		}
	})
}
