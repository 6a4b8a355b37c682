// Package kafka takes messages from Kafka's topics, as a member of a consumer group, and sends to topics. It decides nothing, reads no
// body, and declares nothing at the broker: topics are the operator's.
package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

const (
	patience = 5 * time.Second  // bounds what opening a connection, or letting a partition go, may take
	goodbye  = 2 * time.Second  // bounds what leaving may take: a broker that is frozen answers nothing
	silence  = 10 * time.Second // after which a member that says nothing has lost its partitions
)

// Headers of Kafka's messages that are more than headers here.
const (
	idHeader   = "Idempotency-Key" // the message's own id
	keyHeader  = "Kafka-Key"       // its key, which says the partition
	typeHeader = "content-type"
)

// address is where a cluster is, and how it is entered.
type address struct {
	options []kgo.Opt
	session time.Duration
}

// read reads kafka://user:password@host:9092,host:9092?sasl.mechanism=SCRAM-SHA-512. It stays out of errors: it has a password.
func read(text string) (address, error) {
	none := fault.SecretUnset.With("the address of this Kafka broker is none; use kafka://user:password@host:9092,host:9092, or kafkas:// for TLS")
	scheme, rest, _ := strings.Cut(text, "://")
	where, query, _ := strings.Cut(rest, "?")
	at := strings.LastIndexByte(where, '@') + 1
	login, hosts := where[:at], strings.TrimSuffix(where[at:], "/")
	u, err := url.Parse(scheme + "://" + login + "hosts?" + query) // no URL has several hosts
	if err != nil || hosts == "" || scheme != "kafka" && scheme != "kafkas" {
		return address{}, none
	}
	a := address{session: silence}
	a.options = []kgo.Opt{
		kgo.ClientID("sutra"), kgo.SeedBrokers(strings.Split(hosts, ",")...), kgo.DialTimeout(patience), kgo.RequestTimeoutOverhead(patience),
		kgo.MetadataMinAge(250 * time.Millisecond),
	}
	if scheme == "kafkas" {
		a.options = append(a.options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if err := a.set(u); err != nil {
		return address{}, err
	}
	if kgo.ValidateOpts(a.options...) != nil {
		return address{}, none
	}
	return a, nil
}

// set takes from the address what Kafka's own clients take from properties of these names.
func (a *address) set(u *url.URL) error {
	mechanism := "PLAIN"
	properties := u.Query()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		switch name {
		case "sasl.mechanism":
			mechanism = properties.Get(name)
		case "session.timeout.ms":
			ms, err := strconv.Atoi(properties.Get(name))
			if err != nil || ms <= 0 {
				return fault.SecretUnset.With("session.timeout.ms in the address of this Kafka broker is no number of milliseconds")
			}
			a.session = time.Duration(ms) * time.Millisecond
		default:
			return fault.SecretUnset.With("the address of this Kafka broker sets %s; it may set sasl.mechanism and session.timeout.ms", name)
		}
	}
	if u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	login := scram.Auth{User: u.User.Username(), Pass: password}
	known := map[string]sasl.Mechanism{
		"PLAIN": plain.Auth{User: login.User, Pass: login.Pass}.AsMechanism(), "SCRAM-SHA-256": login.AsSha256Mechanism(), "SCRAM-SHA-512": login.AsSha512Mechanism(),
	}[mechanism]
	if known == nil {
		return fault.SecretUnset.With("sasl.mechanism in the address of this Kafka broker is none of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512")
	}
	a.options = append(a.options, kgo.SASL(known))
	return nil
}

// find says whether the topic is there, and where a group is to have one member, that it has none. A client does not ask: it waits for
// a topic without end.
func (a address) find(ctx context.Context, topic, group string, alone bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := kgo.NewClient(a.options...)
	if err != nil {
		return fmt.Errorf("begin with Kafka: %w", err)
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return fault.SendFailed.With("cannot connect to Kafka: %w", err)
	}
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(ctx, topic)
	if err == nil {
		err = topics[topic].Err
	}
	if err != nil {
		return fmt.Errorf("find topic %s: %w", topic, err)
	}
	if !alone {
		return nil
	}
	return deserted(ctx, admin, group)
}

// deserted waits until a group has no member: one that died is forgotten after its session timeout.
func deserted(ctx context.Context, admin *kadm.Client, group string) error {
	const every = 250 * time.Millisecond
	for {
		groups, err := admin.DescribeGroups(ctx, group)
		if err != nil {
			return fmt.Errorf("find group %s: %w", group, err)
		}
		n := len(groups[group].Members)
		if n == 0 {
			return nil
		}
		if pause(ctx, every); ctx.Err() != nil {
			return fault.ChannelInvalid.With("group %s has %d members; the group of a singleton channel has no other", group, n)
		}
	}
}

// incoming is a record as the engine takes it. One that its sender gave no id is known by its place in the topic.
func incoming(r *kgo.Record) ports.Incoming {
	in := ports.Incoming{Body: r.Value, Stream: r.Topic + "/" + strconv.Itoa(int(r.Partition)), Position: r.Offset}
	if r.Key != nil && utf8.Valid(r.Key) {
		in.Headers = append(in.Headers, ports.Header{Name: keyHeader, Value: string(r.Key)})
	}
	for _, h := range r.Headers {
		switch {
		case !utf8.Valid(h.Value): // no text
		case strings.EqualFold(h.Key, idHeader):
			in.EventID = h.Value
		case strings.EqualFold(h.Key, typeHeader):
			in.ContentType = string(h.Value)
		default:
			in.Headers = append(in.Headers, ports.Header{Name: plainName(h.Key), Value: string(h.Value)})
		}
	}
	if len(in.EventID) == 0 {
		in.EventID = fmt.Appendf(nil, "%s/%d@%d", in.Stream, r.Offset, r.Timestamp.UnixMilli())
	}
	return in
}

// record is an emission as Kafka takes it. What one instance emits is in one partition, unless the model says its key.
func record(e ports.Emission) *kgo.Record {
	r := &kgo.Record{Topic: e.Topic, Value: e.Body}
	if !e.Instance.IsZero() {
		r.Key = []byte(e.Instance.String())
	}
	add := func(name, value string) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	for _, h := range e.Headers {
		if strings.EqualFold(h.Name, keyHeader) {
			r.Key = []byte(h.Value)
			continue
		}
		add(bindingName(h.Name), h.Value)
	}
	if e.ContentType != "" {
		add(typeHeader, e.ContentType)
	}
	for _, h := range e.Trace.Headers() {
		add(h.Name, h.Value)
	}
	add(idHeader, e.ID.String())
	add("Sutra-Instance", e.Instance.String())
	add("Sutra-Sequence", strconv.FormatInt(e.Seq, 10))
	return r
}

// plainName is a header's name as it is over HTTP: CloudEvents has a form of its own over Kafka.
func plainName(name string) string {
	if attribute, ok := strings.CutPrefix(name, "ce_"); ok {
		return "ce-" + attribute
	}
	return name
}

func bindingName(name string) string {
	if attribute, ok := strings.CutPrefix(name, "ce-"); ok {
		return "ce_" + attribute
	}
	return name
}

// with is a client's options beside those of the address.
func (a address) with(more ...kgo.Opt) []kgo.Opt { return slices.Concat(a.options, more) }
