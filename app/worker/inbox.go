// Package worker drives what is durable and due: inbox rows, emissions, timers. Every replica runs the same workers; the database says
// who gets what. No worker ends on an error: it says so, waits a little and goes on until its context ends.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	appintake "github.com/sutra-engine/sutra/app/intake"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/intake"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// InboxDeps are what an inbox worker works with.
type InboxDeps struct {
	Inbox       ports.Inbox
	Correlation ports.Correlation
	Served      *converge.Loop
	Router      appintake.Router
	Lanes       *lane.Pool
	Clock       ports.Clock
	IDs         ports.IDs
	Log         *slog.Logger
	Poll        time.Duration // how often the database is asked without being woken
	Recovery    time.Duration // how long a row that was handed out is left alone
	Batch       int
	Backoff     loop.Backoff
}

// Inbox drives pending rows to the instances they are for.
type Inbox struct {
	InboxDeps
	bell   loop.Bell
	pushed *fair
	kept   chan keptAsk
}

// keptAsk asks for messages that were kept for waits that have just begun.
type keptAsk struct {
	tenant string
	names  []ports.Key
}

// NewInbox makes an inbox worker.
func NewInbox(d InboxDeps) *Inbox {
	return &Inbox{InboxDeps: d, bell: loop.NewBell(), pushed: newFair(d.Batch), kept: make(chan keptAsk, d.Batch)}
}

// Wake makes the worker look at once: a step on this replica has written deliveries.
func (w *Inbox) Wake() { w.bell.Ring() }

// Reserve is asked before a message is made durable: here says that this replica will drive it, and nobody else needs to look for a
// while. Without room, and of a stream, of which the database alone knows whose turn it is, the message is for whoever finds it there
// first. settled has to be told whether it is durable.
func (w *Inbox) Reserve(m ports.Message) (here bool, settled func(durable bool)) {
	here = m.Stream == "" && w.pushed.reserve(m)
	return here, func(durable bool) {
		switch {
		case here && durable:
			w.pushed.put(m)
		case here:
			w.pushed.release(m)
		}
		if durable {
			w.bell.Ring()
		}
	}
}

