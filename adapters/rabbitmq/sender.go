package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Sender is a ports.Sender for amqp and amqps destinations. What it answers for as sent, the broker has confirmed: it is in a queue,
// on disk where the queue is durable.
type Sender struct {
	Now func() time.Time // the machine's clock

	mu     sync.Mutex
	links  map[string]*link // by address
	ending sync.WaitGroup   // of channels that are given up
}

// link is one connection with the channels that no send uses now.
type link struct {
	mu   sync.Mutex
	conn *amqp.Connection
	free []*publisher
}

// publisher is a channel that confirms. One send uses it at a time, so that what comes back is known to be about that send.
type publisher struct {
	ch       *amqp.Channel
	returned chan amqp.Return
	closed   chan *amqp.Error
}

// Send publishes e, as persistent and under its id, to the topic: a queue, or exchange/routing key. A message that reaches no queue was
// not sent.
func (s *Sender) Send(ctx context.Context, e ports.Emission) (ports.Response, error) {
	if e.Topic == "" {
		return ports.Response{}, fault.SendRefused.With("a broker is reached through a channel that says where messages go; name one in q:send")
	}
	l := s.link(e.Destination)
	p, err := l.take(e.Destination)
	if err != nil {
		return ports.Response{}, err
	}
	if err := p.publish(ctx, e); err != nil {
		s.ending.Go(func() { _ = p.ch.Close() }) // given up; the broker may be slow to agree, and the send's time is over
		return ports.Response{}, fault.SendFailed.With("RabbitMQ did not take it for %s: %w", e.Topic, err)
	}
	l.give(p)
	return ports.Response{}, nil
}

// Close ends every connection.
func (s *Sender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, l := range s.links {
		l.mu.Lock()
		if l.conn != nil && !l.conn.IsClosed() {
			err = errors.Join(err, hangUp(l.conn, s.Now))
		}
		l.mu.Unlock()
	}
	s.ending.Wait()
	return err
}

func (s *Sender) link(address string) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links = map[string]*link{}
	}
	l := s.links[address]
	if l == nil {
		l = &link{}
		s.links[address] = l
	}
	return l
}

// take answers a channel that is free, or a new one, on the connection that stands, or a new one.
func (l *link) take(address string) (*publisher, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.conn.IsClosed() {
		conn, err := dial(address)
		if err != nil {
			return nil, err
		}
		l.conn, l.free = conn, nil
	}
	for len(l.free) > 0 {
		p := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		if !p.ch.IsClosed() {
			return p, nil
		}
	}
	ch, err := l.conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		return nil, fault.SendFailed.With("cannot open a channel at RabbitMQ: %w", err)
	}
	return &publisher{ch, ch.NotifyReturn(make(chan amqp.Return, 1)), ch.NotifyClose(make(chan *amqp.Error, 1))}, nil
}

func (l *link) give(p *publisher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, p)
}

// publish sends and waits until the broker has confirmed. It says of a message that no queue wants so before it confirms it.
func (p *publisher) publish(ctx context.Context, e ports.Emission) error {
	exchange, key, ok := strings.Cut(e.Topic, "/")
	if !ok {
		exchange, key = "", e.Topic
	}
	confirmation, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, publishing(e))
	if err != nil {
		return err
	}
	confirmed, err := confirmation.WaitContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("no confirmation came: %w", err)
	case !confirmed && p.ch.IsClosed():
		return why(p.closed)
	case !confirmed:
		return errors.New("it answered that it could not keep it")
	}
	select {
	case r := <-p.returned:
		return fmt.Errorf("no queue takes it: %s (%d)", r.ReplyText, r.ReplyCode)
	default:
		return nil
	}
}

func publishing(e ports.Emission) amqp.Publishing {
	headers := amqp.Table{"Sutra-Instance": e.Instance.String(), "Sutra-Sequence": e.Seq}
	for _, h := range e.Headers {
		if first, twice := headers[h.Name].(string); twice {
			h.Value = first + ", " + h.Value
		}
		headers[h.Name] = h.Value
	}
	for _, h := range e.Trace.Headers() {
		headers[h.Name] = h.Value
	}
	return amqp.Publishing{
		MessageId: e.ID.String(), DeliveryMode: amqp.Persistent, ContentType: e.ContentType, Headers: headers, AppId: "sutra", Body: e.Body,
	}
}
