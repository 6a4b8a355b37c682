package step

import (
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// apply lets an event happen. False: its wait is gone, and nothing has changed.
func (r *run) apply(ev *Event) bool {
	switch ev.Kind {
	case KindStart, KindChildStart:
		if r.root != nil {
			return false
		}
		r.consumes(ev, nil)
		r.start(ev)
		return true
	case KindCancel:
		return r.cancel(ev)
	case KindSetVariables:
		return r.setVariables(ev)
	case KindWake:
		return r.wake(ev)
	}
	w := r.target(ev)
	if w == nil {
		return false
	}
	r.consumes(ev, w)
	r.happen(w, ev)
	return true
}

// target finds the wait that an event means; nil: it is gone.
func (r *run) target(ev *Event) *wait {
	switch ev.Kind {
	case KindMessage:
		return r.messageWait(ev)
	case KindSignal:
		if ev.From.Instance == r.ref.ID {
			return nil // served in the step that threw it
		}
		return r.waitByID(ev.Wait, ports.WaitSignal)
	case KindTimer:
		return r.waitByID(ev.Wait, ports.WaitTimer)
	case KindRetryDue:
		return r.waitByID(ev.Wait, ports.WaitRetry)
	case KindTaskDone, KindTaskError:
		return r.waitByID(ev.Wait, ports.WaitTask)
	case KindCallReply, KindCallFailed:
		w := r.waitByID(ev.Wait, ports.WaitCall)
		if w == nil || !w.Child.IsZero() || ev.Attempt != 0 && int64(ev.Attempt) != w.Attempt {
			return nil
		}
		return w
	case KindChildDone, KindChildError, KindChildEscalation:
		w := r.waitByID(ev.Wait, ports.WaitCall)
		if w == nil || w.Child.IsZero() || !ev.From.Instance.IsZero() && ev.From.Instance != w.Child {
			return nil
		}
		return w
	}
	return nil
}

// happen lets an event reach its wait.
func (r *run) happen(w *wait, ev *Event) {
	switch ev.Kind {
	case KindTaskDone:
		r.taskDone(w, ev)
	case KindTaskError, KindChildError:
		r.unwait(w)
		r.raise(w.token, ev)
	case KindCallReply:
		r.taskDone(w, ev)
	case KindCallFailed:
		if ev.Code == "" {
			ev.Code = string(fault.CallRejected)
		}
		r.callFailed(w.token, ev)
	case KindRetryDue:
		r.unwait(w)
		r.callChannel(w.token)
	case KindChildDone:
		r.childDone(w, ev)
	case KindChildEscalation:
		r.childEscalated(w, ev)
	case KindTimer:
		if t := attemptOf(w); t != nil {
			r.callFailed(t, &Event{Code: string(fault.CallTimeout), Message: "no answer came in time"})
			return
		}
		r.fire(w, nil)
	default:
		r.fire(w, ev)
	}
}

// consumes takes the message that carries an event, and what it proves.
func (r *run) consumes(ev *Event, w *wait) {
	entry := journalEvent{Kind: ev.Kind, Node: ev.Node, Code: ev.Code}
	if w != nil {
		entry.Wait, entry.Node = w.ID, w.Node
	}
	r.journal.Events = append(r.journal.Events, entry)
	if ev.Consumed != nil {
		r.effects.consumed = append(r.effects.consumed, *ev.Consumed)
	}
	if ev.Task != nil {
		r.effects.task = ev.Task
	}
	if ev.Kind == KindStart || ev.Kind == KindMessage {
		r.asked(ev)
	}
}

// cancel ends the instance by the will of an operator, or of its parent, without compensation.
func (r *run) cancel(ev *Event) bool {
	r.consumes(ev, nil)
	r.head.Failure = nil
	r.end(ports.Cancelled)
	return true
}

// setVariables writes variables of the process, by the will of an operator.
func (r *run) setVariables(ev *Event) bool {
	if r.root == nil {
		return false
	}
	r.consumes(ev, nil)
	r.merge(ev.Payload, "payload", func(name string, v feel.Value) { r.declare(r.root, name, v) })
	return true
}

// wake has all conditions evaluated, as if they had been armed just now, and gateways that join asked.
func (r *run) wake(ev *Event) bool {
	if r.root == nil {
		return false
	}
	r.consumes(ev, nil)
	for _, w := range r.waits {
		if !w.dead && w.Kind == token.Condition {
			r.fresh = append(r.fresh, w)
		}
	}
	return true
}
