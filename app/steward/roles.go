// Package steward does what one replica does for the fleet: roles that are leased, and the sweeps under them. What a leader does is
// guarded row by row all the same: two leaders for a moment do no harm.
package steward

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/lease"
	"github.com/sutra-engine/sutra/ports"
)

// Roles are the leases that this replica asks for. The zero value is not usable; see NewRoles.
type Roles struct {
	Leases ports.Leases
	Now    func() time.Time // the machine's clock, with its monotonic reading
	Log    *slog.Logger
	Watch  ports.Watch
	Holder string
	TTL    time.Duration
	Poll   time.Duration
	Always bool        // no other process can share the database: always leading
	Fit    func() bool // whether this replica can do all that a leader has to

	mu    sync.Mutex
	asked map[string]bool
	held  map[string]holding
	bell  loop.Bell // made by the first Ask or Run

	yields time.Time // until when one that is not fit leaves its roles to others; zero: it is fit
}

type holding struct {
	term  ports.Term
	trust lease.Trust
}

// Ask makes the replica a candidate for a role, from now on.
func (r *Roles) Ask(role string) { r.want(role, true) }

// Drop ends what Ask began: the replica leads no more in the role, and gives it back soon.
func (r *Roles) Drop(role string) { r.want(role, false) }

func (r *Roles) want(role string, asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prepare()
	r.asked[role] = asked
	r.bell.Ring()
}

func (r *Roles) prepare() {
	if r.asked == nil {
		r.asked, r.held, r.bell = map[string]bool{}, map[string]holding{}, loop.NewBell()
	}
}

// Leads says whether this replica may act in a role now, and in which term; always leading, it has none. It asks no database.
func (r *Roles) Leads(role string) (ports.Term, bool) {
	if r.Always {
		return ports.Term{}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.held[role]
	now := r.Now()
	if !ok || !r.asked[role] || !h.trust.Holds(now) {
		return h.term, false
	}
	r.Log.Debug("acts in a role", "role", role, "term", h.term.Number, "at", now)
	return h.term, true
}

// Run takes and renews leases until ctx ends, and gives them back then.
func (r *Roles) Run(ctx context.Context) {
	if r.Always {
		<-ctx.Done()
		return
	}
	r.mu.Lock()
	r.prepare()
	r.mu.Unlock()
	for {
		r.round(ctx)
		if !r.bell.Wait(ctx, r.Poll) {
			terms := r.let(func(string) bool { return true })
			r.Log.DebugContext(ctx, "trusts no role any more", "at", r.Now())
			r.giveBack(ctx, terms)
			return
		}
	}
}

// round asks for every role at once: one that is slow to answer must not cost the others their trust.
func (r *Roles) round(ctx context.Context) {
	if r.yield(ctx) {
		return
	}
	r.mu.Lock()
	var asked sync.WaitGroup
	dropped := map[string]bool{}
	for role, wanted := range r.asked {
		if !wanted {
			dropped[role] = true
			delete(r.asked, role)
			continue
		}
		asked.Go(func() { r.hold(ctx, role) })
	}
	r.mu.Unlock()
	r.giveBack(ctx, r.let(func(role string) bool { return dropped[role] }))
	asked.Wait()
}

// yield gives every role back when this replica is not fit any more, and says whether it still leaves them to others. Where nobody else
// takes them it leads again: better in part than not at all.
func (r *Roles) yield(ctx context.Context) bool {
	switch now := r.Now(); {
	case r.Fit():
		r.yields = time.Time{}
		return false
	case r.yields.IsZero():
		r.yields = now.Add(2 * r.Poll)
		r.giveBack(ctx, r.let(func(string) bool { return true }))
		return true
	default:
		return now.Before(r.yields)
	}
}

// hold makes one attempt. Trust is counted from before it; when it fails, the old trust runs out by itself and is not extended.
func (r *Roles) hold(ctx context.Context, role string) {
	asked := r.Now()
	ctx, cancel := context.WithTimeout(ctx, r.Poll)
	defer cancel()
	term, outcome, err := r.Leases.Hold(ctx, role, r.Holder, r.TTL, lease.Margin(r.TTL)/2)
	r.mu.Lock()
	defer r.mu.Unlock()
	was, had := r.held[role]
	switch {
	case err != nil:
		r.Log.WarnContext(ctx, "cannot ask for a role; the trust in hand is not extended", "role", role, "error", err)
		r.Watch.Count("sutra_lease_attempts_total", 1, "role", role, "outcome", "error")
		return
	case outcome != ports.Done:
		if had {
			r.Log.WarnContext(ctx, "lost a role", "role", role, "to", term.Holder, "term", term.Number)
		}
		delete(r.held, role)
		r.Watch.Count("sutra_lease_attempts_total", 1, "role", role, "outcome", string(outcome))
		return
	}
	if !had || was.term.Number != term.Number {
		r.Log.InfoContext(ctx, "leading", "role", role, "term", term.Number)
	}
	h := holding{term, lease.Since(asked, r.TTL, term.Number)}
	r.held[role] = h
	r.Log.DebugContext(ctx, "trusts a role", "role", role, "term", term.Number, "from", r.Now(), "until", h.trust.Until())
	r.Watch.Count("sutra_lease_attempts_total", 1, "role", role, "outcome", "leading")
}

// let ends the trust in some roles, and answers the terms that are to be given back.
func (r *Roles) let(over func(role string) bool) []ports.Term {
	r.mu.Lock()
	defer r.mu.Unlock()
	var terms []ports.Term
	for role, h := range r.held {
		if over(role) {
			terms = append(terms, h.term)
			delete(r.held, role)
		}
	}
	return terms
}

func (r *Roles) giveBack(ctx context.Context, terms []ports.Term) {
	if len(terms) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.Leases.GiveBack(ctx, terms); err != nil {
		r.Log.WarnContext(ctx, "cannot give leases back; they expire", "error", err)
	}
}
