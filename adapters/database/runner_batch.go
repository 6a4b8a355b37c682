package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/sutra-engine/sutra/dialects"
)

// whole sends a transaction as one text, which commits it.
func (r sqlxRunner) whole(ctx context.Context, calls []call) error {
	return r.lend(ctx, func(late context.Context, conn *sqlx.Conn) error {
		err := r.batch(late, conn, calls, true)
		if err == nil {
			return nil
		}
		r.undo(late, conn)
		if trouble, ok := errors.AsType[*trouble](r.uncertain(err)); ok {
			trouble.at = span(calls)
			trouble.uncertain = trouble.uncertain && !(trouble.class == dialects.Other && r.dialect.Batch.Answered(err))
			return trouble
		}
		return err
	})
}

// undo leaves no transaction open in a connection that goes back to the pool.
func (r sqlxRunner) undo(ctx context.Context, conn *sqlx.Conn) {
	if r.dialect.Batch.Undo == "" {
		return
	}
	if _, err := conn.ExecContext(ctx, r.dialect.Batch.Undo); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // it does not go back
	}
}

// batches sends calls in as few texts as they fit in.
func (r sqlxRunner) batches(ctx context.Context, on executor, calls []call) error {
	for len(calls) > 0 {
		n := r.fits(calls)
		if n == 0 {
			n = 1
			if err := r.each(ctx, on, calls[:n]); err != nil {
				return err
			}
		} else if err := r.batch(ctx, on, calls[:n], false); err != nil {
			return r.troubled(span(calls[:n]), err)
		}
		calls = calls[n:]
	}
	return nil
}

// fits is how many of the calls go into one text.
func (r sqlxRunner) fits(calls []call) int {
	limit, args, bytes := r.dialect.Batch, 0, 0
	for i, c := range calls {
		args += len(c.args)
		for _, a := range c.args {
			bytes += weight(a)
		}
		if limit.Args > 0 && args > limit.Args || limit.Bytes > 0 && bytes > limit.Bytes {
			return i
		}
	}
	return len(calls)
}

func weight(arg any) int {
	switch a := arg.(type) {
	case []byte:
		return len(a)
	case string:
		return len(a)
	}
	return 0
}

func (r sqlxRunner) batch(ctx context.Context, on executor, calls []call, whole bool) error {
	parts := make([]dialects.Part, len(calls))
	for i, c := range calls {
		parts[i] = dialects.Part{Name: c.name, SQL: c.sql, Args: c.args, Types: c.types, Want: c.want, Count: c.hits != nil && c.want < 0}
	}
	text, args := r.dialect.Batch.Text(parts, whole)
	rows, err := on.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return results(rows, calls)
}

// results reads what the calls of one text answer, in their order: their rows, and their counts where they were asked for.
func results(rows *sql.Rows, calls []call) error {
	defer rows.Close()
	var sets []func(row) error
	for _, c := range calls {
		if c.scan != nil || c.reads() {
			sets = append(sets, c.scan)
		}
		switch {
		case c.hits == nil:
		case c.want >= 0:
			*c.hits += c.want
		default:
			sets = append(sets, func(r row) error {
				var n int
				err := r.Scan(&n)
				*c.hits += n
				return err
			})
		}
	}
	read := 0
	for ; read == 0 || rows.NextResultSet(); read++ {
		var scan func(row) error
		if read < len(sets) {
			scan = sets[read]
		}
		if _, err := readSet(rows, scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || read >= len(sets) {
		return err
	}
	return fmt.Errorf("%d sets of rows for %d statements that answer some", read, len(sets))
}

// span names calls that travelled together.
func span(calls []call) string {
	first, last := calls[0].name, calls[len(calls)-1].name
	if first == last {
		return first
	}
	return "one of " + first + " to " + last
}
