package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
)

// Explain says how an instance stands: what it waits for, who holds it, what was refused, what comes next.
func (o Operator) Explain(ctx context.Context, tenants []string, id ports.InstanceID) (ports.Explained, error) {
	ref, err := o.locate(ctx, tenants, id)
	if err != nil {
		return ports.Explained{}, err
	}
	rows, err := o.Instances.Load(ctx, []ports.Ref{ref})
	if err != nil {
		return ports.Explained{}, err
	}
	if len(rows) == 0 {
		return ports.Explained{}, unknown(id)
	}
	out := ports.Explained{Instance: rows[0]}
	if out.Status.Ended() {
		out.Next = []string{"nothing: it has ended"}
		return out, nil
	}
	if out.Waits, err = o.Views.Waits(ctx, ref); err != nil {
		return out, err
	}
	if out.Pending, err = o.Arrivals.Of(ctx, []ports.Ref{ref}); err != nil {
		return out, err
	}
	snapshot, err := token.Decode(out.Snapshot)
	if err != nil {
		out.Next = append(next(out, &token.Snapshot{}, o.Clock.Now()), "its snapshot cannot be read: "+err.Error())
		return out, nil
	}
	for _, a := range snapshot.Aliases {
		out.Aliases = append(out.Aliases, a.Name+"="+a.Value)
	}
	if out.Tasks, err = o.parked(ctx, ref, snapshot); err != nil {
		return out, err
	}
	out.Next = next(out, snapshot, o.Clock.Now())
	return out, nil
}

// parked are the tasks that an instance waits for.
func (o Operator) parked(ctx context.Context, ref ports.Ref, s *token.Snapshot) ([]ports.LockedTask, error) {
	var ask []ports.TaskLock
	for _, w := range s.Waits {
		if w.Kind == ports.WaitTask {
			ask = append(ask, ports.TaskLock{Tenant: ref.Tenant, ID: w.Task})
		}
	}
	if len(ask) == 0 || s.Failure != nil {
		return nil, nil
	}
	return o.Tasks.Read(ctx, ask)
}

// next puts into words what drives the instance next.
func next(e ports.Explained, s *token.Snapshot, now time.Time) []string {
	var out []string
	if e.Owner != "" {
		out = append(out, fmt.Sprintf("the step under way: %s has held it for %s", e.Owner, now.Sub(e.ClaimedAt).Round(time.Millisecond)))
	}
	for _, m := range e.Pending {
		out = append(out, pending(m))
	}
	if e.Status == ports.Failed {
		return append(out, "an operator: resume it, after what made it fail is put right, or cancel it")
	}
	tasks := map[ports.WaitID]ports.LockedTask{}
	for _, t := range e.Tasks {
		tasks[t.Wait] = t
	}
	children := map[ports.WaitID]ports.InstanceID{}
	for _, w := range s.Waits {
		children[ports.WaitID(w.ID)] = w.Child
	}
	for _, w := range e.Waits {
		line := fmt.Sprintf("%s at %s", w.Kind, w.Node)
		switch task, parked := tasks[w.Wait.ID]; {
		case !w.Due.IsZero():
			line += ", due " + instant(w.Due)
			if w.Attempt.After(w.Due) {
				line += ", put off until " + instant(w.Attempt)
			}
			line += refused(w.Refused)
		case parked:
			line += ": " + atWork(task, now)
		case !children[w.Wait.ID].IsZero():
			line += ": the end of instance " + children[w.Wait.ID].String()
		}
		out = append(out, line)
	}
	return out
}

func pending(m ports.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "a %s message that came at %s", m.Kind, instant(m.Accepted))
	if m.Attempts > 0 {
		fmt.Fprintf(&b, ", taken up %d times and not applied", m.Attempts)
	}
	b.WriteString(refused(m.Refused))
	if !m.NextAttempt.IsZero() {
		fmt.Fprintf(&b, ", next at %s", instant(m.NextAttempt))
	}
	return b.String()
}

// refused says why something was not applied when it was last tried.
func refused(r ports.Refusal) string {
	if r.At.IsZero() {
		return ""
	}
	return ", refused last at " + instant(r.At) + " with " + r.Code
}

// atWork says who has a task, and how it went so far.
func atWork(t ports.LockedTask, now time.Time) string {
	var line string
	switch {
	case t.Terminal:
		line = "an operator, its attempts are used up: sutra tasks retry " + t.Task.ID.String()
	case t.Worker != "" && t.LockUntil.After(now):
		line = fmt.Sprintf("worker %s has it until %s, %d attempts left", t.Worker, instant(t.LockUntil), t.Retries)
	case t.LockUntil.After(now):
		line = fmt.Sprintf("a worker who fetches %s, from %s on, %d attempts left", t.Topic, instant(t.LockUntil), t.Retries)
	default:
		line = fmt.Sprintf("a worker who fetches %s, %d attempts left", t.Topic, t.Retries)
	}
	if t.LastError != "" {
		line += "; it failed last with: " + t.LastError
	}
	return line
}

func instant(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }
