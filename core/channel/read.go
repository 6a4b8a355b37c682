package channel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lint"
	"github.com/sutra-engine/sutra/ports/fault"
)

// File is where channels are declared.
const File = "channels.yaml"

type document struct {
	Channels []yaml.Node `yaml:"channels"`
}

type entry struct {
	Name          string    `yaml:"name"`
	Transport     Transport `yaml:"transport"`
	Bind          string    `yaml:"bind"`
	URL           string    `yaml:"url"`
	To            string    `yaml:"to"`
	Codec         Codec     `yaml:"codec"`
	Schema        string    `yaml:"schema"`
	AckMode       AckMode   `yaml:"ack-mode"`
	EventID       string    `yaml:"event-id"`
	Auth          *auth     `yaml:"auth"`
	Singleton     bool      `yaml:"singleton"`
	Broadcast     bool      `yaml:"broadcast"`
	Ordered       *bool     `yaml:"ordered"`
	TTL           string    `yaml:"ttl"`
	MaxConcurrent int       `yaml:"max-concurrent-instances"`
	PayloadCap    int64     `yaml:"payload-cap-bytes"`
}

type auth struct {
	Scheme   string            `yaml:"scheme"`
	Header   string            `yaml:"header"`
	Key      string            `yaml:"key"`
	Audience string            `yaml:"audience"`
	Claims   map[string]string `yaml:"claims"`
}

// Read reads channels.yaml and answers every violation at once. Channels are usable only when there is none.
func Read(data []byte) ([]Channel, []lint.Finding) {
	var doc document
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, []lint.Finding{at(fault.ChannelInvalid, 0, "%s does not read: %v", File, err)}
	}
	var out []Channel
	var findings []lint.Finding
	names, doors := map[string]int{}, map[string]string{}
	for i := range doc.Channels {
		c, bad := read(&doc.Channels[i])
		findings = append(findings, bad...)
		if first, twice := names[c.Name]; twice {
			findings = append(findings, at(fault.ChannelTwice, c.Line, "channel %q is declared on line %d already; give one of them another name", c.Name, first))
		}
		names[c.Name] = c.Line
		if door := c.Address(); door != "" {
			if other, twice := doors[door]; twice {
				findings = append(findings, at(fault.ChannelTwice, c.Line, "channels %q and %q open the same door %s; give one of them another bind", other, c.Name, door))
			}
			doors[door] = c.Name
		}
		out = append(out, c)
	}
	return out, findings
}

func read(node *yaml.Node) (Channel, []lint.Finding) {
	var e entry
	// A node decodes without KnownFields: what it has is written out and read again, strictly.
	text, err := yaml.Marshal(node)
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		err = d.Decode(&e)
	}
	if err != nil {
		return Channel{Line: node.Line}, []lint.Finding{at(fault.ChannelInvalid, node.Line, "this channel does not read: %v", err)}
	}
	c := Channel{
		Name: e.Name, Transport: e.Transport, Bind: strings.TrimSpace(e.Bind), URL: e.URL, To: strings.TrimSpace(e.To), Codec: e.Codec, Schema: e.Schema, AckMode: e.AckMode,
		EventID: e.EventID, Singleton: e.Singleton, Broadcast: e.Broadcast, PayloadCap: e.PayloadCap, MaxInstances: e.MaxConcurrent, Line: node.Line,
	}
	c.complete(e)
	var r refusals
	r.line, r.name = node.Line, e.Name
	c.check(&r, e)
	return c, r.all
}

// complete sets what is left out.
func (c *Channel) complete(e entry) {
	if c.Codec == "" {
		c.Codec = JSON
	}
	if c.AckMode == "" {
		c.AckMode = OnPersist
		if c.Transport == HTTP {
			c.AckMode = OnComplete
		}
	}
	if c.Transport == HTTP && c.Bind == "" && c.URL == "" {
		c.Bind = "POST /channels/" + c.Name
	}
	c.Ordered = c.Transport == Kafka
	if e.Ordered != nil {
		c.Ordered = *e.Ordered
	}
	c.TTL = 24 * time.Hour
	if e.Auth != nil {
		c.Auth = Auth(*e.Auth)
	}
}

