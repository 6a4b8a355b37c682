package worker

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/deliver"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// OutboxDeps are what an outbox worker works with.
type OutboxDeps struct {
	Outbox       ports.Outbox
	Senders      map[string]ports.Sender // by URL scheme
	Served       *converge.Loop
	Secrets      ports.Secrets
	Clock        ports.Clock
	Watch        ports.Watch
	Log          *slog.Logger
	Inbox        func() // hears that an answer became a delivery
	By           string // this worker's stamp
	Poll         time.Duration
	ClaimTimeout time.Duration
	SendTimeout  time.Duration
	Batch        int
	Parallel     int // sends at once
	PerHost      int // of them to one destination
	Backoff      loop.Backoff
	MaxAttempts  int // 0: without end
}

// Outbox sends emissions. Each is stamped, sent, and settled by whoever names the stamp.
type Outbox struct {
	OutboxDeps
	bell      loop.Bell
	places    *places
	unsettled atomic.Int64 // sends that the database could not be told of yet
}

// NewOutbox makes an outbox worker.
func NewOutbox(d OutboxDeps) *Outbox {
	return &Outbox{OutboxDeps: d, bell: loop.NewBell(), places: newPlaces(d.Parallel, d.PerHost, d.Batch)}
}

// Wake makes the worker look at once: a step on this replica has emitted.
func (w *Outbox) Wake() { w.bell.Ring() }

// Run sends until ctx ends, finishes the sends under way, and frees the stamps that are left.
func (w *Outbox) Run(ctx context.Context) {
	settled := make(chan ports.Settled, w.Batch)
	var settler sync.WaitGroup
	settling, stopSettling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSettling()
	settler.Go(func() { w.settle(settling, settled) })
	var sends sync.WaitGroup
	for nap := w.Poll; w.bell.Wait(ctx, loop.Jitter(nap)); {
		nap = w.Poll
		for more := w.unsettled.Load() == 0; more && ctx.Err() == nil; {
			taken, err := w.Outbox.Take(ctx, w.By, w.Clock.Now().Add(-w.ClaimTimeout), w.Batch)
			if err != nil {
				if ctx.Err() == nil {
					w.Log.WarnContext(ctx, "cannot take emissions; it will be tried again", "error", err)
				}
				break
			}
			more = len(taken) >= w.Batch
			now := w.Clock.Now()
			var off []ports.Settled
			for _, e := range taken {
				if added, until := w.places.add(e, now); !added {
					off = append(off, postponed(e, until))
					nap = min(nap, max(until.Sub(now), w.Poll/16))
				}
			}
			w.start(ctx, &sends, settled)
			w.postpone(ctx, off)
		}
	}
	sends.Wait()
	close(settled)
	over := time.AfterFunc(lastSettling, stopSettling)
	defer over.Stop()
	settler.Wait()
	w.free(ctx)
}

// start sends what has a place, unless the database cannot be told. Each send that is over starts what its place is free for.
func (w *Outbox) start(ctx context.Context, sends *sync.WaitGroup, settled chan<- ports.Settled) {
	for ctx.Err() == nil && w.unsettled.Load() == 0 { // what waits when ctx ends is freed with all other stamps
		e, ok := w.places.next()
		if !ok {
			return
		}
		sends.Go(func() {
			s, took := w.send(ctx, e)
			w.places.over(e, took)
			settled <- s
			w.start(ctx, sends, settled)
		})
	}
}

// postponed gives an emission back until then, without counting an attempt.
func postponed(e ports.Stamped, until time.Time) ports.Settled {
	return ports.Settled{Tenant: e.Tenant, ID: e.ID, By: e.By, At: e.At, Verdict: ports.Postponed, Next: until}
}

func (w *Outbox) postpone(ctx context.Context, crowded []ports.Settled) {
	if len(crowded) == 0 {
		return
	}
	if _, err := w.Outbox.Settle(ctx, crowded); err != nil && ctx.Err() == nil {
		w.Log.WarnContext(ctx, "cannot put emissions off; their stamps go stale", "emissions", len(crowded), "error", err)
	}
}

