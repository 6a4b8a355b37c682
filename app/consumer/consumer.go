package consumer

import (
	"context"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// trustEvery is how often a singleton's consumer asks whether its replica still leads. Correctness does not hang on it: what comes too
// late is refused in its commit.
const trustEvery = 100 * time.Millisecond

// consumer takes the messages of one door.
type consumer struct {
	Deps
	door door

	mu       sync.Mutex
	position int64 // of the last message that was taken alone
}

// run consumes until stopped ends. working bounds what was handed over by then. A broker that is away, a queue that is not there, a
// name that nobody configured: all of it is said and tried again, without end.
func (c *consumer) run(stopped, working context.Context) {
	if c.door.singleton {
		c.Roles.Ask(c.door.role())
		defer c.Roles.Drop(c.door.role())
	}
	labels := c.door.labels()
	c.Watch.Count("sutra_broker_troubles_total", 0, labels...) // the first trouble is a rise
	for try := 0; stopped.Err() == nil; try++ {
		opened, err := c.session(stopped, working)
		if opened {
			try = 0
		}
		if err == nil || stopped.Err() != nil {
			continue
		}
		after := c.Opening.After(try)
		c.Log.WarnContext(stopped, "a broker's queue cannot be consumed; it will be opened again",
			"tenant", c.door.tenant, "channel", c.door.channel, "queue", c.door.address, "after", after, "error", err)
		c.Watch.Count("sutra_broker_troubles_total", 1, labels...)
		_ = loop.Pause(stopped, after)
	}
}

// session opens the queue once and consumes as long as it stays open; a singleton's as long as this replica leads.
func (c *consumer) session(stopped, working context.Context) (opened bool, err error) {
	ctx, cancel := context.WithCancel(stopped)
	defer cancel()
	queue := ports.Queue{Path: c.door.from.Path, Ahead: c.Ahead, Ordered: c.door.ordered}
	var term ports.Term
	if c.door.singleton {
		queue.Ahead, queue.Alone = 1, true
		if term, err = c.lead(ctx); err != nil {
			return false, nil
		}
		var watching sync.WaitGroup
		defer watching.Wait()
		defer cancel()
		watching.Go(func() { c.follow(ctx, term, cancel) })
	}
	broker := c.Brokers[c.door.transport]
	if broker == nil {
		return false, fault.SendRefused.With("this build has no transport %q", c.door.transport)
	}
	if queue.URL, err = c.Secrets.Resolve(c.door.from.Reference()); err != nil {
		return false, err
	}
	labels := c.door.labels()
	err = broker.Consume(ctx, queue, func() {
		opened = true
		c.Watch.Count("sutra_broker_consumers_opened_total", 1, labels...)
		c.Watch.Count("sutra_broker_consumers_closed_total", 0, labels...) // what is open is the difference
		c.Log.InfoContext(ctx, "consuming", "tenant", c.door.tenant, "channel", c.door.channel, "queue", c.door.address, "term", term.Number)
	}, func(in ports.Incoming) ports.Ruling { return c.take(working, in, term) })
	if opened {
		c.Watch.Count("sutra_broker_consumers_closed_total", 1, labels...)
	}
	return opened, err
}

// lead waits until this replica leads in the channel's role.
func (c *consumer) lead(ctx context.Context) (ports.Term, error) {
	for {
		if term, leads := c.Roles.Leads(c.door.role()); leads {
			return term, nil
		}
		_ = loop.Pause(ctx, trustEvery)
		if err := ctx.Err(); err != nil {
			return ports.Term{}, err
		}
	}
}

// follow ends a session when its term does.
func (c *consumer) follow(ctx context.Context, term ports.Term, end func()) {
	for ctx.Err() == nil {
		if now, leads := c.Roles.Leads(c.door.role()); !leads || now.Number != term.Number {
			end()
			return
		}
		_ = loop.Pause(ctx, trustEvery)
	}
}

// take hands one message to the intake and rules what becomes of it.
func (c *consumer) take(ctx context.Context, in ports.Incoming, term ports.Term) ports.Ruling {
	ctx, end := c.Watch.Span(ctx, ports.Span{Name: "process " + c.door.channel, Kind: ports.SpanConsumer, Parent: ports.TraceOf(in.Headers)})
	in.Received = c.Clock.Now()
	if c.door.singleton && in.Stream == "" {
		in.Stream, in.Position = c.door.from.Path, c.next(term)
	}
	if c.door.singleton && term.Number > 0 {
		in.Leases = []ports.Term{term}
	}
	var receipt ports.Receipt
	entrance, err := c.Intake.Enter(ctx, c.door.address)
	if err == nil {
		in.Tenant, in.Channel = entrance.Tenant, entrance.Channel
		if int64(len(in.Body)) > entrance.Limit {
			err = fault.BodyTooLarge.With("the message has %d bytes; %d are taken here", len(in.Body), entrance.Limit)
		} else {
			receipt, err = c.Intake.Take(ctx, in)
		}
	}
	ruling := c.rule(receipt, err)
	c.tell(ctx, in, receipt, ruling, err)
	end(c.processed(in, receipt, err))
	return ruling
}

// next is the position of a message in its stream: they rise within a term, and with the terms. Always leading there is no term, and
// the clock takes its place.
func (c *consumer) next(term ports.Term) int64 {
	const perTerm = 40 // bits
	c.mu.Lock()
	defer c.mu.Unlock()
	base := term.Number << perTerm
	if base == 0 {
		base = c.Clock.Now().UnixMicro()
	}
	c.position = max(c.position+1, base)
	return c.position
}

// rule says what becomes of a message. What is durable is acknowledged, whatever came of it; what can never be taken is refused; the
// rest comes again: soon, or after a while when a person has to do something first.
func (c *consumer) rule(receipt ports.Receipt, err error) ports.Ruling {
	const patient = 5 // as if so many attempts had failed
	f := fault.Of(err)
	switch {
	case err == nil, receipt.Durable:
		return ports.Ruling{Disposal: ports.Acknowledge}
	case f.Code == fault.ChannelUnknown: // the door was shut a moment ago; whoever opens it next takes the message
		return ports.Ruling{Disposal: ports.Requeue, After: c.Again.After(0)}
	case f.Code.Disposition() == fault.Reject:
		return ports.Ruling{Disposal: ports.Refuse}
	case f.Code.Disposition() == fault.Redeliver, f.Code.Disposition() == fault.Uncertain:
		return ports.Ruling{Disposal: ports.Requeue, After: c.Again.After(0)}
	}
	return ports.Ruling{Disposal: ports.Requeue, After: c.Again.After(patient)}
}

// processed says what became of a message, for those who trace.
func (c *consumer) processed(in ports.Incoming, receipt ports.Receipt, err error) ports.Ending {
	out := ports.Ending{Err: err, Attributes: []any{
		"messaging.system", string(c.door.transport), "messaging.operation.type", "process",
		"messaging.destination.name", c.door.from.Path, "messaging.message.id", string(in.EventID),
		"sutra.tenant", c.door.tenant, "sutra.channel", c.door.channel,
	}}
	if !receipt.Instance.IsZero() {
		out.Attributes = append(out.Attributes, "sutra.instance.id", receipt.Instance.String())
	}
	return out
}

func (c *consumer) tell(ctx context.Context, in ports.Incoming, receipt ports.Receipt, ruling ports.Ruling, err error) {
	outcome := string(ruling.Disposal)
	if receipt.Duplicate {
		outcome = "duplicate"
	}
	c.Watch.Count("sutra_broker_messages_total", 1, "transport", string(c.door.transport), "channel", c.door.channel, "outcome", outcome)
	if err == nil {
		return
	}
	f := fault.Of(err)
	about := []any{"tenant", c.door.tenant, "channel", c.door.channel, "event", string(in.EventID), "code", f.Code, "error", err}
	if in.Stream != "" {
		about = append(about, "stream", in.Stream, "position", in.Position)
	}
	switch ruling.Disposal {
	case ports.Acknowledge:
	case ports.Refuse:
		c.Log.WarnContext(ctx, "a message is refused for good; the broker puts it to its dead letters, if it has a place for them, else it is passed over", about...)
	case ports.Requeue:
		c.Log.InfoContext(ctx, "a message is given back to its broker and comes again", append(about, "after", ruling.After)...)
	}
}
