package database

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports/fault"
)

// exclusive takes the lock that proves that no other process has the database: one that the operating system gives back with the
// process, such as SQLite's own on a file beside the database. Databases that are shared need none.
func (src source) exclusive(ctx context.Context) (free func() error, err error) {
	beside := ""
	if src.dialect.Alone != nil {
		beside = src.dialect.Alone(src.url)
	}
	if beside == "" {
		return func() error { return nil }, nil
	}
	db, err := sql.Open(src.dialect.Driver, beside)
	if err != nil {
		return nil, fault.StoreUnavailable.With("open the lock of %s: %w", src.url, err)
	}
	held, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		_ = db.Close()
		if src.dialect.Classify(err) != dialects.Conflict {
			return nil, fault.PropertyInvalid.With("sutra.datasource.url: %s cannot be opened, or written beside; its folder has to be there: %w", src.url, err)
		}
		return nil, fault.StoreLocked.With("another process has %s open: stop it, or use a database that is shared: %w", src.url, err)
	}
	return func() error { return errors.Join(held.Rollback(), db.Close()) }, nil
}

// restart frees what a process left behind that is known to be gone, because this one has the database alone.
func (s *Store) restart(ctx context.Context) error {
	if err := s.Check(ctx); err != nil {
		return err
	}
	if _, err := s.forget(ctx, "", "\U0010FFFF"); err != nil {
		return err
	}
	_, err := s.free(ctx, "", "\U0010FFFF")
	return err
}