// destination is what emissions of a tenant share that go to one place.
func destination(e *ports.Emission) string {
	if u, err := url.Parse(e.Destination); err == nil && u.Host != "" {
		return e.Tenant + " " + u.Scheme + "://" + u.Host
	}
	return e.Tenant + " " + e.Destination
}

// send makes one attempt and says how long it took. One that could outlast the stamp is not begun: the emission is given back.
func (w *Outbox) send(ctx context.Context, e ports.Stamped) (s ports.Settled, took time.Duration) {
	if now := w.Clock.Now(); now.Add(w.SendTimeout).After(e.At.Add(w.ClaimTimeout / 2)) {
		return postponed(e, now), 0
	}
	began := w.Clock.Now()
	// A send that was begun is finished: only its own timeout ends it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.SendTimeout)
	defer cancel()
	response, err := w.attempt(ctx, &e.Emission)
	took = w.Clock.Now().Sub(began)
	w.Watch.Observe("sutra_outbox_send_seconds", took, "outcome", outcome(err))
	return w.judge(ctx, e, response, err), took
}

func outcome(err error) string {
	if err == nil {
		return "sent"
	}
	return string(fault.Of(err).Code.Disposition())
}

func (w *Outbox) attempt(ctx context.Context, e *ports.Emission) (ports.Response, error) {
	if err := w.resolve(e); err != nil {
		return ports.Response{}, err
	}
	scheme, _, _ := strings.Cut(e.Destination, ":")
	sender := w.Senders[scheme]
	if sender == nil {
		return ports.Response{}, fault.SendRefused.With("no transport of this engine sends to %q", e.Destination)
	}
	ctx, end := w.Watch.Span(ctx, sending(e))
	if trace := w.Watch.Trace(ctx); trace != "" {
		e.Trace = trace // the receiver goes on from this very attempt
	}
	response, err := sender.Send(ctx, *e)
	end(sent(e, response, err))
	return response, err
}

// resolve turns a channel into where it goes now, with what opens it.
func (w *Outbox) resolve(e *ports.Emission) error {
	if place, ok := strings.CutPrefix(e.Destination, "broker:"); ok {
		return w.toBroker(e, channel.PlaceOf(place))
	}
	name, ok := strings.CutPrefix(e.Destination, "channel:")
	if !ok {
		return nil
	}
	served := w.Served.Current().Revision(e.Deployment)
	if served == nil {
		return fault.NotReady.With("this replica does not serve deployment %s", e.Deployment)
	}
	c := served.Channels[name]
	if c.Transport.Brokered() {
		if c.Out().Path == "" {
			return fault.SendRefused.With("channel %q of deployment %s says nothing of where messages go", name, e.Deployment)
		}
		return w.toBroker(e, c.Out())
	}
	if c.URL == "" {
		return fault.SendRefused.With("channel %q of deployment %s has no url to send to", name, e.Deployment)
	}
	address, err := w.Secrets.Resolve(c.URL)
	if err != nil {
		return err
	}
	e.Destination = address
	if c.Auth.Key == "" {
		return nil
	}
	key, err := w.Secrets.Resolve(c.Auth.Key)
	if err != nil {
		return err
	}
	header := ports.Header{Name: c.Auth.Header, Value: key}
	if c.Auth.Scheme == "bearer" {
		header = ports.Header{Name: "Authorization", Value: "Bearer " + key}
	}
	e.Headers = append(append([]ports.Header(nil), e.Headers...), header)
	return nil
}

// toBroker finds the broker that a place names.
func (w *Outbox) toBroker(e *ports.Emission, to channel.Place) error {
	address, err := w.Secrets.Resolve(to.Reference())
	e.Destination, e.Topic = address, to.Path
	return err
}