type refusals struct {
	line int
	name string
	all  []lint.Finding
}

func (r *refusals) add(code fault.Code, format string, args ...any) {
	f := at(code, r.line, format, args...)
	f.Element, f.ID = "channel", r.name
	r.all = append(r.all, f)
}

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	bindForm  = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9._~-]+)+$`)
	placeForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}(/[\x21-\x2e\x30-\x7e]{1,255})+$`)
)

func (c *Channel) check(r *refusals, e entry) {
	if !nameForm.MatchString(c.Name) {
		r.add(fault.ChannelInvalid, "a name has 1 to 128 letters, digits, dots, hyphens and underscores")
	}
	oneOf(r, "transport", c.Transport, HTTP, RabbitMQ, NATS, Kafka, Pull, Local)
	oneOf(r, "codec", c.Codec, JSON, XML, Text, Bytes, CloudEvents)
	oneOf(r, "ack-mode", c.AckMode, OnComplete, OnPersist)
	if c.Transport == HTTP && c.Bind != "" {
		c.checkDoor(r)
	}
	if c.Transport == HTTP && (c.Bind != "" || e.Auth != nil) {
		c.checkAuth(r)
	}
	if c.Transport.Brokered() {
		c.checkBroker(r, e)
	} else if c.To != "" {
		r.add(fault.ChannelUnsupported, "to is for channels of a broker; over %s messages go out to a url", c.Transport)
	}
	if c.Bind == "" && c.URL == "" && c.To == "" && c.Transport != Pull && c.Transport != Local {
		r.add(fault.ChannelInvalid, "has neither bind (where messages come in) nor %s (where they go out)", c.wayOut())
	}
	if source, ok := strings.CutPrefix(c.EventID, "payload:"); ok {
		if _, err := feel.Compile(source); err != nil {
			r.add(fault.ChannelInvalid, "event-id does not parse: %v", err)
		}
	} else if c.EventID != "" && c.EventID != "digest" && !strings.HasPrefix(c.EventID, "header:") {
		r.add(fault.ChannelInvalid, "event-id is %q; use header:<name>, payload:<FEEL> or digest", c.EventID)
	}
	if c.PayloadCap < 0 {
		r.add(fault.ChannelInvalid, "payload-cap-bytes is 0 (the engine's own limit) or more")
	}
	if c.MaxInstances < 0 {
		r.add(fault.ChannelInvalid, "max-concurrent-instances is 0 (any number) or more")
	}
	if c.MaxInstances > 0 && c.Bind == "" && c.Transport != Local {
		r.add(fault.ChannelUnsupported, "max-concurrent-instances is for channels through which messages come in; leave it out")
	}
	if !c.Transport.Brokered() && (c.Singleton || c.Ordered) {
		r.add(fault.ChannelUnsupported, "singleton and ordered are for channels of a broker; %s has no stream", c.Transport)
	}
	if e.TTL != "" {
		ttl, err := duration(e.TTL)
		if err != nil {
			r.add(fault.ChannelInvalid, "ttl: %v", err)
		}
		c.TTL = ttl
	}
}

func (c *Channel) wayOut() string {
	if c.Transport.Brokered() {
		return "to"
	}
	return "url"
}

// places are the forms of bind and to at each kind of broker.
func places(t Transport) (bind, to []string) {
	switch t {
	case RabbitMQ:
		return []string{"broker/queue"}, []string{"broker/queue", "broker/exchange/routing-key"}
	case NATS:
		return []string{"broker/stream/consumer"}, []string{"broker/subject"}
	default:
		return []string{"broker/topic/group"}, []string{"broker/topic"}
	}
}

func (c *Channel) checkPlace(r *refusals, key, place string, forms []string) {
	fits := func(form string) bool { return strings.Count(form, "/") == strings.Count(place, "/") }
	if place != "" && (!placeForm.MatchString(place) || !slices.ContainsFunc(forms, fits)) {
		r.add(fault.ChannelInvalid, "%s is %q; name the broker and what is there: %s", key, place, strings.Join(forms, ", or "))
	}
}

