package ports

import (
	"context"
	"time"
)

// Term is one holding of a role. Number fences: it rises with every taking over.
type Term struct {
	Role    string
	Holder  string
	Number  int64
	Expires time.Time
}

// Leases keeps one holder a role. Rows are never deleted; a role appears when it is first asked for.
type Leases interface {
	// Hold takes or renews role for holder until now + ttl. Done with the term; Held with the term of who leads.
	// An answer whose clock was off by more than the given margin is given back and answered Stale.
	Hold(ctx context.Context, role, holder string, ttl, margin time.Duration) (Term, Outcome, error)
	// GiveBack ends terms at once. What is lost already is no error.
	GiveBack(ctx context.Context, terms []Term) error
	// List answers all roles, for views.
	List(ctx context.Context) ([]Term, error)
}
