// Package database fulfils the ports over SQL: one store for every dialect. It takes no decision.
package database

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Config is what a store is opened with. Only URL has to be set.
type Config struct {
	// URL names the database; its scheme chooses the dialect: postgres://, mysql://, mariadb://, sqlserver://, sqlite:///path, or a
	// path alone. Empty: SQLite in memory, gone with the process.
	URL string
	// Dialects are those to choose from. Nil: the five of this repository.
	Dialects []dialects.Dialect
	MaxConns int // 0: 4 × processors, at least 8
	Log      *slog.Logger
	Watch    ports.Watch   // nil: nobody counts
	Clock    ports.Clock   // nil: the database's time
	Patience time.Duration // for one transaction once it is sent, and for asking what became of it; 0: 15 s
	// Beside is another store of this process on the same SQLite file, which holds its lock: tests of two replicas need it.
	Beside *Store
	// Bold never asks before it has written, whatever happened before. Tests of what the write alone refuses need it.
	Bold bool
	// Poll never listens for changes, even where the database can push them: a nap ends with its time alone.
	Poll bool
}

// Store is the one SQL store.
type Store struct {
	run      runner
	book     book
	clock    ports.Clock
	log      *slog.Logger
	patience time.Duration
	bold     bool
	wary     atomic.Int64 // groups that ask before they write
	url      string
	closers  []func() error
	watch    *watch // nil: the database cannot push
}

var _ ports.Store = (*Store)(nil)

// Dialect names the database's kind.
func (s *Store) Dialect() string { return s.book.dialect.Name }

// Clock is the database's time.
func (s *Store) Clock() ports.Clock { return s.clock }

// Exclusive says that no other process can share this database.
func (s *Store) Exclusive() bool { return !s.book.dialect.Caps.Shared }

// Pools says how the connections stand now.
func (s *Store) Pools() []ports.Pool { return s.run.pools() }

// Close ends what the store started and gives its connections back.
func (s *Store) Close() error {
	var first error
	for _, v := range slices.Backward(s.closers) {
		if err := v(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Check answers whether the database can be reached and written, and whether its schema is the one this build needs.
func (s *Store) Check(ctx context.Context) error {
	writable := int64(0)
	found := map[int64]string{}
	err := s.read(ctx, fleet,
		op{name: "store_writable", scan: func(r row) error { return r.Scan(&writable) }},
		op{name: "store_migrations", scan: func(r row) error {
			var number int64
			var sum string
			err := r.Scan(&number, &sum)
			found[number] = sum
			return err
		}})
	if class, _ := classOf(err); err != nil && class == dialects.Other {
		return fault.SchemaVersion.With("the schema cannot be read: run sutra migrate up: %w", err)
	}
	if err != nil {
		return err
	}
	if writable != 1 {
		return fault.StoreReadOnly.With("the database takes no writes now")
	}
	return s.book.missing(found)
}

// now is the time of what is written.
func (s *Store) now() time.Time { return s.clock.Now() }

// write runs ops as one transaction, again while the reason to fail passes.
func (s *Store) write(ctx context.Context, tenant string, ops ...op) error {
	return coded(s.repeat(ctx, func() error {
		for _, o := range ops {
			if o.hits != nil {
				*o.hits = 0 // a try that was rolled back has hit nothing
			}
		}
		return s.run.write(ctx, tx{tenant: tenant, ops: ops})
	}))
}

// errUnchanged ends a held transaction that found nothing to change.
var errUnchanged = errors.New("nothing to change")

// hold keeps a transaction open over several runs, again from the start while the reason to fail passes. One that ends with errUnchanged is
// rolled back, and no failure.
func (s *Store) hold(ctx context.Context, tenant string, body func(run run) error) error {
	err := s.repeat(ctx, func() error { return s.run.hold(ctx, tenant, body) })
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return coded(err)
}

// handOut holds a transaction that finds rows past those that others have locked, and marks them; took says that it did. The mark names
// what was found and has to hit every row: a database that locks less than it is asked to lets another be first, and then the search
// starts anew, or is left for the next time.
func (s *Store) handOut(ctx context.Context, body func(run run) error) (took bool, err error) {
	overtaken := false
	err = s.hold(ctx, fleet, func(run run) error {
		err := body(run)
		t, ok := errors.AsType[*trouble](err)
		if overtaken = ok && t.class == dialects.Missed; overtaken {
			t.class = dialects.Conflict
		}
		return err
	})
	if overtaken {
		return false, nil
	}
	return err == nil, err
}

// read runs ops one after the other, again while the reason to fail passes and no row was told: told twice, it would be there twice.
func (s *Store) read(ctx context.Context, tenant string, ops ...op) error {
	told := false
	for i, o := range ops {
		if o.scan != nil {
			ops[i].scan = func(r row) error { told = true; return o.scan(r) }
		}
	}
	var err error
	_ = s.repeat(ctx, func() error {
		if err = s.run.read(ctx, tenant, ops); told {
			return nil
		}
		return err
	})
	return coded(err)
}

// each runs a tenant's part of refs on its own, tenants in the order they come.
func eachTenant[T any](all []T, tenant func(T) string, do func(tenant string, part []T) error) error {
	var order []string
	parts := map[string][]T{}
	for _, v := range all {
		t := tenant(v)
		if _, there := parts[t]; !there {
			order = append(order, t)
		}
		parts[t] = append(parts[t], v)
	}
	for _, t := range order {
		if err := do(t, parts[t]); err != nil {
			return err
		}
	}
	return nil
}

// ids is a group of one column.
func column[T any](all []T, value func(T) any) []any {
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = value(v)
	}
	return out
}

func (b book) missing(found map[int64]string) error {
	for _, m := range b.migrations {
		switch sum, there := found[m.number]; {
		case !there:
			return fault.SchemaVersion.With("the schema lacks migration %d (%s): run sutra migrate up", m.number, m.name)
		case sum != m.sum:
			return fault.SchemaVersion.With("migration %d (%s) of the schema is not the one of this build: %s, want %s", m.number, m.name, sum, m.sum)
		}
	}
	return nil
}
