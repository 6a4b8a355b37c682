package scenario

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Sent is a message as a client puts it to a broker, and as it comes out of one.
type Sent struct {
	ID      string // the broker's own message id
	Key     string // Kafka's, which says the partition; empty: the body is
	Kind    string // content type
	Body    string
	Headers map[string]string // of what comes out
}

// corner is what a test does at a kind of broker, past the engine.
type corner interface {
	// declare makes the queues of the package, each with what its consumers are given for a message before it goes to another.
	declare(wait time.Duration) error
	put(queue string, messages []Sent) error
	// depth is how many messages are not settled, and how many consumers there are where the broker knows.
	depth(queue string) (messages, consumers int, err error)
	// take gives what comes out of a queue to got, until ctx ends or the broker is gone.
	take(ctx context.Context, queue string, got func(Sent)) error
	// words turns the package's channels into the corner's own.
	words() *strings.Replacer
}

// Queues are one test's queues at a broker: orders, shipped, ticks, counted, and dead letters where the broker has such.
type Queues struct {
	Broker *provision.Broker
	Ack    string // what an acknowledgement has on the wire

	t      testing.TB
	corner corner
}

// Queues makes the queues of one test, whose names nobody else uses. A consumer that says nothing for so long loses its message.
func (f *Fleet) Queues(b *provision.Broker, wait time.Duration) *Queues {
	f.t.Helper()
	prefix := fmt.Sprintf("q%d", time.Now().UnixNano())
	q := &Queues{Broker: b, t: f.t}
	switch b.Kind {
	case "rabbitmq":
		q.corner, q.Ack = &rabbit{b.URL, prefix, wait}, "\x00\x3c\x00\x50" // basic.ack: class 60, method 80
	case "nats":
		q.corner, q.Ack = &stream{b.URL, prefix}, "+ACK"
	case "kafka":
		q.corner, q.Ack = &topics{b, prefix, wait}, "\x00\x08\x00\x09\x00\x00" // OffsetCommit: key 8, version 9, and a low number of the request
	default:
		f.t.Fatalf("no queues at %s", b.Kind)
	}
	q.must(q.corner.declare(wait))
	return q
}

// Address are the settings of a replica that finds the broker.
func (q *Queues) Address() Settings { return q.at(q.Broker.URL) }

// Through are the settings of a replica that finds the broker behind a proxy.
func (q *Queues) Through(p *Proxy) Settings {
	q.t.Helper()
	u, err := url.Parse(q.Broker.URL)
	q.must(err)
	u.Host = p.Address()
	return q.at(u.String())
}

func (q *Queues) at(address string) Settings {
	if c, ok := q.corner.(interface{ beating(string) string }); ok {
		address = c.beating(address)
	}
	return Settings{"sutra.brokers": "main=" + address}
}

// Package is a package directory over these queues.
func (q *Queues) Package(dir fs.FS) fstest.MapFS {
	q.t.Helper()
	files := fstest.MapFS{}
	words := q.corner.words()
	q.must(fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, path)
		files[path] = &fstest.MapFile{Data: []byte(words.Replace(string(data)))}
		return err
	}))
	return files
}

// Put sends messages that outlive the broker, and waits until it has them all.
func (q *Queues) Put(queue string, messages ...Sent) {
	q.t.Helper()
	q.must(q.corner.put(queue, messages))
}

// Depth is how many messages of a queue are not settled.
func (q *Queues) Depth(queue string) int {
	q.t.Helper()
	n, _, err := q.corner.depth(queue)
	q.must(err)
	return n
}

// Consumers is how many consume from a queue.
func (q *Queues) Consumers(queue string) int {
	q.t.Helper()
	_, n, err := q.corner.depth(queue)
	q.must(err)
	return n
}

func (q *Queues) must(err error) {
	q.t.Helper()
	if err != nil {
		q.t.Fatalf("at the broker: %v", err)
	}
}

// Drain is what has come out of a queue.
type Drain struct {
	mu  sync.Mutex
	all []Sent
}

// Drain takes all that comes into a queue, across restarts of the broker, until the test ends.
func (q *Queues) Drain(queue string) *Drain {
	d := &Drain{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(q.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = q.corner.take(ctx, queue, d.add) // the broker is away
			time.Sleep(100 * time.Millisecond)
		}
	}()
	q.t.Cleanup(func() { cancel(); <-done })
	return d
}

func (d *Drain) add(s Sent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, s)
}

// Messages are all that came out, in order.
func (d *Drain) Messages() []Sent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}
