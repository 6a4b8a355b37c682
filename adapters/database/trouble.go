package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports/fault"
)

// trouble is what went wrong with one transaction. Unless it is uncertain, nothing of it was applied.
type trouble struct {
	class     dialects.Class
	uncertain bool   // the connection died, or the context ended, at or after COMMIT
	at        string // the statement
	err       error
}

func (t *trouble) Error() string {
	if t.uncertain {
		return fmt.Sprintf("the transaction may have committed: %v", t.err)
	}
	return fmt.Sprintf("%s: %v", t.at, t.err)
}

func (t *trouble) Unwrap() error { return t.err }

// missed says that a statement hit another number of rows than it had to.
func missed(name string, got, want int) error {
	return &trouble{class: dialects.Missed, at: name, err: fmt.Errorf("%d rows hit, want %d", got, want)}
}

// troubled wraps a driver's error.
func (b book) troubled(at string, err error) error {
	if _, is := errors.AsType[*trouble](err); is || err == nil {
		return err
	}
	class := b.dialect.Classify(err)
	if _, network := errors.AsType[net.Error](err); class == dialects.Other &&
		(network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)) {
		class = dialects.Lost
	}
	// A transaction whose own time is over has been rolled back beneath who still writes in it.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrTxDone) {
		class = dialects.Timeout
	}
	return &trouble{class: class, at: at, err: err}
}

// uncertain marks an error that came out of COMMIT without an answer of the server. A transaction that ended before COMMIT was sent has
// been rolled back.
func (b book) uncertain(err error) error {
	err = b.troubled("commit", err)
	if t, ok := errors.AsType[*trouble](err); ok && !errors.Is(err, sql.ErrTxDone) {
		t.uncertain = t.class == dialects.Other || t.class == dialects.Lost || t.class == dialects.Timeout
	}
	return err
}

// classOf answers what kind of trouble err is, and whether it may have been applied.
func classOf(err error) (class dialects.Class, uncertain bool) {
	if t, ok := errors.AsType[*trouble](err); ok {
		return t.class, t.uncertain
	}
	return dialects.Other, false
}

// again says that the same transaction may be sent once more: nothing of it was applied, and the reason passes.
func again(err error) bool {
	class, uncertain := classOf(err)
	return !uncertain && (class == dialects.Conflict || class == dialects.Lost)
}

// coded gives trouble its code at the port.
func coded(err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*fault.Fault](err); is {
		return err
	}
	class, uncertain := classOf(err)
	switch {
	case uncertain:
		return fault.StoreUncertain.With("the database did not say whether it committed: %w", err)
	case class == dialects.Conflict, class == dialects.Lost, class == dialects.Timeout:
		return fault.StoreUnavailable.With("the database did not answer; nothing was applied: %w", err)
	case class == dialects.Denied:
		return fault.StoreDenied.With("the database denies this role access; correct user, password and database in sutra.datasource.url, or grant what is missing: %w", err)
	case class == dialects.ReadOnly:
		return fault.StoreReadOnly.With("the database takes no writes now: %w", err)
	case class == dialects.TooLong:
		return fault.StoreTooLarge.With("a value is larger than the database takes: %w", err)
	default:
		return fault.StoreRefused.With("the database refused what was asked of it: %w", err)
	}
}
