// Package claim is the only way into an instance: what is claimed here is given back on every exit. It never waits for another owner.
package claim

import (
	"context"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// undo bounds the giving back, which runs whether or not the caller's context has ended.
const undo = 10 * time.Second

// Guard claims and gives back.
type Guard struct {
	Claims ports.Claims
	Clock  ports.Clock
	Silent time.Duration // age at which a claim counts as abandoned
}

// Held is one claim while the work runs.
type Held struct {
	ports.Claimed
	claim ports.Claim
	given bool
}

// Claim is the right that a step names.
func (h *Held) Claim() ports.Claim { return h.claim }

// Given says that the claim went with a commit, or was lost: there is nothing to give back.
func (h *Held) Given() { h.given = true }

// With claims refs for owner and runs work with one answer a ref, in order. Those that were claimed and are not given by the time
// work returns, or panics, are released. The error is trouble with the claim as a whole: nothing was claimed then, or nobody knows,
// and the sweep will free it.
func (g Guard) With(ctx context.Context, owner ports.Owner, refs []ports.Ref, work func(held []*Held)) error {
	if len(refs) == 0 {
		return nil
	}
	claimed, err := g.Claims.Claim(ctx, owner, refs, g.Clock.Now().Add(-g.Silent))
	held := make([]*Held, len(claimed))
	for i, c := range claimed {
		held[i] = &Held{
			Claimed: c,
			claim:   ports.Claim{Ref: c.Ref, Owner: owner, Epoch: c.Epoch},
			given:   c.Outcome != ports.Done,
		}
	}
	defer g.giveBack(ctx, held)
	if err == nil {
		work(held)
	}
	return err
}

// giveBack releases what is left. Its error is dropped on purpose: the sweep frees what could not be given back, and the epoch keeps
// it harmless until then.
func (g Guard) giveBack(ctx context.Context, held []*Held) {
	var left []ports.Claim
	for _, h := range held {
		if !h.given {
			left = append(left, h.claim)
		}
	}
	if len(left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undo)
	defer cancel()
	_ = g.Claims.Release(ctx, left)
}
