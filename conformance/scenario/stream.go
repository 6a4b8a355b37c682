package scenario

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stream is a corner of a NATS broker: a stream with a consumer for each queue.
type stream struct{ url, prefix string }

func (s *stream) words() *strings.Replacer {
	return strings.NewReplacer("transport: rabbitmq", "transport: nats", "main/amq.direct/scenario.", "main/"+s.prefix+".",
		"main/scenario.orders", "main/"+s.prefix+"/orders", "main/scenario.ticks", "main/"+s.prefix+"/ticks", "scenario.", s.prefix+".")
}

func (s *stream) declare(wait time.Duration) error {
	return s.with(func(ctx context.Context, js jetstream.JetStream) error {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: s.prefix, Subjects: []string{s.prefix + ".>"}}); err != nil {
			return err
		}
		for queue, pending := range map[string]int{"orders": 1000, "shipped": 1000, "ticks": 1, "counted": 1000} {
			_, err := js.CreateConsumer(ctx, s.prefix, jetstream.ConsumerConfig{
				Durable: queue, FilterSubject: s.prefix + "." + queue, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxAckPending: pending,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stream) put(queue string, messages []Sent) error {
	return s.with(func(ctx context.Context, js jetstream.JetStream) error {
		for _, m := range messages {
			msg := nats.NewMsg(s.prefix + "." + queue)
			msg.Data = []byte(m.Body)
			msg.Header.Set("Content-Type", m.Kind)
			var id []jetstream.PublishOpt
			if m.ID != "" {
				id = append(id, jetstream.WithMsgID(m.ID))
			}
			if _, err := js.PublishMsg(ctx, msg, id...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stream) depth(queue string) (messages, consumers int, err error) {
	err = s.with(func(ctx context.Context, js jetstream.JetStream) error {
		c, err := js.Consumer(ctx, s.prefix, queue)
		if err != nil {
			return err
		}
		is := c.CachedInfo()
		messages, consumers = int(is.NumPending)+is.NumAckPending, is.NumWaiting
		return nil
	})
	return messages, consumers, err
}

// with connects for one piece of work, which has to be done in time.
func (s *stream) with(work func(context.Context, jetstream.JetStream) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.connected(func(js jetstream.JetStream) error { return work(ctx, js) })
}

func (s *stream) connected(work func(jetstream.JetStream) error) error {
	conn, err := nats.Connect(s.url, nats.NoReconnect())
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return work(js)
}

func (s *stream) take(ctx context.Context, queue string, got func(Sent)) error {
	return s.connected(func(js jetstream.JetStream) error { return s.drain(ctx, js, queue, got) })
}

func (s *stream) drain(ctx context.Context, js jetstream.JetStream, queue string, got func(Sent)) error {
	c, err := js.Consumer(ctx, s.prefix, queue)
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullExpiry(2 * time.Second))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		headers := map[string]string{}
		for name := range m.Headers() {
			headers[name] = m.Headers().Get(name)
		}
		// Noted first: a broker that dies after it has taken an acknowledgement, and before it confirms that, gives the message to nobody.
		got(Sent{ID: headers[nats.MsgIdHdr], Kind: headers["Content-Type"], Body: string(m.Data()), Headers: headers})
		if err := m.DoubleAck(ctx); err != nil {
			return err
		}
	}
}
