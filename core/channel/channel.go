// Package channel is channels.yaml: the doors of a package, and the ways out. It opens no connection and resolves no secret.
package channel

import (
	"strings"
	"time"
)

// Transport is how a channel's messages travel.
type Transport string

// The transports.
const (
	HTTP     Transport = "http"
	RabbitMQ Transport = "rabbitmq"
	NATS     Transport = "nats"
	Kafka    Transport = "kafka"
	Pull     Transport = "pull"  // external tasks: workers fetch
	Local    Transport = "local" // between instances of one tenant
)

// Brokered says that the transport's messages wait at a broker.
func (t Transport) Brokered() bool { return t == RabbitMQ || t == NATS || t == Kafka }

// Place is somewhere at a broker. The broker is named, and the configuration says where it is: a package never does.
type Place struct {
	Broker string
	Path   string // rabbitmq: a queue, or exchange/routing key; nats: stream/consumer, or a subject; kafka: topic/group, or a topic
}

// Reference is where the broker is, to be resolved at run time.
func (p Place) Reference() string { return "broker:" + p.Broker }

// AckMode says when a message is answered.
type AckMode string

// The acknowledgement modes.
const (
	OnComplete AckMode = "on-complete" // when the instance replies or ends
	OnPersist  AckMode = "on-persist"  // when the message is durable
)

// Codec reads bodies.
type Codec string

// The codecs.
const (
	JSON        Codec = "json"
	XML         Codec = "xml"
	Text        Codec = "text"
	Bytes       Codec = "bytes"
	CloudEvents Codec = "cloudevents"
)

// Channel is one channel of a package. Secrets and addresses may be references (env:NAME, file:PATH), resolved at run time.
type Channel struct {
	Name         string
	Transport    Transport
	Bind         string // how messages come in: "POST /path", "broker/queue", "broker/stream/consumer", "broker/topic/group"; empty: nothing comes in
	URL          string // where messages go out over HTTP; empty: nothing goes out
	To           string // where messages go out at a broker: "broker/queue", "broker/exchange/key", "broker/subject", "broker/topic"; empty: nothing goes out
	Codec        Codec
	Schema       string // of schemas/, by path without extension; empty: none
	AckMode      AckMode
	EventID      string // header:<name>, payload:<FEEL>, digest; empty: the transport's own
	Auth         Auth
	Singleton    bool
	Broadcast    bool
	Ordered      bool
	TTL          time.Duration // how long a message that fits no wait is kept (on-persist)
	PayloadCap   int64         // bytes; 0: the engine's
	MaxInstances int           // of those that it starts, living at once in the fleet; 0: any number
	Line         int           // in channels.yaml
}

// Auth is who may use a channel's door, and with what the engine goes out.
type Auth struct {
	Scheme   string            // none, apikey, bearer
	Header   string            // apikey: where the key is
	Key      string            // a reference
	Audience string            // bearer instead of a key: a token of the configured issuer that is made for it; who is trusted no package says
	Claims   map[string]string // what such a token has to claim, by the claims' paths
}

// From is where a broker's channel takes its messages from.
func (c Channel) From() Place { return PlaceOf(c.Bind) }

// Out is where a broker's channel sends to.
func (c Channel) Out() Place { return PlaceOf(c.To) }

// PlaceOf reads broker/path; what has no slash has no path.
func PlaceOf(text string) Place {
	broker, path, _ := strings.Cut(text, "/")
	return Place{broker, path}
}
