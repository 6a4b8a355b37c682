package ports

import (
	"context"
	"time"
)

// Stamped is an emission taken for sending. The stamp names who may settle it.
type Stamped struct {
	Emission
	Attempts int // made before this one
	By       string
	At       time.Time
	Created  time.Time
}

// Verdict is what became of a send.
type Verdict string

// The verdicts.
const (
	Sent      Verdict = "sent"      // delivered: the row goes
	Later     Verdict = "later"     // again at Next, one attempt more
	Postponed Verdict = "postponed" // not begun: again at Next, no attempt counted
	Poisoned  Verdict = "poisoned"  // kept, visible, re-drivable, not sent again by itself
)

// Settled is one send's end. A call's answer, or its final failure, is written as a delivery in the same transaction.
type Settled struct {
	Tenant   string
	ID       EmissionID
	By       string
	At       time.Time
	Verdict  Verdict
	Next     time.Time // Later, Postponed
	Error    string    // Later, Poisoned
	Delivery *Message
}

// Outbox hands out emissions and settles them.
type Outbox interface {
	// Take stamps up to limit due emissions for by, skipping what others hold; stamps older than stale are taken over.
	Take(ctx context.Context, by string, stale time.Time, limit int) ([]Stamped, error)
	// Settle ends sends, each if its stamp still stands. Done, or Gone: another settled it.
	Settle(ctx context.Context, group []Settled) ([]Answer, error)
	// Free takes the stamp off rows that are stamped by `by`, without counting an attempt: shutdown.
	Free(ctx context.Context, by string) (int, error)
	// Redrive makes a poisoned emission due again, and notes the action. Done, Gone; Stale: its revision's archive is dropped.
	Redrive(ctx context.Context, tenant string, id EmissionID, by Audit) (Answer, error)
}

// Sender delivers over one transport. Errors carry a fault.Disposition: Redeliver (again later) or Reject (never as it is).
type Sender interface {
	// Send delivers e once and answers with what came back, if the transport has answers.
	Send(ctx context.Context, e Emission) (Response, error)
}

// Response is a transport's answer to a send.
type Response struct {
	Status      int // HTTP status, or 0
	ContentType string
	Headers     []Header
	Body        []byte
}
