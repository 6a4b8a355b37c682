// Package tasks is what external workers call: fetch and lock, extend, complete, fail. A completion is a step of the instance; while
// another step is in flight it becomes a delivery, so that no worker ever waits for an instance. Ceilings refuse, they never clamp.
package tasks

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/app/lane"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Limits are what a worker may ask for.
type Limits struct {
	DefaultLock, MaxLock time.Duration
	MaxWait              time.Duration // of a long poll
	MaxTasks             int
	Retries              int
	RetryAfter           time.Duration
}

// Deps are what a queue works with.
type Deps struct {
	Tasks  ports.Tasks
	Lanes  *lane.Pool
	Clock  ports.Clock
	Watch  ports.Watch
	Log    *slog.Logger
	Limits Limits
	Inbox  func() // hears that a completion became a delivery
}

// Queue is the ports.TaskQueue of a replica.
type Queue struct {
	Deps
	mu     sync.Mutex
	parked chan struct{} // closed when a task is parked here, then made anew
	shut   chan struct{} // closed at shutdown
	once   sync.Once
}

// New makes a queue.
func New(d Deps) *Queue {
	return &Queue{Deps: d, parked: make(chan struct{}), shut: make(chan struct{})}
}

// poll is how often a long poll looks for tasks that were parked on other replicas.
const poll = 500 * time.Millisecond

// Close ends every long poll, empty-handed.
func (q *Queue) Close() { q.once.Do(func() { close(q.shut) }) }

// Parked wakes every long poll on this replica.
func (q *Queue) Parked() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.parked)
	q.parked = make(chan struct{})
}

// Fetch locks tasks for a worker, waiting for a first one as long as asked.
func (q *Queue) Fetch(ctx context.Context, f ports.TaskFetch) ([]ports.LockedTask, error) {
	if err := q.check(&f); err != nil {
		return nil, err
	}
	over := time.NewTimer(f.Wait)
	defer over.Stop()
	for {
		q.mu.Lock()
		parked := q.parked
		q.mu.Unlock()
		tasks, err := q.Tasks.Take(ctx, f.TaskAsk)
		if err != nil || len(tasks) > 0 || f.Wait == 0 {
			q.handed(ctx, tasks)
			return tasks, err
		}
		again := time.NewTimer(poll)
		select {
		case <-parked:
		case <-again.C:
		case <-over.C:
			again.Stop()
			return nil, nil
		case <-q.shut:
			again.Stop()
			return nil, nil
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		}
		again.Stop()
	}
}

// handed is the span of a fetch that found tasks, linked to the steps that parked them.
func (q *Queue) handed(ctx context.Context, tasks []ports.LockedTask) {
	if !q.Watch.Trace(ctx).Sampled() || len(tasks) == 0 {
		return
	}
	_, end := q.Watch.Span(ctx, ports.Span{Name: "receive tasks", Kind: ports.SpanConsumer})
	out := ports.Ending{Attributes: []any{"messaging.batch.message_count", len(tasks)}}
	for _, t := range tasks {
		if trace := token.TraceOf(t.Task); trace != "" {
			out.Links = append(out.Links, trace)
		}
	}
	end(out)
}

func (q *Queue) check(f *ports.TaskFetch) error {
	ceiling := func(what string, got, most any) error {
		return fault.TaskCeiling.With("%s is %v, at most %v is given; ask for less", what, got, most)
	}
	switch {
	case f.Worker == "" || len(f.Topics) == 0:
		return fault.RequestInvalid.With("a worker says its workerId and at least one topic")
	case f.Max < 1 || f.Max > q.Limits.MaxTasks:
		return ceiling("maxTasks", f.Max, q.Limits.MaxTasks)
	case f.Wait < 0 || f.Wait > q.Limits.MaxWait:
		return ceiling("asyncResponseTimeout", f.Wait, q.Limits.MaxWait)
	}
	for i := range f.Topics {
		if f.Topics[i].Lock == 0 {
			f.Topics[i].Lock = q.Limits.DefaultLock
		}
		if f.Topics[i].Lock < 0 || f.Topics[i].Lock > q.Limits.MaxLock {
			return ceiling("lockDuration of topic "+f.Topics[i].Name, f.Topics[i].Lock, q.Limits.MaxLock)
		}
	}
	return nil
}

