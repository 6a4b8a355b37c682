package database

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// pgxRunner sends a transaction as one pipelined batch: without BEGIN the batch is one implicit transaction.
type pgxRunner struct {
	book
	pool   *pgxpool.Pool
	commit time.Duration // how long a transaction may take once it is sent, and a connection until it is there
}

func (r pgxRunner) read(ctx context.Context, tenant string, ops []op) error {
	return r.implicit(ctx, tx{tenant: tenant, ops: ops})
}

func (r pgxRunner) write(ctx context.Context, t tx) error {
	err := r.implicit(ctx, t)
	if _, answered := errors.AsType[*pgconn.PgError](err); err == nil || answered || pgconn.SafeToRetry(err) {
		return err
	}
	if class, _ := classOf(err); class == "" {
		return err
	}
	return r.uncertain(err)
}

func (r pgxRunner) implicit(ctx context.Context, t tx) error {
	conn, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// The commit is part of the batch: once sent, the caller's context must not cut it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.commit)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(r.dialect.Enter, t.tenant)
	if t.cheap {
		batch.Queue(r.dialect.Relax)
	}
	return r.send(ctx, conn.Conn(), conn.Conn(), batch, t.tenant, t.ops)
}

func (r pgxRunner) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, r.commit)
	defer cancel()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return nil, r.troubled("connect", safe{err})
	}
	return conn, nil
}

func (r pgxRunner) hold(ctx context.Context, tenant string, body func(run run) error) error {
	conn, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// The caller's context may never end: a server that hangs must not hold its loop for as long.
	ctx, cancel := context.WithTimeout(ctx, r.commit)
	defer cancel()
	open, err := conn.Begin(ctx)
	if err != nil {
		return r.troubled("begin", err)
	}
	defer r.undo(ctx, open)
	enter := true
	err = body(func(ops ...op) error {
		batch := &pgx.Batch{}
		if enter {
			batch.Queue(r.dialect.Enter, tenant)
		}
		enter = false
		return r.send(ctx, conn.Conn(), open, batch, tenant, ops)
	})
	if err != nil {
		return err
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.commit)
	defer cancel()
	if err := open.Commit(late); err != nil {
		return r.uncertain(err)
	}
	return nil
}

func (r pgxRunner) undo(ctx context.Context, open pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.commit)
	defer cancel()
	_ = open.Rollback(ctx) // after Commit it does nothing; when it fails the connection is closed, which rolls back too
}

type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (r pgxRunner) send(ctx context.Context, conn *pgx.Conn, to sender, batch *pgx.Batch, tenant string, ops []op) error {
	var calls []call
	for _, o := range ops {
		more, err := r.calls(tenant, o)
		if err != nil {
			return err
		}
		calls = append(calls, more...)
	}
	at := "begin"
	for i := range calls {
		c := &calls[i]
		// Prepared by our own name: an error in a batch empties pgx's cache of all that was in it, and refusals are errors here.
		if _, err := conn.Prepare(ctx, c.sql, c.sql); err != nil {
			return r.troubled(c.name, safe{err})
		}
		q := batch.Queue(c.sql, c.args...)
		if c.scan != nil {
			q.Query(func(rows pgx.Rows) error { at = c.name; return drain(rows, c.scan) })
		} else {
			q.Exec(func(tag pgconn.CommandTag) error {
				at = c.name
				if c.hits != nil {
					*c.hits += int(tag.RowsAffected())
				}
				return nil
			})
		}
	}
	err := r.troubled("after "+at, to.SendBatch(ctx, batch).Close())
	if t, ok := errors.AsType[*trouble](err); ok && t.class == dialects.Other && conn.IsClosed() {
		t.class = dialects.Lost // the driver has words of its own for a connection that is gone
	}
	return err
}

func drain(rows pgx.Rows, scan func(row) error) error {
	defer rows.Close()
	line := cells{row: rows}
	for rows.Next() {
		if err := scan(&line); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (r pgxRunner) pools() []ports.Pool {
	now := r.pool.Stat()
	return []ports.Pool{{
		Name: "all", Max: int(now.MaxConns()), Open: int(now.TotalConns()), InUse: int(now.AcquiredConns()),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime(),
	}}
}

func (r pgxRunner) close() { r.pool.Close() }

// safe marks an error that came before anything of the transaction was sent.
type safe struct{ error }

func (s safe) Unwrap() error     { return s.error }
func (s safe) SafeToRetry() bool { return true }
