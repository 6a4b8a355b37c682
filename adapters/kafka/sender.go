package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Sender is a ports.Sender for kafka and kafkas destinations. What it answers for as sent, every replica in sync has. The zero value is
// ready.
type Sender struct {
	mu    sync.Mutex
	links map[string]*link // by address
}

// link is one client, shared by all sends to its address. It connects by itself, and again.
type link struct {
	client *kgo.Client
	stands atomic.Bool // the last send went through
}

// Send writes e to the topic, under its id and after the key of its instance.
func (s *Sender) Send(ctx context.Context, e ports.Emission) (ports.Response, error) {
	if e.Topic == "" {
		return ports.Response{}, fault.SendRefused.With("a broker is reached through a channel that says where messages go; name one in q:send")
	}
	l, err := s.link(e.Destination)
	if err != nil {
		return ports.Response{}, err
	}
	// A client whose broker is away tries on by itself, past the send's time. Asked first, it says at once what is wrong, and nothing heaps up.
	if !l.stands.Load() {
		if err := l.client.Ping(ctx); err != nil {
			return ports.Response{}, fault.SendFailed.With("cannot connect to Kafka: %w", err)
		}
	}
	err = l.produce(ctx, record(e))
	l.stands.Store(err == nil)
	switch {
	case never(err):
		return ports.Response{}, fault.SendRefused.With("Kafka never takes it for topic %s: %w", e.Topic, err)
	case err != nil:
		return ports.Response{}, fault.SendFailed.With("Kafka did not take it for topic %s: %w", e.Topic, err)
	}
	return ports.Response{}, nil
}

// produce waits until the record is confirmed, or ctx ends; a request that is under way then may still succeed.
func (l *link) produce(ctx context.Context, r *kgo.Record) error {
	done := make(chan error, 1)
	l.client.Produce(ctx, r, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// never says that no other time will do.
func never(err error) bool {
	return slices.ContainsFunc([]error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTopicException}, func(one error) bool {
		return errors.Is(err, one)
	})
}

// Close ends every connection.
func (s *Sender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		l.client.Close()
	}
	return nil
}

func (s *Sender) link(destination string) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.links[destination]; l != nil {
		return l, nil
	}
	at, err := read(destination)
	if err != nil {
		return nil, err
	}
	// Idempotent, with the confirmation of all replicas: so is the client by default.
	client, err := kgo.NewClient(at.with(kgo.ProducerLinger(0), kgo.UnknownTopicRetries(0), kgo.ProduceRequestTimeout(patience))...)
	if err != nil {
		return nil, fault.SendFailed.With("begin with Kafka: %w", err)
	}
	if s.links == nil {
		s.links = map[string]*link{}
	}
	l := &link{client: client}
	s.links[destination] = l
	return l, nil
}
