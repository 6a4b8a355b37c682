// Package nats takes messages from NATS JetStream's consumers, and sends to its streams. It decides nothing, reads no body, and declares
// nothing at the broker. Core NATS, which keeps nothing, is not spoken.
package nats

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

const (
	patience = 5 * time.Second  // bounds what opening a connection may take
	silence  = 10 * time.Second // after which a server that answers no ping counts as gone, twice
)

// dial connects, once: whoever needs the connection makes another when it is gone. The address stays out of the error: it has a password.
func dial(address string) (*nats.Conn, jetstream.JetStream, error) {
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return nil, nil, fault.SecretUnset.With("the address of this NATS broker is none; use nats://user:password@host:4222")
	}
	conn, err := nats.Connect(address, nats.Name("sutra"), nats.NoReconnect(), nats.Timeout(patience), nats.PingInterval(silence))
	if err != nil {
		return nil, nil, fault.SendFailed.With("cannot connect to NATS: %w", err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("speak to JetStream: %w", err)
	}
	return conn, js, nil
}

// incoming is a message as the engine takes it. One that its sender gave no id is known by its place in the stream.
func incoming(m jetstream.Msg) (ports.Incoming, error) {
	meta, err := m.Metadata()
	if err != nil {
		return ports.Incoming{}, fmt.Errorf("a message that is of no stream: %w", err)
	}
	in := ports.Incoming{Body: m.Data(), ContentType: m.Headers().Get("Content-Type"), EventID: []byte(m.Headers().Get(nats.MsgIdHdr))}
	if len(in.EventID) == 0 {
		in.EventID = []byte(meta.Stream + "/" + strconv.FormatUint(meta.Sequence.Stream, 10) + "@" + strconv.FormatInt(meta.Timestamp.UnixNano(), 10))
	}
	names := make([]string, 0, len(m.Headers()))
	for name := range m.Headers() {
		if name != nats.MsgIdHdr && name != "Content-Type" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		in.Headers = append(in.Headers, ports.Header{Name: name, Value: strings.Join(m.Headers()[name], ", ")})
	}
	return in, nil
}