// Complete ends a task with variables, a JSON object or nothing.
func (q *Queue) Complete(ctx context.Context, tenants []string, lock ports.TaskLock, variables []byte) (accepted bool, err error) {
	value, err := object(variables)
	if err != nil {
		return false, err
	}
	return q.end(ctx, tenants, lock, step.Event{Kind: step.KindTaskDone, Payload: value})
}

// Error ends a task with a BPMN error.
func (q *Queue) Error(ctx context.Context, tenants []string, lock ports.TaskLock, code, message string, variables []byte) (accepted bool, err error) {
	if code == "" {
		return false, fault.RequestInvalid.With("a BPMN error has an errorCode")
	}
	value, err := object(variables)
	if err != nil {
		return false, err
	}
	return q.end(ctx, tenants, lock, step.Event{Kind: step.KindTaskError, Code: code, Message: message, Payload: value})
}

// end advances the instance with what the worker says. While its claim is held, the task goes and the delivery stays, in one
// transaction: accepted.
func (q *Queue) end(ctx context.Context, tenants []string, lock ports.TaskLock, e step.Event) (accepted bool, err error) {
	task, err := q.find(ctx, tenants, lock)
	if err != nil {
		return false, err
	}
	lock.Tenant, lock.Worker = task.Ref.Tenant, worker(lock, task)
	e.Wait, e.Task, e.Trace = task.Wait, &lock, q.Watch.Trace(ctx)
	answers := make(chan lane.Answer, 1)
	if err := q.Lanes.Offer(ctx, lane.Request{
		Drive: &lane.Drive{Ref: task.Ref, Events: []step.Event{e}},
		Done:  func(a lane.Answer) { answers <- a },
	}); err != nil {
		return false, err
	}
	var a lane.Answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	switch {
	case a.Outcome == ports.Held, a.Outcome == ports.ClaimLost:
		return q.deliver(ctx, lock, task, e)
	case a.Outcome == ports.Gone, a.Outcome == ports.Done && a.Events[0] == step.Unmatched:
		return false, unknown(lock.ID)
	case a.Outcome == ports.Done && a.Events[0] == step.NotTried:
		return false, fault.ClaimHeld.With("the instance of task %s was busy; send it again", lock.ID)
	case a.Outcome == ports.Stale && a.Status == ports.Failed:
		return false, fault.TaskTerminal.With("task %s belongs to a FAILED instance", lock.ID)
	case a.Outcome == ports.Done && a.Events[0] == step.Failed:
		return false, nil // the completion is taken; that its instance is FAILED now is an operator's
	}
	return false, a.Err
}

func (q *Queue) deliver(ctx context.Context, lock ports.TaskLock, task ports.LockedTask, e step.Event) (bool, error) {
	kind := ports.KindTaskDone
	if e.Kind == step.KindTaskError {
		kind = ports.KindTaskError
	}
	body, err := step.EncodeEvent(step.Event{Code: e.Code, Message: e.Message, Payload: e.Payload, Trace: e.Trace})
	if err != nil {
		return false, fault.BodyUndecodable.With("the variables cannot be kept: %w", err)
	}
	now := q.Clock.Now()
	answers, err := q.Tasks.Deliver(ctx, []ports.CompletedTask{{TaskLock: lock, Delivery: ports.Message{
		InboxRef: ports.InboxRef{Tenant: lock.Tenant, Channel: ports.DeliveryChannel, Event: ports.NewKey("task", lock.ID.String())},
		Kind:     kind, Target: task.Ref.ID, Wait: task.Wait, Deployment: task.Deployment, Payload: body, Accepted: now, NextAttempt: now,
	}}})
	if err != nil {
		return false, err
	}
	if err := refused(answers[0], lock.ID); err != nil {
		return false, err
	}
	q.Inbox()
	return true, nil
}