func (c *Channel) checkBroker(r *refusals, e entry) {
	bind, to := places(c.Transport)
	c.checkPlace(r, "bind", c.Bind, bind)
	c.checkPlace(r, "to", c.To, to)
	if c.URL != "" {
		r.add(fault.ChannelUnsupported, "url is for http; at a broker messages go out to: broker/…, and the configuration says where the broker is")
	}
	if e.Auth != nil {
		r.add(fault.ChannelUnsupported, "auth is for http; who may use a broker is said in its address, which the configuration has")
	}
	if c.Ordered && !c.Singleton && c.Transport != Kafka && c.Bind != "" {
		r.add(fault.ChannelUnsupported, "ordered needs one consumer alone, which takes one message after the other; add singleton: true")
	}
}

func (c *Channel) checkDoor(r *refusals) {
	if !bindForm.MatchString(c.Bind) {
		r.add(fault.ChannelInvalid, "bind is %q; use a method and a plain path, as POST /orders/new", c.Bind)
	}
	if _, path, _ := strings.Cut(c.Bind, " "); reserved(path) {
		r.add(fault.ChannelInvalid, "the path %s belongs to the engine; use another", path)
	}
}

// checkAuth holds each scheme to what it can mean: what would be ignored is refused.
func (c *Channel) checkAuth(r *refusals) {
	a := &c.Auth
	tokens := a.Scheme == "bearer" && a.Key == "" && (a.Audience != "" || len(a.Claims) > 0)
	switch a.Scheme {
	case "none":
		if a.Key != "" {
			r.add(fault.ChannelInvalid, "auth.key means nothing with scheme none; leave it out, or use apikey or bearer")
		}
	case "apikey", "bearer":
		if !tokens && !IsReference(a.Key) {
			r.add(fault.SecretLiteral, "auth.key is no reference; secrets never travel in a package: use env:NAME or file:PATH")
		}
	case "":
		r.add(fault.ChannelInvalid, "says nothing of auth; a door without a lock is said out loud: auth: {scheme: none}")
	default:
		r.add(fault.ChannelInvalid, "auth.scheme is %q; use apikey, bearer or none", a.Scheme)
	}
	switch {
	case a.Scheme == "apikey" && a.Header == "":
		a.Header = "X-Api-Key"
	case a.Scheme != "apikey" && a.Header != "":
		r.add(fault.ChannelInvalid, "auth.header is for scheme apikey; leave it out")
	}
	switch {
	case tokens && c.Bind == "":
		r.add(fault.ChannelInvalid, "auth.audience is for doors; over a url the engine goes out with auth.key")
	case tokens && a.Audience == "":
		r.add(fault.ChannelInvalid, "auth.claims without auth.audience; name the audience that tokens have to be made for")
	case !tokens && (a.Audience != "" || len(a.Claims) > 0):
		r.add(fault.ChannelInvalid, "auth.audience and auth.claims are for scheme bearer without a key; leave out one or the other")
	}
}

// IsReference says that a value is resolved at run time: env:NAME or file:PATH.
func IsReference(value string) bool {
	kind, name, ok := strings.Cut(value, ":")
	return ok && name != "" && (kind == "env" || kind == "file")
}

// Address is the canonical address of the channel's door; empty when nothing comes in.
func (c Channel) Address() string {
	if c.Bind == "" {
		return ""
	}
	return string(c.Transport) + " " + c.Bind
}

// reserved are the paths of the engine's own surface.
func reserved(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"sutra", "admin", "metrics", "openapi.yaml"}, first)
}

func duration(text string) (time.Duration, error) {
	v, err := feel.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no ISO-8601 duration, as PT30S or P1D", text)
	}
	d, ok := v.(feel.DaysTime)
	if !ok || d.Seconds < 0 || d.Seconds > 1<<33 {
		return 0, fmt.Errorf("%q is no duration of days and less", text)
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos), nil
}

func oneOf[T ~string](r *refusals, key string, got T, want ...T) {
	if !slices.Contains(want, got) {
		r.add(fault.ChannelInvalid, "%s is %q; use one of %v", key, string(got), want)
	}
}

func at(code fault.Code, line int, format string, args ...any) lint.Finding {
	return lint.Finding{Level: lint.Error, Code: code, File: File, Line: line, Text: fmt.Sprintf(format, args...)}
}
