// Package limit keeps what a tenant starts within bounds: how many of its instances live at once, all and of one channel, and how many
// start in a second. It
// refuses before anything is written, and touches nothing that runs already.
package limit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Bound is a number for each tenant; 0: there is no bound.
type Bound struct {
	All     int            // of every tenant that has none of its own
	Tenants map[string]int // instead
}

// Of is the bound of one tenant.
func (b Bound) Of(tenant string) int {
	if own, ok := b.Tenants[tenant]; ok {
		return own
	}
	return b.All
}

// Bounds are what a fleet holds its tenants to.
type Bounds struct {
	Instances Bound // that have not ended, in the database
	Rate      Bound // starts a second, on each replica; as many may come at once
}

// How old a count of a tenant's instances may be. Where counting takes long it may be older, so that no more than a twentieth of the
// time goes into it.
const (
	usual  = time.Second
	atOnce = 100 * time.Millisecond // before a start is refused by it
	share  = 20
)

// Deps are what a gate works with.
type Deps struct {
	Bounds
	// Living counts the instances of a tenant that have not ended, of one channel or of all (""), up to most.
	Living func(ctx context.Context, tenant, channel string, most int) (int, error)
	Clock  ports.Clock
	Watch  ports.Watch
}

// Gate lets starts in. One is shared by all lanes of a replica.
type Gate struct {
	Deps
	mu      sync.Mutex
	tenants map[source]*tenant // that have a bound and started something
}

// New makes a gate.
func New(d Deps) *Gate { return &Gate{Deps: d, tenants: map[source]*tenant{}} }

// Refused says that an error is a gate's: nothing is wrong with the start, and it may come again.
func Refused(err error) bool {
	return errors.Is(err, fault.TooManyInstances) || errors.Is(err, fault.TooManyStarts)
}

// Start is what wants to be let in.
type Start struct {
	Tenant  string
	Channel string // by which it comes, or empty
	Most    int    // instances of that channel that may live at once; 0: there is no bound
}

// source is where starts come from: a tenant, or one channel of it.
type source struct{ tenant, channel string }

// bound is what one source is held to; 0: there is no bound.
type bound struct {
	source
	instances, rate int
}

func (g *Gate) bounds(s Start) []bound {
	return []bound{{source{s.Tenant, ""}, g.Instances.Of(s.Tenant), g.Rate.Of(s.Tenant)}, {source{s.Tenant, s.Channel}, s.Most, 0}}
}

// Place is one start that was let in.
type Place struct{ in []*tenant }

// Settle says what came of the start: whether it was one, and whether its instance lives on. It is called exactly once.
func (p *Place) Settle(started, lives bool) {
	if p == nil {
		return
	}
	for _, t := range p.in {
		t.settle(started, lives)
	}
}

func (t *tenant) settle(started, lives bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if !started {
		t.bucket++ // the next fill cuts it to its size
	}
	if started && lives {
		t.kept++
	}
}

// Admit lets one start in, or answers TooManyStarts or TooManyInstances. It may count, so nobody calls it who holds up others.
//
// The instances are counted now and then, and what this replica started since is added. What the other replicas started since then
// is not known here: that is by how much the bound may be exceeded.
func (g *Gate) Admit(ctx context.Context, s Start) (*Place, error) {
	place := &Place{}
	for _, b := range g.bounds(s) {
		if err := g.enter(ctx, place, b); err != nil {
			place.Settle(false, false)
			return nil, err
		}
	}
	return place, nil
}

func (g *Gate) enter(ctx context.Context, place *Place, b bound) error {
	if b.instances == 0 && b.rate == 0 {
		return nil
	}
	t := g.tenant(b.source)
	if !t.draw(g.Clock.Now(), b.rate) {
		g.Watch.Count("sutra_starts_refused_total", 1, "tenant", b.tenant, "limit", "rate")
		return fault.TooManyStarts.With("tenant %s starts more than %d instances a second here; send it again", b.tenant, b.rate)
	}
	place.in = append(place.in, t)
	if b.instances == 0 {
		return nil
	}
	if err := g.look(ctx, b, t); err != nil || !t.full(b.instances) {
		return err
	}
	if b.channel != "" {
		g.Watch.Count("sutra_starts_refused_total", 1, "tenant", b.tenant, "limit", "channel")
		return fault.TooManyInstances.With("channel %s has %d instances that have not ended, which is all it may have; send it again when some have", b.channel, b.instances)
	}
	g.Watch.Count("sutra_starts_refused_total", 1, "tenant", b.tenant, "limit", "instances")
	return fault.TooManyInstances.With("tenant %s has %d instances that have not ended, which is all it may have; send it again when some have", b.tenant, b.instances)
}

func (g *Gate) tenant(name source) *tenant {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[name]
	if t == nil {
		t = &tenant{looking: make(chan struct{}, 1)}
		g.tenants[name] = t
	}
	return t
}

// look counts the instances again, where the last count is too old. One looks; others wait for the first count alone.
func (g *Gate) look(ctx context.Context, b bound, t *tenant) error {
	if !t.old(g.Clock.Now(), b.instances) {
		return nil
	}
	if took, err := t.turn(ctx); !took {
		return err
	}
	defer func() { <-t.looking }()
	began := g.Clock.Now()
	if !t.old(began, b.instances) {
		return nil
	}
	before := t.keptSoFar()
	n, err := g.Living(ctx, b.tenant, b.channel, b.instances)
	if err != nil {
		return err
	}
	t.note(n, before, began, g.Clock.Now())
	return nil
}

// tenant is what a replica knows of one, or of one channel of it.
type tenant struct {
	looking chan struct{} // has room while nobody counts its instances

	mu     sync.Mutex
	bucket float64 // starts that may come now
	filled time.Time
	living int // at the last count
	at     time.Time
	took   time.Duration
	open   int // starts let in of which nothing is known yet
	kept   int // instances started here since the last count
}

// draw takes a start from the bucket, which fills by rate in a second and holds as much, and opens a place.
func (t *tenant) draw(now time.Time, rate int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rate > 0 {
		if full := float64(rate); t.filled.IsZero() {
			t.bucket = full
		} else {
			t.bucket = min(full, t.bucket+max(0, now.Sub(t.filled).Seconds())*full)
		}
		t.filled = now
		if t.bucket < 1 {
			return false
		}
	}
	t.bucket--
	t.open++
	return true
}

// full says that there is no room for the place that was opened last.
func (t *tenant) full(most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known() > most
}

func (t *tenant) known() int { return t.living + t.kept + t.open }

// turn takes the right to count, waiting for it where nothing was counted yet.
func (t *tenant) turn(ctx context.Context) (took bool, err error) {
	select {
	case t.looking <- struct{}{}:
		return true, nil
	default:
	}
	if t.counted() {
		return false, nil
	}
	select {
	case t.looking <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (t *tenant) counted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.at.IsZero()
}

func (t *tenant) old(now time.Time, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	bound := usual
	if t.known() > most {
		bound = atOnce
	}
	return t.at.IsZero() || now.Sub(t.at) >= max(bound, share*t.took)
}

func (t *tenant) keptSoFar() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// note keeps a count. What was kept before it began is in it; what is open, or was kept meanwhile, may not be.
func (t *tenant) note(n, before int, began, ended time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.living, t.kept, t.at, t.took = n, t.kept-before, began, ended.Sub(began)
}
