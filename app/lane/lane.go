// Package lane runs instance work: each lane takes a batch of requests, claims its instances together, advances each and commits
// them together. Every request gets its own answer, exactly once. Routing is affinity; the claim is correctness. A lane knows no
// transport and routes no message.
package lane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/core/claim"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Programs finds the process of an instance.
type Programs interface {
	// Program answers the process of a served revision; nil: this replica does not serve it.
	Program(ctx context.Context, id ports.DeploymentID, process string) *step.Program
}

// Deps are what lanes work with.
type Deps struct {
	Instances ports.Instances
	Guard     claim.Guard
	Clock     ports.Clock
	IDs       ports.IDs
	Programs  Programs
	Watch     ports.Watch
	Log       *slog.Logger
	Wake      Wake
	Gate      *limit.Gate
	Replica   string
	Lanes     int
	Capacity  int // of each mailbox
	Batch     int
}

// Wake is who hears of a commit, on this replica. None of its functions blocks.
type Wake struct {
	Outbox  func()
	Inbox   func()
	Tasks   func()
	Replied func(ports.InboxRef, []byte)
	Waits   func(tenant string, deployment ports.DeploymentID, waits []ports.Wait) // message waits that began
}

// Request is one piece of instance work: a start, or events for one instance.
type Request struct {
	Start *Start
	Drive *Drive
	// Done hears the answer, exactly once, and does not block.
	Done func(Answer)
}

// Start is a new instance to be.
type Start struct {
	Program *step.Program
	Begin   step.Begin
	Most    int // instances that its channel may have at once; 0: any number
}

// Drive is events for an instance.
type Drive struct {
	Ref    ports.Ref
	Events []step.Event
	Leases []ports.Term // the singleton roles it acts under

	most    int          // events to fold; 0: all
	refused *fault.Fault // why the database refused the first event's step for its content
}

// Answer is what became of a request.
type Answer struct {
	Outcome  ports.Outcome  // Done: committed, or nothing to commit
	Events   []step.Outcome // of a Drive, one an event; nil unless Done
	Instance ports.Ref
	Status   ports.Status // of the instance; empty when not known
	Fault    *ports.Fault // with Failed
	Other    ports.InstanceID
	Replies  map[ports.InboxRef][]byte // answers given in this step
	Err      error                     // with Unsettled, and with refusals that have a code
}

// Pool is a replica's lanes.
type Pool struct {
	lanes []*lane
	next  atomic.Uint64
	wg    sync.WaitGroup
	gate  sync.RWMutex // held for reading by submitters, for writing to close
	shut  bool
	log   *slog.Logger
	door  *limit.Gate
}

// New makes the lanes; none works before Run.
func New(d Deps) *Pool {
	p := &Pool{log: d.Log, door: d.Gate}
	for i := range d.Lanes {
		p.lanes = append(p.lanes, &lane{
			Deps:    d,
			owner:   ports.Owner(fmt.Sprintf("%s/%d", d.Replica, i)),
			mailbox: make(chan Request, d.Capacity),
		})
	}
	return p
}

// Run works until Close was called and the mailboxes are empty. ctx bounds the work itself: when it ends, what is left is answered
// with ShuttingDown.
func (p *Pool) Run(ctx context.Context) {
	for _, l := range p.lanes {
		p.wg.Go(func() {
			defer l.alive.Store(false)
			l.alive.Store(true)
			l.run(ctx)
		})
	}
	p.wg.Wait()
}

// Close takes no more requests. Run ends when what was taken is answered.
func (p *Pool) Close() {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.shut {
		return
	}
	p.shut = true
	for _, l := range p.lanes {
		close(l.mailbox)
	}
}

// Submit hands a request to its lane: instance work by the instance's hash, new work round robin. It waits for room until ctx ends.
func (p *Pool) Submit(ctx context.Context, r Request) error {
	return p.admit(ctx, r, func(r Request, mailbox chan<- Request) bool {
		select {
		case mailbox <- r:
			return true
		case <-ctx.Done():
			return false
		}
	})
}

// Offer is Submit that does not wait: transports that can push back use it.
func (p *Pool) Offer(ctx context.Context, r Request) error {
	return p.admit(ctx, r, func(r Request, mailbox chan<- Request) bool {
		select {
		case mailbox <- r:
			return true
		default:
			return false
		}
	})
}

// admit asks the limits for a place before a start takes one in a mailbox: counting holds up who starts it, and no lane. What is refused
// is answered; what a start did not use of its place is given back with its answer. A called process is part of its caller, which is not
// stopped half way.
func (p *Pool) admit(ctx context.Context, r Request, put func(Request, chan<- Request) bool) error {
	if r.Start == nil || r.Start.Begin.Event.Kind == step.KindChildStart {
		return p.hand(r, put)
	}
	b := r.Start.Begin
	place, err := p.door.Admit(ctx, limit.Start{Tenant: b.Ref.Tenant, Channel: b.Channel, Most: r.Start.Most})
	if err != nil {
		r.Done(Answer{Instance: b.Ref, Err: err})
		return nil
	}
	done := r.Done
	r.Done = func(a Answer) {
		started := a.Outcome == ports.Done || errors.Is(a.Err, fault.StoreUncertain) // perhaps: the next count tells
		place.Settle(started, !a.Status.Ended())
		done(a)
	}
	if err := p.hand(r, put); err != nil {
		place.Settle(false, false)
		return err
	}
	return nil
}

