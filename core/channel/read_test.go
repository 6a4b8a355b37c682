package channel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestDefaultsFollowTheTransport(t *testing.T) {
	got, findings := channel.Read([]byte(`
channels:
  - {name: in, transport: http, auth: {scheme: none}}
  - {name: broker, transport: rabbitmq, bind: "main/orders"}
  - {name: stream, transport: kafka, bind: "main/orders/group", ttl: PT2H}
  - {name: out, transport: http, url: "env:TARGET"}
  - {name: work, transport: pull}
`))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	type facts struct {
		bind    string
		ack     channel.AckMode
		ordered bool
		ttl     time.Duration
	}
	for i, want := range []facts{
		{"POST /channels/in", channel.OnComplete, false, 24 * time.Hour},
		{"main/orders", channel.OnPersist, false, 24 * time.Hour},
		{"main/orders/group", channel.OnPersist, true, 2 * time.Hour},
		{"", channel.OnComplete, false, 24 * time.Hour},
		{"", channel.OnPersist, false, 24 * time.Hour},
	} {
		if c := got[i]; (facts{c.Bind, c.AckMode, c.Ordered, c.TTL}) != want {
			t.Errorf("%s: got %+v, want %+v", c.Name, facts{c.Bind, c.AckMode, c.Ordered, c.TTL}, want)
		}
	}
}

func TestEveryRefusalNamesItsLineAndCode(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		code fault.Code
		text string
	}{
		"a channel twice": {"- {name: a, transport: pull}\n- {name: a, transport: local}", fault.ChannelTwice, "another name"},
		"a door twice": {
			"- {name: a, transport: http, bind: POST /x, auth: {scheme: none}}\n- {name: b, transport: http, bind: POST /x, auth: {scheme: none}}",
			fault.ChannelTwice, "same door",
		},
		"a literal secret":    {"- {name: a, transport: http, auth: {scheme: apikey, key: hunter2}}", fault.SecretLiteral, "env:NAME"},
		"a door without lock": {"- {name: a, transport: http}", fault.ChannelInvalid, "said out loud"},
		"a literal to go out": {"- {name: a, transport: http, url: 'https://x', auth: {scheme: bearer, key: hunter2}}", fault.SecretLiteral, "env:NAME"},
		"two kinds of bearer": {"- {name: a, transport: http, auth: {scheme: bearer, key: 'env:K', audience: x}}", fault.ChannelInvalid, "one or the other"},
		"a token and a key":   {"- {name: a, transport: http, auth: {scheme: apikey, key: 'env:K', audience: x}}", fault.ChannelInvalid, "one or the other"},
		"claims of anybody":   {"- {name: a, transport: http, auth: {scheme: bearer, claims: {scope: x}}}", fault.ChannelInvalid, "auth.audience"},
		"a token to go out":   {"- {name: a, transport: http, url: 'https://x', auth: {scheme: bearer, audience: x}}", fault.ChannelInvalid, "for doors"},
		"a header of a token": {"- {name: a, transport: http, auth: {scheme: bearer, audience: x, header: X-Y}}", fault.ChannelInvalid, "for scheme apikey"},
		"a key to no lock":    {"- {name: a, transport: http, auth: {scheme: none, key: 'env:K'}}", fault.ChannelInvalid, "means nothing"},
		"an issuer of trust":  {"- {name: a, transport: http, auth: {scheme: bearer, audience: x, issuer: 'https://me'}}", fault.ChannelInvalid, "issuer"},
		"unknown transport":   {"- {name: a, transport: pigeon}", fault.ChannelInvalid, "transport"},
		"unknown codec":       {"- {name: a, transport: pull, codec: yaml}", fault.ChannelInvalid, "codec"},
		"unknown ack-mode":    {"- {name: a, transport: pull, ack-mode: never}", fault.ChannelInvalid, "ack-mode"},
		"unknown key":         {"- {name: a, transport: pull, colour: red}", fault.ChannelInvalid, "colour"},
		"bad name":            {"- {name: 'a b', transport: pull}", fault.ChannelInvalid, "letters"},
		"bad bind":            {"- {name: a, transport: http, bind: 'POST x', auth: {scheme: none}}", fault.ChannelInvalid, "plain path"},
		"the engine's path":   {"- {name: a, transport: http, bind: POST /admin/x, auth: {scheme: none}}", fault.ChannelInvalid, "belongs to the engine"},
		"bad ttl":             {"- {name: a, transport: pull, ttl: soon}", fault.ChannelInvalid, "ISO-8601"},
		"months as ttl":       {"- {name: a, transport: pull, ttl: P1M}", fault.ChannelInvalid, "days"},
		"bad event-id":        {"- {name: a, transport: pull, event-id: uuid}", fault.ChannelInvalid, "event-id"},
		"broken event-id":     {"- {name: a, transport: pull, event-id: 'payload:a +'}", fault.ChannelInvalid, "does not parse"},
		"leads nowhere":       {"- {name: a, transport: nats}", fault.ChannelInvalid, "neither"},
		"no broker's name":    {"- {name: a, transport: rabbitmq, bind: orders}", fault.ChannelInvalid, "broker/queue"},
		"no consumer's name":  {"- {name: a, transport: nats, bind: main/orders}", fault.ChannelInvalid, "broker/stream/consumer"},
		"an address inside":   {"- {name: a, transport: rabbitmq, to: 'amqp://u:p@h/x'}", fault.ChannelInvalid, "name the broker"},
		"a url to a broker":   {"- {name: a, transport: rabbitmq, url: 'env:X'}", fault.ChannelUnsupported, "url is for http"},
		"a broker's auth":     {"- {name: a, transport: nats, to: main/x, auth: {scheme: none}}", fault.ChannelUnsupported, "in its address"},
		"to over http":        {"- {name: a, transport: http, to: main/x, auth: {scheme: none}}", fault.ChannelUnsupported, "for channels of a broker"},
		"order among many":    {"- {name: a, transport: rabbitmq, bind: main/x, ordered: true}", fault.ChannelUnsupported, "singleton: true"},
		"negative cap":        {"- {name: a, transport: pull, payload-cap-bytes: -1}", fault.ChannelInvalid, "or more"},
		"a limit of nothing":  {"- {name: a, transport: pull, max-concurrent-instances: 5}", fault.ChannelUnsupported, "leave it out"},
		"negative limit":      {"- {name: a, transport: pull, max-concurrent-instances: -1}", fault.ChannelInvalid, "or more"},
		"order without a stream": {
			"- {name: a, transport: http, ordered: true, auth: {scheme: none}}", fault.ChannelUnsupported, "no stream",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := channel.Read([]byte("channels:\n" + tc.yaml))
			for _, f := range findings {
				if f.Code == tc.code && strings.Contains(f.String(), tc.text) && f.Line >= 2 && f.File == channel.File {
					return
				}
			}
			t.Fatalf("got %v, want %s with %q and a line", findings, tc.code, tc.text)
		})
	}
}

func TestWhatIsNoYAMLIsRefused(t *testing.T) {
	for _, text := range []string{"channels: [", "doors: []", "channels: {a: 1}"} {
		if _, findings := channel.Read([]byte(text)); len(findings) == 0 {
			t.Errorf("%q was taken", text)
		}
	}
	if channels, findings := channel.Read(nil); len(channels)+len(findings) != 0 {
		t.Errorf("an empty file is no channels: got %v %v", channels, findings)
	}
}
