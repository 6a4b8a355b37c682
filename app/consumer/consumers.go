// Package consumer keeps one consumer for each door at a broker that this replica serves: it opens them as the served set says, opens
// them again for ever when a broker is away, and rules what becomes of each message from what the intake answers. It speaks to no
// broker itself, and reads no message.
package consumer

import (
	"context"
	"log/slog"
	"sync"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/app/steward"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/ports"
)

// Deps are what consumers work with.
type Deps struct {
	Served  *converge.Loop
	Intake  ports.Intake
	Brokers map[channel.Transport]ports.Broker
	Roles   *steward.Roles
	Secrets ports.Secrets
	Clock   ports.Clock
	Watch   ports.Watch
	Log     *slog.Logger
	Ahead   int          // messages of a channel that may be unsettled at once
	Opening loop.Backoff // between two tries to open a queue
	Again   loop.Backoff // before a message is delivered again
}

// Consumers are the doors of a replica at its brokers. They are a door themselves: served and shut with the others.
type Consumers struct {
	Deps
	bell loop.Bell
	shut chan struct{}
	once sync.Once
	done chan struct{} // closed when Serve has returned
}

// New makes consumers that consume nothing yet.
func New(d Deps) *Consumers {
	return &Consumers{Deps: d, bell: loop.NewBell(), shut: make(chan struct{}), done: make(chan struct{})}
}

// Wake makes them look at once at what is served.
func (c *Consumers) Wake() {
	c.bell.Ring()
}

// door is what one consumer is for. A door that is another has another consumer.
type door struct {
	address   string
	tenant    string
	channel   string
	transport channel.Transport
	from      channel.Place
	singleton bool
	ordered   bool
}

// role is what a singleton channel's one consumer leads in.
func (d door) role() string { return "channel:" + d.tenant + ":" + d.channel }

// labels are what every figure about the door bears.
func (d door) labels() []string {
	return []string{"transport", string(d.transport), "channel", d.channel}
}

// running is one consumer.
type running struct {
	door    door
	stop    context.CancelFunc
	stopped bool
	done    chan struct{}
}

// Serve consumes until Shut, or until ctx ends.
func (c *Consumers) Serve(ctx context.Context) error {
	defer close(c.done)
	open := map[string]*running{}
	defer func() {
		for _, r := range open {
			r.stop()
		}
		for _, r := range open {
			<-r.done
		}
	}()
	for {
		c.follow(ctx, open)
		select {
		case <-c.bell:
		case <-c.shut:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Shut stops consuming and waits until what was handed over is settled, or ctx ends.
func (c *Consumers) Shut(ctx context.Context) error {
	c.once.Do(func() { close(c.shut) })
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow makes the consumers those that the served set wants.
func (c *Consumers) follow(ctx context.Context, open map[string]*running) {
	want := doors(c.Served.Current())
	for address, r := range open {
		if want[address] != r.door {
			r.stop()
			r.stopped = true
		}
	}
	for address, d := range want {
		before, there := open[address]
		if there && before.door == d && !before.stopped {
			continue
		}
		r := &running{door: d, done: make(chan struct{})}
		var stopped context.Context
		stopped, r.stop = context.WithCancel(ctx)
		open[address] = r
		go func() {
			defer close(r.done)
			if there {
				<-before.done // what it was handed over is settled first
			}
			consumer := consumer{Deps: c.Deps, door: d}
			consumer.run(stopped, ctx)
		}()
	}
}

// doors are the doors at brokers. One that only a draining revision has stays open for that revision's own instances.
func doors(set *converge.Set) map[string]door {
	out := map[string]door{}
	for address, d := range set.Doors() {
		ch := d.Channel
		if !ch.Transport.Brokered() {
			continue
		}
		out[address] = door{
			address: address, tenant: d.Served.Slot.Tenant, channel: ch.Name, transport: ch.Transport, from: ch.From(), singleton: ch.Singleton, ordered: ch.Ordered,
		}
	}
	return out
}
