// Package intake reads a message at a door and says where it goes: codec, schema, event id, correlation. It is the same for every
// transport. It asks no store: it answers what to ask, and decides from the answers.
package intake

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// maxEventID is the longest event id that is kept as it came, in bytes; longer ones are kept as their digest.
const maxEventID = 512

// Message is one message that was read and may be routed.
type Message struct {
	Rev     *deploy.Revision
	Channel channel.Channel
	Name    string    // what routes are found by: the channel, or a BPMN message name
	Match   ports.Key // of the correlation key that came with it (publish), or zero
	Type    string    // message type, or empty
	Inbox   ports.InboxRef
	EventID []byte
	Value   feel.Value
	Headers []ports.Header
	Mode    string // of a CloudEvent; see step.Event
	Trace   ports.Trace

	// Violations are what is wrong with the payload. Only nodes whose model takes such messages take this one.
	Violations []step.Violation

	Leases   []ports.Term // the singleton roles that it was taken under
	Stream   string       // ordered channels: what its position counts in
	Position int64
}

// Read decodes and checks a message that came to a channel of rev. fresh is its event id where the sender gave none: such a message
// is nobody's duplicate. A refusal has a code, and nothing was written.
func Read(rev *deploy.Revision, ch channel.Channel, in ports.Incoming, fresh ports.ID) (Message, error) {
	m := Message{Rev: rev, Channel: ch, Name: ch.Name, Headers: in.Headers, Leases: in.Leases}
	if ch.Ordered {
		m.Stream, m.Position = in.Stream, in.Position
	}
	value, err := decode(ch.Codec, &in)
	if err != nil {
		return m, err
	}
	m.Value, m.Headers, m.Type = value, in.Headers, messageType(in.Headers)
	if ch.Codec == channel.CloudEvents {
		m.Mode = eventMode(in.ContentType)
	}
	if err := m.validate(in.Body); err != nil {
		return m, err
	}
	if len(m.Violations) > 0 && !slices.ContainsFunc(m.sources(), m.admitted) {
		return m, m.Refusal()
	}
	id, err := m.eventID(in)
	if err != nil {
		return m, err
	}
	m.identify(in.Tenant, ch.Name, id, fresh)
	return m, nil
}

// published is how the inbox channels of messages begin that came by their BPMN name.
const published = "message:"

// PublishedName is the BPMN name of a message that came by it, from its inbox channel.
func PublishedName(channel string) (string, bool) { return strings.CutPrefix(channel, published) }

// Named is a message by its BPMN name, from the API: not through a channel.
func Named(rev *deploy.Revision, name, key string, in ports.Incoming, fresh ports.ID) (Message, error) {
	m := Message{Rev: rev, Name: name, Channel: channel.Channel{Name: published + name, Codec: channel.JSON}}
	if key != "" {
		m.Match = ports.NewKey(key)
	}
	if len(bytes.TrimSpace(in.Body)) > 0 { // a name may say it all
		value, err := decode(channel.JSON, &in)
		if err != nil {
			return m, err
		}
		m.Value = value
	}
	m.Headers = in.Headers
	m.identify(in.Tenant, m.Channel.Name, in.EventID, fresh)
	return m, nil
}

func (m *Message) identify(tenant, channel string, id []byte, fresh ports.ID) {
	if len(id) == 0 {
		id = []byte(fresh.String())
	}
	m.EventID = id
	if len(id) > maxEventID {
		sum := sha256.Sum256(id)
		m.EventID = []byte("sha256:" + hex.EncodeToString(sum[:]))
	}
	m.Inbox = ports.InboxRef{Tenant: tenant, Channel: channel, Event: ports.NewKey(tenant, channel, string(id))}
}

// eventID is the dedup key: the model's, else the channel's, else the transport's.
func (m *Message) eventID(in ports.Incoming) ([]byte, error) {
	for _, source := range m.sources() {
		if source.DedupKey != nil {
			v, err := source.DedupKey.Eval(feel.Env{Scope: m.scope()})
			return textOf(v, err, "q:source dedupKey")
		}
	}
	kind, rest, _ := strings.Cut(m.Channel.EventID, ":")
	switch kind {
	case "header":
		for _, h := range in.Headers {
			if strings.EqualFold(h.Name, rest) && h.Value != "" {
				return []byte(h.Value), nil
			}
		}
		return nil, fault.EventIDMissing.With("channel %q takes its event id from header %s, which is missing", m.Channel.Name, rest)
	case "payload":
		e, err := feel.Compile(rest)
		if err != nil {
			return nil, err
		}
		v, err := e.Eval(feel.Env{Scope: m.scope()})
		return textOf(v, err, "event-id "+rest)
	case "digest":
		sum := sha256.Sum256(in.Body)
		return []byte("sha256:" + hex.EncodeToString(sum[:])), nil
	}
	if len(in.EventID) == 0 && m.Channel.Transport.Brokered() { // a broker delivers again what nobody could tell from a new message
		return nil, fault.EventIDMissing.With("the message has no id of its own, and channel %q says of no other; send one, or give the channel an event-id (header:…, payload:…, digest)", m.Channel.Name)
	}
	return in.EventID, nil
}

