package nats

import (
	"context"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Sender is a ports.Sender for nats and tls destinations. What it answers for as sent, a stream has stored; what the stream has
// under that id already, within its window, it does not store again. The zero value is ready.
type Sender struct {
	mu    sync.Mutex
	links map[string]*link // by address
}

// link is one connection, shared by all sends to its address.
type link struct {
	mu   sync.Mutex
	conn *nats.Conn
	js   jetstream.JetStream
}

// Send publishes e under its id to the topic, a subject that some stream has to listen to.
func (s *Sender) Send(ctx context.Context, e ports.Emission) (ports.Response, error) {
	if e.Topic == "" {
		return ports.Response{}, fault.SendRefused.With("a broker is reached through a channel that says where messages go; name one in q:send")
	}
	js, err := s.link(e.Destination).open(e.Destination)
	if err != nil {
		return ports.Response{}, err
	}
	if _, err := js.PublishMsg(ctx, message(e), jetstream.WithMsgID(e.ID.String())); err != nil {
		return ports.Response{}, fault.SendFailed.With("no stream of NATS took it for %s: %w", e.Topic, err)
	}
	return ports.Response{}, nil
}

// Close ends every connection.
func (s *Sender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		l.mu.Lock()
		if l.conn != nil {
			l.conn.Close()
		}
		l.mu.Unlock()
	}
	return nil
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

// open answers the connection that stands, or a new one.
func (l *link) open(address string) (jetstream.JetStream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil && !l.conn.IsClosed() {
		return l.js, nil
	}
	var err error
	l.conn, l.js, err = dial(address)
	return l.js, err
}

func message(e ports.Emission) *nats.Msg {
	m := nats.NewMsg(e.Topic)
	m.Data = e.Body
	for _, h := range e.Headers {
		m.Header.Add(h.Name, h.Value)
	}
	if e.ContentType != "" {
		m.Header.Set("Content-Type", e.ContentType)
	}
	for _, h := range e.Trace.Headers() {
		m.Header.Set(h.Name, h.Value)
	}
	m.Header.Set("Sutra-Instance", e.Instance.String())
	m.Header.Set("Sutra-Sequence", strconv.FormatInt(e.Seq, 10))
	return m
}

// flush sends what was said last: settlements are not confirmed.
func flush(conn *nats.Conn) { _ = conn.FlushTimeout(patience) }
