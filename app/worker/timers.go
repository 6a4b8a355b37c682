package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/timer"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// TimerDeps are what a timer worker works with.
type TimerDeps struct {
	Timers ports.Timers
	Served *converge.Loop
	Lanes  *lane.Pool
	Clock  ports.Clock
	IDs    ports.IDs
	Watch  ports.Watch
	Log    *slog.Logger
	Lease  time.Duration // how long a timer that was handed out is left alone
	Batch  int
}

// Timers fires what is due. Its leader calls Tick; firing is guarded by the claim and the wait, so two leaders for a moment do no harm.
type Timers struct{ TimerDeps }

// Tick fires all that is due now.
func (w Timers) Tick(ctx context.Context) error {
	for {
		due, err := w.Timers.Due(ctx, w.Lease, w.Batch)
		if err != nil {
			return err
		}
		if err := w.fire(ctx, due); err != nil {
			return err
		}
		if len(due) < w.Batch {
			break
		}
	}
	return w.schedules(ctx)
}

// schedules starts what schedules ask for. One that fails, or may not start now, stays due and holds up no other: so many more are read.
func (w Timers) schedules(ctx context.Context) error {
	var errs []error
	tried := map[ports.Schedule]bool{}
	for ctx.Err() == nil {
		limit := w.Batch + len(tried)
		due, err := w.Timers.Schedules(ctx, limit)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		fresh := 0
		for _, s := range due {
			if !tried[s] {
				tried[s] = true
				fresh++
				errs = append(errs, w.start(ctx, s))
			}
		}
		if len(due) < limit || fresh == 0 {
			break
		}
	}
	return errors.Join(errs...)
}

// fire sends timers to their instances and puts off those that were refused.
func (w Timers) fire(ctx context.Context, due []ports.Timer) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := map[fault.Code][]ports.Timer{}
	put := func(t ports.Timer, err error) {
		mu.Lock()
		defer mu.Unlock()
		why := fault.Of(err).Code
		refused[why] = append(refused[why], t)
	}
	for _, t := range due {
		w.Watch.Observe("sutra_timer_lag_seconds", w.Clock.Now().Sub(t.Due))
		wg.Add(1)
		event := step.EventOfTimer(t)
		ctx, end := w.Watch.Span(ctx, ports.Span{Name: "timer"})
		event.Trace = w.Watch.Trace(ctx)
		err := w.Lanes.Submit(ctx, lane.Request{
			Drive: &lane.Drive{Ref: t.Ref, Events: []step.Event{event}},
			Done: func(a lane.Answer) {
				defer wg.Done()
				end(ports.Ending{Err: a.Err, Attributes: []any{"sutra.tenant", t.Tenant, "sutra.instance.id", t.ID.String()}})
				switch {
				case a.Outcome == ports.Done && a.Events[0] == step.Unmatched:
					w.Log.ErrorContext(ctx, "a timer is due whose instance does not wait for it", "instance", t.ID, "wait", t.Wait)
				case a.Outcome == ports.Held, a.Outcome == ports.ClaimLost, a.Outcome == ports.Unsettled:
					put(t, a.Err)
				}
			},
		})
		if err != nil {
			wg.Done()
			end(ports.Ending{Err: err})
			put(t, err)
		}
	}
	wg.Wait()
	var errs []error
	for why, timers := range refused {
		errs = append(errs, w.Timers.Defer(ctx, timers, w.Clock.Now().Add(loop.Jitter(time.Second)), string(why)))
	}
	return errors.Join(errs...)
}

// start makes the instance of a due schedule. The next due date is counted from the last one, so nothing drifts; what was missed while
// nobody ran is made up by one instance, not by many.
func (w Timers) start(ctx context.Context, s ports.Schedule) (err error) {
	served := w.Served.Current().Revision(s.Deployment)
	if served == nil || !served.Active() || served.Programs[s.Process] == nil {
		return nil
	}
	program := served.Programs[s.Process]
	next, left, err := timer.Next(served.Timer(s.Process, s.Node), s, w.Clock.Now())
	if err != nil {
		return fmt.Errorf("count the fires of %s in process %s: %w", s.Node, s.Process, err)
	}
	ctx, end := w.Watch.Span(ctx, ports.Span{Name: "timer"})
	defer func() { end(ports.Ending{Err: err}) }()
	answers := make(chan lane.Answer, 1)
	err = w.Lanes.Submit(ctx, lane.Request{
		Start: &lane.Start{Program: program, Begin: step.Begin{
			Ref:      ports.Ref{Tenant: s.Tenant, ID: w.IDs.New()},
			Event:    step.Event{Kind: step.KindStart, Node: s.Node, Trace: w.Watch.Trace(ctx)},
			Schedule: &ports.Fired{Deployment: s.Deployment, Process: s.Process, Node: s.Node, Due: s.Due, Next: next, Left: left},
		}},
		Done: func(a lane.Answer) { answers <- a },
	})
	if err != nil {
		return err
	}
	a := <-answers
	if a.Outcome == ports.Unsettled && !limit.Refused(a.Err) { // a refused one stays due
		return a.Err
	}
	return nil
}
