package ports

import (
	"context"
	"time"
)

// Owner names who holds a claim: <replica>/<lane>, or <replica>/operator/<request>. <replica> is unique for each process start.
type Owner string

// Claim is the right to advance one instance. Every claim raises the epoch, so the newest attempt alone can commit.
type Claim struct {
	Ref
	Owner Owner
	Epoch int64
}

// Claimed is the answer to one claim: Done with the row, Held, or Gone (no such instance).
type Claimed struct {
	Outcome  Outcome
	Instance // Ref is always set; the rest with Done
}

// Claims takes and drops instance ownership. No method waits for another owner.
type Claims interface {
	// Claim takes each free, own or silent instance for owner, raises its epoch and answers with its row, in order of refs.
	// Silent means claimed before `silent`. Held means nothing was written. An error is trouble with the whole group.
	Claim(ctx context.Context, owner Owner, refs []Ref, silent time.Time) ([]Claimed, error)
	// Beat renews claims and keeps their epochs. ClaimLost: stop working.
	Beat(ctx context.Context, held []Claim) ([]Answer, error)
	// Release gives claims back. Releasing what is lost is no error.
	Release(ctx context.Context, held []Claim) error
	// Sweep frees claims taken before silent, each by its own compare-and-set, whoever owns them.
	Sweep(ctx context.Context, silent time.Time, limit int) ([]Ref, error)
	// Forget frees every claim and stamp of a replica that is known to be gone: on SQLite all of them at open, elsewhere its own at shutdown.
	Forget(ctx context.Context, replica string) (int, error)
}