// hand gives a request to its lane by put, which says whether there was room. No mailbox is closed meanwhile.
func (p *Pool) hand(r Request, put func(Request, chan<- Request) bool) error {
	p.gate.RLock()
	defer p.gate.RUnlock()
	switch {
	case p.shut:
		return fault.ShuttingDown.With("this replica is shutting down; send it to another")
	case !put(r, p.lane(r).mailbox):
		return fault.Busy.With("the lane of this work has no room; send it again later")
	}
	return nil
}

func (p *Pool) lane(r Request) *lane {
	if r.Drive == nil {
		return p.lanes[p.next.Add(1)%uint64(len(p.lanes))]
	}
	h := fnv.New64a()
	_, _ = h.Write(r.Drive.Ref.ID[:])
	return p.lanes[binary.BigEndian.Uint64(h.Sum(nil))%uint64(len(p.lanes))]
}

// Dead names the lanes that do not work.
func (p *Pool) Dead() []string {
	var dead []string
	for _, l := range p.lanes {
		if !l.alive.Load() {
			dead = append(dead, string(l.owner))
		}
	}
	return dead
}

type lane struct {
	Deps
	owner   ports.Owner
	mailbox chan Request
	alive   atomic.Bool
}

// run takes what is there, up to a batch, and works on it. A request that comes alone is worked on at once. While requests come in
// company, the lane lingers for a small part of the time that the last batch took: those that were answered together come back almost
// together, and one transaction for all of them is much cheaper than one for the first and another for the rest.
func (l *lane) run(ctx context.Context) {
	var linger time.Duration
	for first := range l.mailbox {
		batch := l.gather(first, linger)
		began := l.Clock.Now()
		l.work(ctx, batch)
		linger = 0
		if len(batch) > 1 {
			linger = min(l.Clock.Now().Sub(began)/8, maxLinger)
		}
	}
}

// maxLinger bounds what a request can wait for company.
const maxLinger = 2 * time.Millisecond

// gather fills a batch from the mailbox: with what is there, and with what comes while it lingers.
func (l *lane) gather(first Request, linger time.Duration) []Request {
	batch := []Request{first}
	over := time.NewTimer(linger)
	defer over.Stop()
	for len(batch) < l.Batch {
		select {
		case r, ok := <-l.mailbox:
			if !ok {
				return batch
			}
			batch = append(batch, r)
			continue
		default:
		}
		if linger == 0 {
			return batch
		}
		select {
		case r, ok := <-l.mailbox:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		case <-over.C:
			return batch
		}
	}
	return batch
}

func (l *lane) work(ctx context.Context, batch []Request) {
	if ctx.Err() != nil {
		for _, r := range batch {
			r.Done(Answer{Err: fault.ShuttingDown.With("this replica is shutting down; send it to another")})
		}
		return
	}
	began := l.Clock.Now()
	var starts, drives []Request
	for _, r := range batch {
		if r.Start != nil {
			starts = append(starts, r)
		} else {
			drives = append(drives, r)
		}
	}
	var both sync.WaitGroup // starts claim nothing, so they share no instance with the drives
	both.Go(func() { l.begin(ctx, starts) })
	l.drive(ctx, drives)
	both.Wait()
	l.Watch.Count("sutra_lane_requests_total", int64(len(batch)))
	l.Watch.Observe("sutra_lane_batch_seconds", l.Clock.Now().Sub(began))
}

// contained runs a step so that its panic is that step's alone.
func (l *lane) contained(ctx context.Context, ref ports.Ref, run func() step.Result) (r step.Result) {
	defer func() {
		if p := recover(); p != nil {
			l.Log.ErrorContext(ctx, "a step panicked; it is thrown away and its claim given back", "instance", ref.ID, "panic", fmt.Sprint(p))
			r = step.Result{Err: fault.Internal.With("the step of instance %s panicked: %v", ref.ID, p)}
		}
	}()
	return run()
}

// failed says that a committed step made its instance FAILED.
func (l *lane) failed(ref ports.Ref, f *ports.Fault, trace ports.Trace) {
	if f == nil {
		return
	}
	log := l.Log
	if id := trace.ID(); id != "" {
		log = log.With("trace_id", id)
	}
	log.Warn("an instance is FAILED and waits for an operator", "instance", ref.ID, "tenant", ref.Tenant, "code", f.Code, "node", f.Node, "detail", f.Detail)
	l.Watch.Count("sutra_instances_failed_total", 1, "code", f.Code)
}

func (l *lane) now() time.Time { return l.Clock.Now() }
