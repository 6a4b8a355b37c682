package step

import (
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// restore is the inverse of failing: the same snapshot without its failure, its tasks under new ids so that stale workers find none,
// its rows again, and the kept event as a delivery to itself.
func restore(p *Program, c Claimed, event KeptEvent) Result {
	before, err := token.Decode(c.Row.Snapshot)
	if err != nil {
		return Result{Err: err}
	}
	if before.Failure == nil {
		return Result{Err: fault.EventInvalid.With("the instance is %s, not failed; there is nothing to restore", before.Status)}
	}
	s, err := load(p.Process, before)
	if err != nil {
		return Result{Err: err}
	}
	r := newRun(p, s, c)
	r.revive(event)
	if !r.waiting() && len(r.effects.deliveries) == 0 {
		return Result{Err: fault.ResumeStuck.With("it failed as it started: without that event nothing could ever drive it; resume it with the event, or cancel it")}
	}
	out := outcome{p: p, from: p, before: before, run: r}
	if !out.seal() {
		return Result{Err: r.failure.fault}
	}
	out.Result.Commit = &ports.Step{
		Claim: c.Claim, ID: c.Step, Seq: out.after.Step, Deployment: p.Deployment, Module: p.Module, Process: p.Process.ID, Status: out.after.Status,
		Snapshot: out.data, Leases: c.Leases, Drop: out.drop, Rows: out.rows(),
	}
	return out.Result
}

// revive makes a FAILED instance one that waits again.
func (r *run) revive(event KeptEvent) {
	kept := r.head.Failure.Event
	r.head.Failure, r.head.Status = nil, ports.Suspended
	for _, w := range r.waits {
		if w.Kind == ports.WaitTask {
			w.Task = r.derive()
		}
	}
	r.note("restored", nil, 0)
	if event == ReplayEvent && kept != nil {
		m := r.delivery(ports.KindReplay, r.ref.ID, 0, Event{})
		m.Payload = kept
		r.effects.deliveries = append(r.effects.deliveries, m)
	}
}