func textOf(v feel.Value, err error, what string) ([]byte, error) {
	if err != nil || v == nil {
		return nil, fault.EventIDMissing.With("%s gives no value for this payload", what)
	}
	return []byte(feel.Text(v)), nil
}

// scope is what expressions at the door see: the payload by that name, and its entries where it is a context.
func (m *Message) scope() feel.Context {
	scope := feel.Context{}
	if entries, ok := m.Value.(feel.Context); ok {
		maps.Copy(scope, entries)
	}
	for _, s := range m.sources() {
		scope[cmp.Or(s.Name, "payload")] = m.Value
	}
	scope["payload"] = m.Value
	return scope
}

// validate notes in what the payload violates its channel's schema.
func (m *Message) validate(body []byte) error {
	schema := m.Rev.Schemas[m.Channel.Schema]
	if m.Channel.Schema == "" || schema == nil {
		return nil
	}
	if m.Channel.Codec != channel.JSON {
		text, err := feel.ToJSON(m.Value)
		if err != nil {
			return fault.SchemaViolated.With("the payload has no JSON form to hold against schema %q: %w", m.Channel.Schema, err)
		}
		body = text
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(doc)
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		for _, unit := range invalid.BasicOutput().Errors {
			if unit.Error != nil {
				m.Violations = append(m.Violations, step.Violation{Path: unit.InstanceLocation, Text: unit.Error.String()})
			}
		}
		return nil
	}
	return err
}

// Refusal says what is wrong with the payload.
func (m *Message) Refusal() error {
	f := fault.SchemaViolated.With("the payload violates schema %q", m.Channel.Schema)
	for _, v := range m.Violations {
		f.All = append(f.All, fault.Fault{Code: fault.SchemaViolated, Element: v.Path, Detail: v.Text})
	}
	return f
}

// decode reads the body as the codec says. A CloudEvents envelope becomes headers.
func decode(codec channel.Codec, in *ports.Incoming) (feel.Value, error) {
	media, _, _ := mime.ParseMediaType(in.ContentType)
	refuse := func(want string) error {
		return fault.ContentType.With("content type %q is not taken here; send %s", in.ContentType, want)
	}
	switch codec {
	case channel.JSON:
		if media != "" && media != "application/json" && !strings.HasSuffix(media, "+json") {
			return nil, refuse("application/json")
		}
		v, err := feel.FromJSON(in.Body)
		if err != nil {
			return nil, fault.BodyUndecodable.With("the body is no JSON that can be taken: %w", err)
		}
		return v, nil
	case channel.XML:
		if media != "" && media != "application/xml" && media != "text/xml" && !strings.HasSuffix(media, "+xml") {
			return nil, refuse("application/xml")
		}
		return decodeXML(in.Body)
	case channel.Text:
		if !utf8.Valid(in.Body) {
			return nil, fault.BodyUndecodable.With("the body is no UTF-8 text")
		}
		return feel.String(in.Body), nil
	case channel.Bytes:
		return feel.String(base64.StdEncoding.EncodeToString(in.Body)), nil
	case channel.CloudEvents:
		return decodeCloudEvent(media, in)
	}
	return nil, fault.ContentType.With("codec %q is unknown", codec)
}

// messageType is the CloudEvents type, or the Sutra-Message-Type header.
func messageType(headers []ports.Header) string {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "ce-type") || strings.EqualFold(h.Name, "Sutra-Message-Type") {
			return h.Value
		}
	}
	return ""
}

// Payload is the message as inbox rows carry it.
func (m *Message) Payload() ([]byte, error) {
	return step.EncodeEvent(step.Event{Headers: m.Headers, Payload: m.Value, Violations: m.Violations, Mode: m.Mode, Trace: m.Trace})
}

// Kept is a message as its inbox row kept it. Whoever restores it says under which revision.
func Kept(row ports.Message, e step.Event) Message {
	return Message{
		Name: row.Channel, Inbox: row.InboxRef, EventID: row.EventID, Value: e.Payload, Headers: e.Headers, Match: row.Correlation,
		Type: messageType(e.Headers), Violations: e.Violations, Mode: e.Mode, Trace: e.Trace,
	}
}