// judge says what became of an attempt. A call's answer, or its final failure, is a delivery in the settling transaction.
func (w *Outbox) judge(ctx context.Context, e ports.Stamped, response ports.Response, err error) ports.Settled {
	s := ports.Settled{Tenant: e.Tenant, ID: e.ID, By: e.By, At: e.At, Verdict: ports.Sent}
	if err == nil {
		if e.Wait != 0 {
			s.Delivery = deliver.Reply(e.Emission, response)
		}
		return s
	}
	f := fault.Of(err)
	s.Error = f.Error()
	final := f.Code.Disposition() == fault.Reject || w.MaxAttempts > 0 && e.Attempts+1 >= w.MaxAttempts
	switch {
	case final && e.Wait != 0:
		s.Delivery = deliver.Failed(e.Emission, f) // the call is over: the instance decides what comes next
	case final:
		s.Verdict = ports.Poisoned
		w.Log.WarnContext(ctx, "an emission is poisoned: kept, visible, not sent again by itself", "emission", e.ID, "error", err)
	default:
		s.Verdict, s.Next = ports.Later, w.Clock.Now().Add(w.Backoff.After(e.Attempts))
	}
	return s
}

// settle writes what became of sends, as many together as there are, until settled is closed and ctx says that time is over. What a
// database that is away cannot take is kept and written when it is back: a send that is forgotten is a send that is repeated.
func (w *Outbox) settle(ctx context.Context, settled <-chan ports.Settled) {
	var kept []ports.Settled
	pause := settleRetry
	for open := true; open || len(kept) > 0; {
		var retry <-chan time.Time
		if len(kept) > 0 {
			retry = time.After(pause)
		}
		if open {
			select {
			case s, ok := <-settled:
				if open = ok; ok {
					kept = append(kept, s)
				}
				kept, open = drain(kept, settled, w.Batch, open)
			case <-retry:
			}
		}
		if kept = w.write(ctx, kept); len(kept) > 0 {
			pause = min(2*pause, settleRetryLast)
		} else {
			pause = settleRetry
		}
		w.unsettled.Store(int64(len(kept)))
		if !open && ctx.Err() != nil {
			return // the stamps go stale and the emissions are sent again, under the same key
		}
		if !open && len(kept) > 0 {
			_ = loop.Pause(ctx, pause) // ctx is asked above
		}
	}
}

const (
	settleRetry     = 50 * time.Millisecond // between two tries to settle, twice as long each time
	settleRetryLast = time.Second
	settleFor       = 20              // claim timeouts after its stamp a send is forgotten, whatever the database says of it
	lastSettling    = 5 * time.Second // how long shutting down waits for sends to be settled
)

func drain(kept []ports.Settled, settled <-chan ports.Settled, most int, open bool) ([]ports.Settled, bool) {
	for open && len(kept) < most {
		select {
		case s, ok := <-settled:
			if open = ok; ok {
				kept = append(kept, s)
			}
		default:
			return kept, open
		}
	}
	return kept, open
}

// write settles a group and answers what could not be written.
func (w *Outbox) write(ctx context.Context, group []ports.Settled) []ports.Settled {
	if len(group) == 0 {
		return nil
	}
	answers, err := w.Outbox.Settle(ctx, group)
	if err != nil {
		w.Log.WarnContext(ctx, "cannot settle sends; it will be tried again", "sends", len(group), "error", err)
		return group
	}
	var left []ports.Settled
	for i, a := range answers {
		switch {
		case a.Outcome == ports.Unsettled && w.Clock.Now().Before(group[i].At.Add(settleFor*w.ClaimTimeout)):
			left = append(left, group[i])
		case a.Outcome == ports.Done && group[i].Delivery != nil:
			w.Inbox()
		}
	}
	return left
}

func (w *Outbox) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := w.Outbox.Free(ctx, w.By); err != nil {
		w.Log.WarnContext(ctx, "cannot free the stamps of this replica; they go stale", "error", err)
	}
}