// Fail reports that a worker could not do a task. retries is what is left by the worker's word; nil counts the task's own down.
func (q *Queue) Fail(ctx context.Context, tenants []string, f ports.FailedTask, retries *int) error {
	task, err := q.find(ctx, tenants, f.TaskLock)
	if err != nil {
		return err
	}
	f.Tenant, f.Worker = task.Ref.Tenant, worker(f.TaskLock, task)
	f.Retries = max(0, task.Retries-1)
	if retries != nil {
		f.Retries = max(0, *retries)
	}
	if f.After == 0 {
		f.After = q.Limits.RetryAfter
	}
	answers, err := q.Tasks.Fail(ctx, []ports.FailedTask{f})
	if err != nil {
		return err
	}
	if f.Retries == 0 {
		q.Log.WarnContext(ctx, "a task is exhausted: kept, visible, not handed out", "task", f.ID, "instance", task.Ref.ID, "error", f.Error)
	}
	return refused(answers[0], f.ID)
}

// Extend moves the end of a lock that still stands.
func (q *Queue) Extend(ctx context.Context, tenants []string, lock ports.TaskLock, by time.Duration) error {
	if by <= 0 || by > q.Limits.MaxLock {
		return fault.TaskCeiling.With("newDuration is %v, at most %v is given", by, q.Limits.MaxLock)
	}
	task, err := q.find(ctx, tenants, lock)
	if err != nil {
		return err
	}
	lock.Tenant, lock.Worker = task.Ref.Tenant, worker(lock, task)
	answers, err := q.Tasks.Extend(ctx, []ports.TaskLock{lock}, by)
	if err != nil {
		return err
	}
	return refused(answers[0], lock.ID)
}

// find reads the task and checks that this worker may speak of it. An expired lock that nobody took still counts.
func (q *Queue) find(ctx context.Context, tenants []string, lock ports.TaskLock) (ports.LockedTask, error) {
	tenant, err := q.Tasks.Locate(ctx, tenants, lock.ID)
	if err != nil || tenant == "" {
		return ports.LockedTask{}, cmp.Or(err, unknown(lock.ID))
	}
	tasks, err := q.Tasks.Read(ctx, []ports.TaskLock{{Tenant: tenant, ID: lock.ID}})
	if err != nil || len(tasks) == 0 {
		return ports.LockedTask{}, cmp.Or(err, unknown(lock.ID))
	}
	t := tasks[0]
	switch {
	case t.Terminal:
		return t, fault.TaskTerminal.With("task %s has no attempts left; an operator gives it new ones", lock.ID)
	case t.Worker == "" && !t.Open:
		return t, fault.TaskLockLost.With("task %s is not locked; fetch it first", lock.ID)
	case t.Open && t.Worker == "":
		return t, nil
	case lock.Worker != "" && lock.Worker != t.Worker:
		return t, fault.TaskLockLost.With("task %s is locked by another worker", lock.ID)
	case lock.Epoch != 0 && lock.Epoch != t.Epoch:
		return t, fault.TaskLockLost.With("the lock of task %s was taken anew; this token is of an older one", lock.ID)
	case lock.Worker == "" && lock.Epoch == 0 && !t.Open:
		return t, fault.RequestInvalid.With("say who holds the lock: workerId, or lockToken")
	}
	return t, nil
}

// worker is who has to hold the lock at the commit: the worker that the task was found with.
func worker(lock ports.TaskLock, task ports.LockedTask) string {
	if lock.Worker != "" {
		return lock.Worker
	}
	return task.Worker
}

func refused(a ports.Answer, id ports.TaskID) error {
	switch a.Outcome {
	case ports.Done:
		return nil
	case ports.LockLost:
		return fault.TaskLockLost.With("the lock of task %s is another worker's by now", id)
	case ports.Gone:
		return unknown(id)
	}
	return a.Err
}

func unknown(id ports.TaskID) error {
	return fault.TaskUnknown.With("there is no task %s; it was completed, or its activity was interrupted", id)
}

// object reads variables: a JSON object, or nothing.
func object(variables []byte) (feel.Value, error) {
	if len(variables) == 0 || string(variables) == "null" {
		return feel.Context{}, nil
	}
	v, err := feel.FromJSON(variables)
	if err != nil {
		return nil, fault.BodyUndecodable.With("variables are no JSON that can be taken: %w", err)
	}
	if _, ok := v.(feel.Context); !ok {
		return nil, fault.BodyUndecodable.With("variables are a JSON object")
	}
	return v, nil
}