// Waits hears of waits that began: messages may have been kept for them.
func (w *Inbox) Waits(tenant string, deployment ports.DeploymentID, waits []ports.Wait) {
	served := w.Served.Current().Revision(deployment)
	if served == nil {
		return
	}
	var names []ports.Key
	for _, wait := range waits {
		if wait.Kind == ports.WaitMessage && served.Keeps(wait.Name) {
			names = append(names, wait.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	select {
	case w.kept <- keptAsk{tenant, names}:
		w.bell.Ring()
	default:
	}
}

// Run drives until ctx ends.
func (w *Inbox) Run(ctx context.Context) {
	for w.bell.Wait(ctx, loop.Jitter(w.Poll)) {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = w.round(ctx); err != nil && ctx.Err() == nil {
				w.Log.WarnContext(ctx, "cannot drive the inbox; it will be tried again", "error", err)
			}
		}
	}
}

// round takes what was pushed, what was kept, and what is due, and drives it. more says that there is probably more to do.
func (w *Inbox) round(ctx context.Context) (more bool, err error) {
	rows, full := w.pushed.take(w.Batch)
	kept, unasked := w.askKept(ctx)
	due, err := w.Inbox.Pending(ctx, w.Clock.Now(), w.Recovery, w.Batch)
	streams := slices.ContainsFunc(due, func(m ports.Message) bool { return m.Stream != "" }) // the next of each has its turn now
	err = errors.Join(unasked, err, w.drive(ctx, unique(slices.Concat(rows, kept, due))))
	return err == nil && (full || streams || len(due) >= w.Batch), err
}

// askKept reads the messages that were kept for waits which have just begun.
func (w *Inbox) askKept(ctx context.Context) (rows []ports.Message, err error) {
	for err == nil {
		select {
		case ask := <-w.kept:
			var kept []ports.Message
			kept, err = w.Inbox.Kept(ctx, ask.tenant, ask.names, w.Batch)
			rows = append(rows, heads(kept)...)
		default:
			return rows, nil
		}
	}
	return rows, err
}

// heads leaves of every stream its first row alone: the others wait until it is done.
func heads(rows []ports.Message) []ports.Message {
	type stream struct{ tenant, channel, name string }
	first := map[stream]int64{}
	for _, m := range rows {
		s := stream{m.Tenant, m.Channel, m.Stream}
		if position, there := first[s]; m.Stream != "" && (!there || m.Position < position) {
			first[s] = m.Position
		}
	}
	return slices.DeleteFunc(rows, func(m ports.Message) bool {
		return m.Stream != "" && m.Position != first[stream{m.Tenant, m.Channel, m.Stream}]
	})
}

func unique(rows []ports.Message) []ports.Message {
	seen := map[ports.InboxRef]bool{}
	return slices.DeleteFunc(rows, func(m ports.Message) bool {
		twice := seen[m.InboxRef]
		seen[m.InboxRef] = true
		return twice
	})
}

// drive sends every row on its way, waits for all answers, and settles what did not end in a step.
func (w *Inbox) drive(ctx context.Context, rows []ports.Message) error {
	if len(rows) == 0 {
		return nil
	}
	s := &settling{w: w}
	var messages []ports.Message
	targets := map[ports.Ref][]ports.Message{}
	var order []ports.Ref
	for _, m := range rows {
		switch ref := (ports.Ref{Tenant: m.Tenant, ID: m.Target}); {
		case m.Kind == ports.KindSignal:
			s.note(m, verdictOf(w.fanOut(ctx, m)))
		case m.Target.IsZero():
			messages = append(messages, m)
		case m.Kind == ports.KindChildStart:
			w.child(ctx, s, m)
		default:
			if targets[ref] == nil {
				order = append(order, ref)
			}
			targets[ref] = append(targets[ref], m)
		}
	}
	for _, ref := range order {
		w.deliver(ctx, s, ref, targets[ref])
	}
	w.route(ctx, s, messages)
	s.wg.Wait()
	return s.settle(ctx)
}

// deliver folds all rows of one target into one request.
func (w *Inbox) deliver(ctx context.Context, s *settling, ref ports.Ref, rows []ports.Message) {
	var events []step.Event
	var of []ports.Message
	for _, m := range rows {
		e, err := step.EventOf(m)
		if err != nil {
			s.note(m, verdictOf(err))
			continue
		}
		e.Consumed = &ports.Consumed{InboxRef: m.InboxRef, EventID: m.EventID, Kind: m.Kind, Pending: true}
		events, of = append(events, e), append(of, m)
	}
	if len(events) == 0 {
		return
	}
	s.submit(ctx, lane.Request{Drive: &lane.Drive{Ref: ref, Events: events}}, of)
}

// child starts a called process of its caller's own revision, whether that is active or draining.
func (w *Inbox) child(ctx context.Context, s *settling, m ports.Message) {
	e, err := step.EventOf(m)
	if err != nil {
		s.note(m, verdictOf(err))
		return
	}
	served := w.Served.Current().Revision(m.Deployment)
	if served == nil || served.Programs[e.Process] == nil {
		s.note(m, later(fault.NotReady))
		return
	}
	e.Consumed = &ports.Consumed{InboxRef: m.InboxRef, Kind: m.Kind, Pending: true}
	s.submit(ctx, lane.Request{Start: &lane.Start{Program: served.Programs[e.Process], Begin: step.Begin{
		Ref: ports.Ref{Tenant: m.Tenant, ID: m.Target}, Event: e,
	}}}, []ports.Message{m})
}

// route brings messages to their instances with one question to the store.
func (w *Inbox) route(ctx context.Context, s *settling, rows []ports.Message) {
	var group []*intake.Message
	var of []ports.Message
	for _, row := range rows {
		m, err := w.restore(row)
		if err != nil {
			s.note(row, w.unlessExpired(row, verdictOf(err)))
			continue
		}
		group, of = append(group, m), append(of, row)
	}
	if len(group) == 0 {
		return
	}
	routed, err := w.Router.Find(ctx, group)
	if err != nil {
		w.Log.WarnContext(ctx, "cannot look up who waits; the messages stay pending", "messages", len(group), "error", err)
		return
	}
	for i, r := range routed {
		row := of[i]
		switch {
		case r.Err != nil:
			s.note(row, w.unlessExpired(row, verdictOf(r.Err)))
		case r.Route.Start == nil && w.expired(row):
			s.note(row, bury(string(fault.CorrelationExpired)))
		case len(r.Route.Relays) > 1:
			s.note(row, verdictOf(w.spread(ctx, row, r.Route.Relays)))
		default:
			s.wg.Add(1)
			if err := w.Router.Send(ctx, group[i], r, true, func(a lane.Answer) { s.heard([]ports.Message{row}, a) }); err != nil {
				s.wg.Done()
				s.note(row, verdictOf(err))
			}
		}
	}
}

// expired says that a message was kept long enough. One that would start an instance waits for room, not for somebody who takes it:
// it is never too old.
func (w *Inbox) expired(row ports.Message) bool {
	return !row.Expires.IsZero() && row.Expires.Before(w.Clock.Now())
}

func (w *Inbox) unlessExpired(row ports.Message, v verdict) verdict {
	if w.expired(row) {
		return bury(string(fault.CorrelationExpired))
	}
	return v
}

// restore makes a message of a row, under the revision that serves its channel now, else the one that took it.
func (w *Inbox) restore(row ports.Message) (*intake.Message, error) {
	e, err := step.EventOf(row)
	if errors.Is(err, fault.SnapshotFormatUnknown) {
		return nil, err
	} else if err != nil {
		return nil, fault.BodyUndecodable.With("the kept message cannot be read: %w", err)
	}
	set := w.Served.Current()
	kept := intake.Kept(row, e)
	m := &kept
	if door, ok := set.Channel(row.Tenant, row.Channel); ok {
		m.Rev, m.Channel = door.Served.Revision, door.Channel
		return m, nil
	}
	for _, s := range append(set.Active(row.Tenant, ""), set.Revision(row.Deployment)) {
		if s == nil {
			continue
		}
		name, published := intake.PublishedName(row.Channel)
		if _, has := s.Channels[row.Channel]; has || published && s.Knows(name) {
			m.Rev, m.Channel = s.Revision, s.Channels[row.Channel]
			if published {
				m.Name, m.Channel = name, channel.Channel{Name: row.Channel}
			}
			return m, nil
		}
	}
	return nil, fault.NoMatch.With("no served revision of tenant %s has channel %q", row.Tenant, row.Channel)
}

// spread makes one delivery for each instance of a broadcast. One that is cut off is begun anew, and finds what it has written.
func (w *Inbox) spread(ctx context.Context, row ports.Message, relays []intake.Relay) error {
	to := make([]ports.Message, len(relays))
	for i, r := range relays {
		to[i] = row
		to[i].InboxRef = ports.InboxRef{Tenant: row.Tenant, Channel: ports.DeliveryChannel, Event: ports.NewKey(string(row.Event[:]), r.Ref.ID.String())}
		to[i].Kind, to[i].Target, to[i].Wait, to[i].EventID = ports.KindRelay, r.Ref.ID, r.Wait, nil
		to[i].NextAttempt = w.Clock.Now()
	}
	for page := pageOf(row); len(to) > 0; w.bell.Ring() {
		n := min(page, len(to))
		if answer, err := w.Inbox.Forward(ctx, row.InboxRef, nil, n == len(to), to[:n]); err != nil || answer.Outcome != ports.Done {
			return err // nobody's any more, where there is no trouble
		}
		to = to[n:]
	}
	return nil
}

// settling gathers what has to be done about rows that ended in no step.
type settling struct {
	w  *Inbox
	wg sync.WaitGroup
	mu sync.Mutex

	finish []ports.InboxRef
	bury   map[string][]ports.InboxRef
	later  map[putOff][]ports.InboxRef
	pauses map[int]time.Duration // by the attempts before; -1: soon
}

// putOff is what rows have in common that one statement puts off.
type putOff struct {
	pause time.Duration
	why   string
}

func (s *settling) submit(ctx context.Context, r lane.Request, rows []ports.Message) {
	s.wg.Add(1)
	r.Done = func(a lane.Answer) { s.heard(rows, a) }
	if err := s.w.Lanes.Submit(ctx, r); err != nil {
		s.wg.Done()
		for _, m := range rows {
			s.note(m, verdictOf(err))
		}
	}
}

func (s *settling) heard(rows []ports.Message, a lane.Answer) {
	defer s.wg.Done()
	for i, m := range rows {
		s.note(m, judge(m, i, a))
	}
}

// verdict is what is done about a row.
type verdict struct {
	kind string // taken, finish, later, soon, bury
	why  string
}

var (
	taken  = verdict{kind: "taken"}
	finish = verdict{kind: "finish"}
)

func bury(why string) verdict      { return verdict{"bury", why} }
func later(why fault.Code) verdict { return verdict{"later", string(why)} }
func soon(why fault.Code) verdict  { return verdict{"soon", string(why)} }

// judge says what a row's answer means. A delivery whose wait or instance is gone is finished: nobody wants it any more. A message
// from outside is routed again, it may be for another.
func judge(m ports.Message, i int, a lane.Answer) verdict {
	delivery := m.Channel == ports.DeliveryChannel
	switch a.Outcome {
	case ports.Done:
		if a.Events == nil {
			return taken
		}
		switch a.Events[i] {
		case step.Unmatched:
			if delivery {
				return finish
			}
			return soon(fault.NoMatch)
		case step.NotTried:
			if a.Status == ports.Failed {
				return later(fault.InstanceFailed)
			}
			return later(fault.ClaimHeld)
		}
		return taken
	case ports.Duplicate:
		return taken
	case ports.Gone:
		if delivery {
			return finish
		}
		return soon(fault.Of(a.Err).Code)
	case ports.Held, ports.ClaimLost, ports.NotActive:
		return soon(fault.Of(a.Err).Code)
	case ports.Stale:
		return later(fault.Of(a.Err).Code)
	}
	return verdictOf(a.Err)
}

// verdictOf says what a row's fault means: what can never work is buried, the rest waits.
func verdictOf(err error) verdict {
	switch f := fault.Of(err); {
	case err == nil:
		return taken
	case f.Code == fault.NoMatch, f.Code == fault.NotActive:
		return later(f.Code)
	case f.Code.Disposition() == fault.Reject:
		return bury(f.Error())
	default:
		return later(f.Code)
	}
}

func (s *settling) note(m ports.Message, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch v.kind {
	case "finish":
		s.finish = append(s.finish, m.InboxRef)
	case "bury":
		if s.bury == nil {
			s.bury = map[string][]ports.InboxRef{}
		}
		s.bury[v.why] = append(s.bury[v.why], m.InboxRef)
	case "later", "soon":
		if s.later == nil {
			s.later, s.pauses = map[putOff][]ports.InboxRef{}, map[int]time.Duration{}
		}
		attempts := m.Attempts
		if v.kind == "soon" {
			attempts = -1
		}
		key := putOff{s.pause(attempts), v.why}
		s.later[key] = append(s.later[key], m.InboxRef)
	}
}

// pause is one for all rows that were tried as often: what was refused for the same reason is put off with one statement.
func (s *settling) pause(attempts int) time.Duration {
	pause, known := s.pauses[attempts]
	switch {
	case known:
	case attempts < 0:
		pause = loop.Jitter(s.w.Backoff.Base / 4)
	default:
		pause = s.w.Backoff.After(attempts)
	}
	s.pauses[attempts] = pause
	return pause
}

func (s *settling) settle(ctx context.Context) error {
	var errs []error
	if len(s.finish) > 0 {
		_, err := s.w.Inbox.Finish(ctx, s.finish)
		errs = append(errs, err)
	}
	for why, refs := range s.bury {
		s.w.Log.WarnContext(ctx, "messages are dead: kept, visible, never delivered", "messages", len(refs), "why", why)
		errs = append(errs, s.w.Inbox.Bury(ctx, refs, why))
	}
	now := s.w.Clock.Now()
	for off, refs := range s.later {
		errs = append(errs, s.w.Inbox.Defer(ctx, refs, now.Add(off.pause), off.why))
	}
	return errors.Join(errs...)
}
