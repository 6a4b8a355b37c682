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
	bell loop.Bell
	mu   sync.Mutex
	busy map[string]int // sends under way, by destination

	unsettled atomic.Int64 // sends that the database could not be told of yet
}

// NewOutbox makes an outbox worker.
func NewOutbox(d OutboxDeps) *Outbox {
	return &Outbox{OutboxDeps: d, bell: loop.NewBell(), busy: map[string]int{}}
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
	slots := make(chan struct{}, w.Parallel)
	var sends sync.WaitGroup
	for w.bell.Wait(ctx, loop.Jitter(w.Poll)) {
		for more := w.unsettled.Load() == 0; more && ctx.Err() == nil; { // what cannot be settled is not sent
			taken, err := w.Outbox.Take(ctx, w.By, w.Clock.Now().Add(-w.ClaimTimeout), w.Batch)
			if err != nil {
				if ctx.Err() == nil {
					w.Log.WarnContext(ctx, "cannot take emissions; it will be tried again", "error", err)
				}
				break
			}
			more = len(taken) >= w.Batch
			var crowded []ports.Settled
			behind := map[string]int{} // by destination
			for _, e := range taken {
				if !w.enter(ctx, slots, e) {
					host := destination(&e.Emission)
					crowded = append(crowded, w.postponed(e, behind[host]))
					behind[host]++
					continue
				}
				sends.Go(func() {
					defer func() { <-slots; w.leave(e) }()
					if s, ok := w.send(ctx, e); ok {
						settled <- s
					}
				})
			}
			w.postpone(ctx, crowded)
		}
	}
	sends.Wait()
	close(settled)
	over := time.AfterFunc(lastSettling, stopSettling)
	defer over.Stop()
	settler.Wait()
	w.free(ctx)
}

// enter takes a place for a send. A destination that is slow keeps its own places busy and nobody else's: what finds no place is put
// off a little without counting as an attempt.
func (w *Outbox) enter(ctx context.Context, slots chan struct{}, e ports.Stamped) bool {
	host := destination(&e.Emission)
	w.mu.Lock()
	crowded := w.busy[host] >= w.PerHost
	if !crowded {
		w.busy[host]++
	}
	w.mu.Unlock()
	if crowded {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		w.leave(e)
		return false
	}
}

func (w *Outbox) leave(e ports.Stamped) {
	w.mu.Lock()
	defer w.mu.Unlock()
	host := destination(&e.Emission)
	if w.busy[host]--; w.busy[host] == 0 {
		delete(w.busy, host)
	}
}

// postponed gives an emission back until the sends before it are through, of which so many were put off as well: they do not all come
// again at once and take the place of others in every batch.
func (w *Outbox) postponed(e ports.Stamped, behind int) ports.Settled {
	pause := max(w.Backoff.Base/4, w.SendTimeout/8) * time.Duration(1+behind/w.PerHost)
	return ports.Settled{Tenant: e.Tenant, ID: e.ID, By: e.By, At: e.At, Verdict: ports.Postponed, Next: w.Clock.Now().Add(loop.Jitter(pause))}
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

// send makes one attempt. False: the attempt could outlast the stamp, so it was not begun; the stamp goes stale and another takes it.
func (w *Outbox) send(ctx context.Context, e ports.Stamped) (ports.Settled, bool) {
	if w.Clock.Now().Add(w.SendTimeout).After(e.At.Add(w.ClaimTimeout / 2)) {
		return ports.Settled{}, false
	}
	began := w.Clock.Now()
	// A send that was begun is finished: only its own timeout ends it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.SendTimeout)
	defer cancel()
	response, err := w.attempt(ctx, &e.Emission)
	w.Watch.Observe("sutra_outbox_send_seconds", w.Clock.Now().Sub(began), "outcome", outcome(err))
	return w.judge(ctx, e, response, err), true
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
