package nats

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Broker is a ports.Broker for NATS JetStream. A queue's path is stream/consumer: a durable pull consumer that acknowledges explicitly,
// and, where it is consumed alone, lets one message be unsettled at a time: JetStream has no other way to keep the order.
type Broker struct{}

// Consume takes messages until ctx ends. What is not settled when the connection closes, the server delivers again after the consumer's
// ack wait.
func (Broker) Consume(ctx context.Context, from ports.Queue, opened func(), take func(ports.Incoming) ports.Ruling) error {
	conn, js, err := dial(from.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, name, _ := strings.Cut(from.Path, "/")
	consumer, err := js.Consumer(ctx, stream, name)
	if err != nil {
		return fmt.Errorf("find consumer %s of stream %s: %w", name, stream, err)
	}
	is := consumer.CachedInfo().Config
	switch {
	case is.AckPolicy != jetstream.AckExplicitPolicy:
		return fault.ChannelInvalid.With("consumer %s of stream %s does not acknowledge explicitly; make it with ack policy explicit", name, stream)
	case from.Alone && is.MaxAckPending != 1:
		return fault.ChannelInvalid.With("consumer %s of stream %s lets %d messages be unsettled; a singleton channel keeps the order with max ack pending 1", name, stream, is.MaxAckPending)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(from.Ahead), jetstream.PullExpiry(patience))
	if err != nil {
		return fmt.Errorf("consume from %s: %w", from.Path, err)
	}
	defer messages.Stop()
	opened()
	var taking sync.WaitGroup
	slots := make(chan struct{}, from.Ahead)
	stopping, stop := context.WithCancel(ctx)
	defer flush(conn)
	defer taking.Wait()
	defer stop()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			giveBack(messages)
			return nil
		}
		m, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = m.Nak()
			}
			giveBack(messages)
			return nil
		case err != nil:
			return fmt.Errorf("consume from %s: %w", from.Path, err)
		}
		taking.Go(func() {
			defer func() { <-slots }()
			handle(stopping, m, is.AckWait/2, take)
		})
	}
}

// giveBack returns what was sent ahead and not handed over, so that others need not wait for it.
func giveBack(messages jetstream.MessagesContext) {
	messages.Drain()
	for m, err := messages.Next(); err == nil; m, err = messages.Next() {
		_ = m.Nak()
	}
}

// handle hands one message over, tells the server meanwhile that it is worked on, and settles it as was ruled. When it cannot, the
// connection is gone and the message comes again.
func handle(ctx context.Context, m jetstream.Msg, every time.Duration, take func(ports.Incoming) ports.Ruling) {
	in, err := incoming(m)
	if err != nil {
		return // no message of a stream: there is nobody to tell
	}
	working, done := context.WithCancel(context.WithoutCancel(ctx))
	var telling sync.WaitGroup
	telling.Go(func() { progress(working, m, every) })
	ruling := take(in)
	done()
	telling.Wait()
	switch ruling.Disposal {
	case ports.Acknowledge:
		_ = m.Ack()
	case ports.Refuse:
		_ = m.Term()
	case ports.Requeue:
		_ = m.NakWithDelay(ruling.After)
	}
}

// progress keeps the server from delivering again what is worked on.
func progress(ctx context.Context, m jetstream.Msg, every time.Duration) {
	t := time.NewTicker(max(every, 100*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = m.InProgress()
		}
	}
}
