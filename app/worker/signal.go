package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// What of one message is written at once: so many deliveries, and so many bytes of them, each of which has the whole payload.
const (
	pageRows  = 500
	pageBytes = 4 << 20
)

// pageOf is how many deliveries of a message one page has.
func pageOf(m ports.Message) int { return max(1, min(pageRows, pageBytes/(len(m.Payload)+1))) }

// fanOut brings a signal to every wait that was armed before it came, page by page: each page's deliveries and the cursor are one
// transaction, so a worker that dies in the middle is followed by one that goes on. Starts come last, one instance each, each with a
// key of its own, so that they too happen once.
func (w *Inbox) fanOut(ctx context.Context, signal ports.Message) error {
	name := signal.Name
	after, err := cursor(signal)
	if err != nil {
		return err
	}
	page := pageOf(signal)
	for {
		waiting, err := w.Correlation.Signalled(ctx, signal.Tenant, name, signal.Accepted, after, page)
		if err != nil {
			return err
		}
		if len(waiting) == 0 {
			break
		}
		to := make([]ports.Message, len(waiting))
		for i, wait := range waiting {
			to[i] = delivered(signal, wait)
		}
		after = waiting[len(waiting)-1]
		mark, err := json.Marshal(mark{after.ID, after.Wait})
		if err != nil {
			return err
		}
		answer, err := w.Inbox.Forward(ctx, signal.InboxRef, mark, false, to)
		if err != nil {
			return err
		}
		if answer.Outcome == ports.Gone {
			return nil // another worker has done it
		}
		w.bell.Ring()
		if len(waiting) < page {
			break
		}
	}
	if err := w.signalStarts(ctx, signal); err != nil {
		return err
	}
	_, err = w.Inbox.Forward(ctx, signal.InboxRef, nil, true, nil)
	return err
}

func delivered(signal ports.Message, wait ports.Waiting) ports.Message {
	m := signal
	m.InboxRef = ports.InboxRef{
		Tenant: signal.Tenant, Channel: ports.DeliveryChannel,
		Event: ports.NewKey(string(signal.Event[:]), wait.ID.String(), strconv.FormatInt(int64(wait.Wait), 10)),
	}
	m.Kind, m.Target, m.Wait, m.EventID = ports.KindSignalled, wait.ID, wait.Wait, nil
	m.NextAttempt = signal.Accepted
	return m
}

// signalStarts starts one instance for each signal start event of the tenant's active revisions, those included of which this replica
// has not heard yet. One that cannot start holds up no other.
func (w *Inbox) signalStarts(ctx context.Context, signal ports.Message) error {
	e, err := step.EventOf(signal)
	if err != nil {
		return err
	}
	set, err := w.Served.Ask(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, served := range set.Active(signal.Tenant, "") {
		for _, start := range served.SignalStarts(signal.Name) {
			err := w.signalStart(ctx, signal, e, served, start)
			if err != nil && fault.Of(err).Code.Disposition() == fault.Reject {
				w.Log.WarnContext(ctx, "a signal starts no instance of a process", "tenant", signal.Tenant, "process", start.Program.Process.ID, "error", err)
				continue
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *Inbox) signalStart(ctx context.Context, signal ports.Message, e step.Event, served *converge.Served, start deploy.Start) error {
	key := ports.NewKey(string(signal.Event[:]), start.Program.Process.ID, start.Node.ID, served.Slot.Module)
	answers := make(chan lane.Answer, 1)
	err := w.Lanes.Submit(ctx, lane.Request{
		Start: &lane.Start{Program: start.Program, Begin: step.Begin{
			Ref: ports.Ref{Tenant: signal.Tenant, ID: w.IDs.New()},
			Event: step.Event{
				Kind: step.KindStart, Node: start.Node.ID, Payload: e.Payload, Headers: e.Headers, Trace: e.Trace,
				Consumed: &ports.Consumed{InboxRef: ports.InboxRef{Tenant: signal.Tenant, Channel: ports.DeliveryChannel, Event: key}, Kind: ports.KindStart},
			},
		}},
		Done: func(a lane.Answer) { answers <- a },
	})
	if err != nil {
		return err
	}
	a := <-answers
	return a.Err
}

// mark is how far a signal has come.
type mark struct {
	Instance ports.InstanceID
	Wait     ports.WaitID
}

func cursor(signal ports.Message) (ports.Waiting, error) {
	var at mark
	if len(signal.Cursor) > 0 {
		if err := json.Unmarshal(signal.Cursor, &at); err != nil {
			return ports.Waiting{}, fault.Internal.With("the cursor of a signal cannot be read: %w", err)
		}
	}
	return ports.Waiting{Ref: ports.Ref{Tenant: signal.Tenant, ID: at.Instance}, Wait: at.Wait}, nil
}
