// Package rabbitmq takes messages from RabbitMQ's queues, and sends to its exchanges, over AMQP 0-9-1. It decides nothing, reads no body,
// and declares nothing at the broker.
package rabbitmq

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

const (
	patience = 5 * time.Second // bounds what opening a connection may take
	goodbye  = 2 * time.Second // bounds what closing one may take: a broker that is frozen answers nothing
)

// dial connects. The address stays out of the error: it has a password.
func dial(address string) (*amqp.Connection, error) {
	if _, err := amqp.ParseURI(address); err != nil {
		return nil, fault.SecretUnset.With("the address of this RabbitMQ broker is none; use amqp://user:password@host:5672/vhost")
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName("sutra")
	conn, err := amqp.DialConfig(address, amqp.Config{Dial: amqp.DefaultDial(patience), Properties: properties})
	if err != nil {
		return nil, fault.SendFailed.With("cannot connect to RabbitMQ: %w", err)
	}
	return conn, nil
}

// hangUp closes a connection, and ends every call that still waits for an answer on it.
func hangUp(conn *amqp.Connection, now func() time.Time) error {
	return conn.CloseDeadline(now().Add(goodbye))
}

// why is what the broker said when it closed a channel or a connection; closed has what it said, if anything.
func why(closed <-chan *amqp.Error) error {
	select {
	case said := <-closed:
		if said != nil {
			return said
		}
	default:
	}
	return errors.New("the broker closed the connection")
}

// incoming is a delivery as the engine takes it.
func incoming(d *amqp.Delivery) ports.Incoming {
	in := ports.Incoming{ContentType: d.ContentType, Body: d.Body}
	if d.MessageId != "" {
		in.EventID = []byte(d.MessageId)
	}
	for _, h := range []ports.Header{{Name: "Sutra-Message-Type", Value: d.Type}, {Name: "Correlation-Id", Value: d.CorrelationId}, {Name: "Reply-To", Value: d.ReplyTo}} {
		if h.Value != "" {
			in.Headers = append(in.Headers, h)
		}
	}
	names := make([]string, 0, len(d.Headers))
	for name := range d.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch v := d.Headers[name].(type) {
		case nil, amqp.Table, []any: // the broker's own, as x-death: no text
		default:
			in.Headers = append(in.Headers, ports.Header{Name: plain(name), Value: fmt.Sprint(v)})
		}
	}
	return in
}

// plain is a header's name as it is over HTTP: CloudEvents has two forms for its own over AMQP.
func plain(name string) string {
	for _, prefix := range []string{"cloudEvents:", "cloudEvents_"} {
		if attribute, ok := strings.CutPrefix(name, prefix); ok {
			return "ce-" + attribute
		}
	}
	return name
}
