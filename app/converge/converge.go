// Package converge keeps what a replica serves equal to what the database says. One loop reads the version, then the set, and applies
// it whole; being told of a change only makes it look earlier. It changes nothing in the database but its own replica row.
package converge

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	known   atomic.Pointer[deploy.Revision] // compiled before it is deployed
	begun   atomic.Int64                    // looks
	read    atomic.Int64                    // the last look that succeeded

	turn     chan struct{} // full while somebody looks
	compiled map[ports.DeploymentID]*deploy.Revision
}

// New makes a loop that serves nothing yet.
func New(d Deps) *Loop {
	l := &Loop{Deps: d, turn: make(chan struct{}, 1), compiled: map[ports.DeploymentID]*deploy.Revision{}}
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

// Ask answers a set that was read after the call began. Calls that wait for each other share one look that succeeds.
func (l *Loop) Ask(ctx context.Context) (*Set, error) { return l.look(ctx, false) }

// look reads the set when its version is another. mend reads it also when a revision did not load the last time: that is the loop's
// alone, so that nobody at a door can make a replica compile.
func (l *Loop) look(ctx context.Context, mend bool) (*Set, error) {
	before := l.begun.Load()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.read.Load() > before {
		return l.Current(), nil
	}
	mine := l.begun.Add(1)
	version, err := l.Changes.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the version: %w", err)
	}
	if now := l.Current(); version != now.Version || len(now.Broken) > 0 && mend {
		if err := l.refresh(ctx); err != nil {
			return nil, err
		}
	}
	l.read.Store(mine)
	return l.Current(), nil
}

// refresh loads the set and applies it whole. A revision that does not compile is left out and named; the others serve. One that cannot
// be read now is trouble that passes: the set in hand stays.
func (l *Loop) refresh(ctx context.Context) error {
	version, rows, err := l.Deployments.Served(ctx)
	if err != nil {
		return fmt.Errorf("read what is served: %w", err)
	}
	compiled, broken := map[ports.DeploymentID]*deploy.Revision{}, map[ports.DeploymentID]error{}
	var all []*Served
	for _, row := range rows {
		data, err := l.archive(ctx, row.ID)
		if err != nil {
			return fmt.Errorf("read the archive of %s: %w", row.Slot, err)
		}
		rev, err := l.load(row.ID, data)
		if err != nil {
			broken[row.ID] = err
			l.Log.ErrorContext(ctx, "cannot load a revision; no work of it is taken here", "deployment", row.ID, "slot", row.Slot, "error", err)
			continue
		}
		compiled[row.ID], l.compiled[row.ID] = rev, rev // the latter also when the next cannot be read
		all = append(all, &Served{rev, row})
	}
	l.compiled = compiled
	l.current.Store(newSet(version, all, broken))
	l.Applied()
	l.Log.InfoContext(ctx, "converged", "version", int64(version), "revisions", len(all), "broken", len(broken))
	return nil
}

// archive reads a revision's bytes; nothing where it is compiled.
func (l *Loop) archive(ctx context.Context, id ports.DeploymentID) ([]byte, error) {
	if l.have(id) != nil {
		return nil, nil
	}
	return l.Deployments.Archive(ctx, id)
}

func (l *Loop) have(id ports.DeploymentID) *deploy.Revision {
	if known := l.known.Load(); known != nil && known.ID == id {
		return known
	}
	return l.compiled[id]
}

func (l *Loop) load(id ports.DeploymentID, data []byte) (*deploy.Revision, error) {
	if rev := l.have(id); rev != nil {
		return rev, nil
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

// Known gives a compiled revision to the loop before it is deployed, so that it is not compiled twice. The last one is kept.
func (l *Loop) Known(rev *deploy.Revision) { l.known.Store(rev) }
