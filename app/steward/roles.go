// Package steward does what one replica does for the fleet: roles that are leased, and the sweeps under them. What a leader does is
// guarded row by row all the same: two leaders for a moment do no harm.
package steward

import (
	"context"
	"log/slog"
	"sync"
	"time"

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
	Always bool // no other process can share the database: always leading

	mu    sync.Mutex
	asked map[string]bool
	held  map[string]holding
}

type holding struct {
	term  ports.Term
	trust lease.Trust
}

// Ask makes the replica a candidate for a role from the next round on.
func (r *Roles) Ask(role string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked, r.held = map[string]bool{}, map[string]holding{}
	}
	r.asked[role] = true
}

// Leads says whether this replica may act in a role now, and until when its trust lasts at most. It asks no database.
func (r *Roles) Leads(role string) (ports.Term, bool) {
	if r.Always {
		return ports.Term{Role: role, Holder: r.Holder, Number: 1}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.held[role]
	now := r.Now()
	if !ok || !h.trust.Holds(now) {
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
	for {
		r.round(ctx)
		t := time.NewTimer(r.Poll)
		select {
		case <-ctx.Done():
			t.Stop()
			r.giveBack(ctx)
			return
		case <-t.C:
		}
	}
}

func (r *Roles) round(ctx context.Context) {
	r.mu.Lock()
	roles := make([]string, 0, len(r.asked))
	for role := range r.asked {
		roles = append(roles, role)
	}
	r.mu.Unlock()
	for _, role := range roles {
		r.hold(ctx, role)
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
	r.Watch.Count("sutra_lease_attempts_total", 1, "role", role, "outcome", "held")
}

func (r *Roles) giveBack(ctx context.Context) {
	r.mu.Lock()
	terms := make([]ports.Term, 0, len(r.held))
	for _, h := range r.held {
		terms = append(terms, h.term)
	}
	clear(r.held)
	r.Log.DebugContext(ctx, "trusts no role any more", "at", r.Now())
	r.mu.Unlock()
	if len(terms) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.Leases.GiveBack(ctx, terms); err != nil {
		r.Log.WarnContext(ctx, "cannot give leases back; they expire", "error", err)
	}
}
