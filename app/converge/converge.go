// Package converge keeps what a replica serves equal to what the database says. One loop reads the version, then the set, and applies
// it whole; being told of a change only makes it look earlier. It changes nothing in the database but its own replica row.
package converge

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sutra-engine/sutra/app/loop"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/ports"
)

// Deps are what a loop works with.
type Deps struct {
	Deployments ports.Deployments
	Changes     ports.Changes
	Clock       ports.Clock
	Log         *slog.Logger
	Archives    archive.Limits
	Limits      deploy.Limits
	Poll        time.Duration
	Replica     ports.Replica
	// Applied hears that another set is served, and does not block.
	Applied func()
}

// Loop is one replica's convergence.
type Loop struct {
	Deps
	current atomic.Pointer[Set]
	rounds  atomic.Int64 // refreshes begun

	mu       sync.Mutex // one refresh at a time
	compiled map[ports.DeploymentID]*deploy.Revision
}

// New makes a loop that serves nothing yet.
func New(d Deps) *Loop {
	l := &Loop{Deps: d, compiled: map[ports.DeploymentID]*deploy.Revision{}}
	l.current.Store(newSet(-1, nil, nil))
	return l
}

// Current is what is served now.
func (l *Loop) Current() *Set { return l.current.Load() }

// Run converges until ctx ends. The caller has asked once before, so that a replica which is up serves what there is.
func (l *Loop) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.Note(ctx); err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "cannot note that this replica lives", "error", err)
		}
		if err := l.Changes.Nap(ctx, l.Poll); err != nil {
			l.Log.WarnContext(ctx, "cannot listen for changes; polling goes on", "error", err)
			_ = loop.Pause(ctx, l.Poll) // the loop asks ctx
		}
		if _, err := l.look(ctx, true); err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "cannot read what is served; the set in hand stays", "error", err)
		}
	}
}

// Note says in the database that this replica lives, and what it serves.
func (l *Loop) Note(ctx context.Context) error {
	r, set := l.Replica, l.Current()
	r.LastSeen, r.Served, r.Broken = l.Clock.Now(), set.Version, slices.Sorted(maps.Keys(set.Broken))
	return l.Deployments.Note(ctx, r)
}

// Ask answers a set that was read after the call began. Calls that wait for each other share one look.
func (l *Loop) Ask(ctx context.Context) (*Set, error) { return l.look(ctx, false) }

// look reads the set when its version is another. mend reads it also when a revision did not load the last time: that is the loop's
// alone, so that nobody at a door can make a replica compile.
func (l *Loop) look(ctx context.Context, mend bool) (*Set, error) {
	begun := l.rounds.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rounds.Load() > begun {
		return l.Current(), nil
	}
	l.rounds.Add(1)
	version, err := l.Changes.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version: %w", err)
	}
	if now := l.Current(); version == now.Version && (len(now.Broken) == 0 || !mend) {
		return now, nil
	}
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	return l.Current(), nil
}

// refresh loads the set and applies it whole. A revision that does not load is left out and named; the others serve.
func (l *Loop) refresh(ctx context.Context) error {
	version, rows, err := l.Deployments.Served(ctx)
	if err != nil {
		return fmt.Errorf("read what is served: %w", err)
	}
	compiled, broken := map[ports.DeploymentID]*deploy.Revision{}, map[ports.DeploymentID]error{}
	var all []*Served
	for _, row := range rows {
		rev, err := l.load(ctx, row.ID)
		if err != nil {
			broken[row.ID] = err
			l.Log.ErrorContext(ctx, "cannot load a revision; no work of it is taken here", "deployment", row.ID, "slot", row.Slot, "error", err)
			continue
		}
		compiled[row.ID] = rev
		all = append(all, &Served{rev, row})
	}
	l.compiled = compiled
	l.current.Store(newSet(version, all, broken))
	l.Applied()
	l.Log.InfoContext(ctx, "converged", "version", int64(version), "revisions", len(all), "broken", len(broken))
	return nil
}

func (l *Loop) load(ctx context.Context, id ports.DeploymentID) (*deploy.Revision, error) {
	if rev := l.compiled[id]; rev != nil {
		return rev, nil
	}
	data, err := l.Deployments.Archive(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	a, err := archive.Open(data, l.Archives)
	if err != nil {
		return nil, err
	}
	rev, findings := deploy.Compile(a, l.Limits)
	if rev == nil {
		return nil, deploy.Refusal(findings)
	}
	return rev, nil
}

// Known gives a compiled revision to the loop before it is deployed, so that it is not compiled twice.
func (l *Loop) Known(rev *deploy.Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compiled[rev.ID] = rev
}
