package step

import (
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Correct writes variables of the process by the will of an operator. A FAILED instance stays as it is, with other variables, until it
// is resumed; in any other, what waits for the new values happens. A correction that would make the instance fail is refused.
func Correct(p *Program, c Claimed, variables feel.Context) Result {
	before, err := token.Decode(c.Row.Snapshot)
	if err != nil {
		return Result{Err: err}
	}
	if len(before.Scopes) == 0 {
		return Result{Err: fault.EventInvalid.With("the instance has not begun, so it has no variables; resume it, or start another")}
	}
	if before.Failure == nil {
		return resume(p, c, []Event{{Kind: KindSetVariables, At: c.At, Payload: variables}})
	}
	s, err := load(p.Process, before)
	if err != nil {
		return Result{Err: err}
	}
	r := newRun(p, s, c)
	r.setVariables(&Event{Kind: KindSetVariables, Payload: variables})
	if r.conditional > 0 { // they are asked when it goes on
		r.deliver(ports.KindWake, r.ref.ID, 0, Event{})
	}
	out := outcome{p: p, from: p, before: before, run: r}
	if r.failure != nil || !out.seal() {
		return Result{Failure: r.failure.fault}
	}
	out.Result.Commit = &ports.Step{
		Claim: c.Claim, ID: c.Step, Seq: out.after.Step, Deployment: p.Deployment, Module: p.Module, Process: p.Process.ID, Status: out.after.Status,
		Snapshot: out.data, Fault: out.stored, Drop: out.drop, Rows: out.rows(),
	}
	return out.Result
}

// Retries are the events that make paused calls due now: all, or the one of this wait. None: no call pauses.
func Retries(c Claimed, wait ports.WaitID) ([]Event, error) {
	s, err := token.Decode(c.Row.Snapshot)
	if err != nil {
		return nil, err
	}
	var out []Event
	for _, w := range s.Waits {
		if id := ports.WaitID(w.ID); w.Kind == ports.WaitRetry && (wait == 0 || wait == id) {
			out = append(out, Event{Kind: KindRetryDue, At: c.At, Wait: id})
		}
	}
	return out, nil
}
