package database

import (
	"context"
	"database/sql"

	"github.com/sutra-engine/sutra/dialects"
)

// whole sends a transaction as one text, which commits it.
func (r sqlxRunner) whole(ctx context.Context, calls []call) error {
	conn, err := r.writer.Connx(ctx)
	if err != nil {
		return r.troubled("connect", err)
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	// The commit is part of it: once sent, the caller's context must not cut it.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.commit)
	defer cancel()
	err = r.batch(late, conn, calls, true)
	if err != nil && r.dialect.Batch.Answered(err) {
		return r.troubled(span(calls), err)
	}
	return r.uncertain(err)
}

// batches sends calls in as few texts as they fit in.
func (r sqlxRunner) batches(ctx context.Context, on executor, calls []call) error {
	for len(calls) > 0 {
		n := r.fits(calls)
		if err := r.batch(ctx, on, calls[:n], false); err != nil {
			return r.troubled(span(calls[:n]), err)
		}
		calls = calls[n:]
	}
	return nil
}

// fits is how many of the calls go into one text, at least one.
func (r sqlxRunner) fits(calls []call) int {
	args := 0
	for i, c := range calls {
		if args += len(c.args); args > r.dialect.Batch.Args && i > 0 {
			return i
		}
	}
	return len(calls)
}

func (r sqlxRunner) batch(ctx context.Context, on executor, calls []call, whole bool) error {
	parts := make([]dialects.Part, len(calls))
	for i, c := range calls {
		parts[i] = dialects.Part{Name: c.name, SQL: c.sql, Args: c.args, Types: c.types, Want: c.want, Count: c.hits != nil}
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
		if c.hits != nil {
			sets = append(sets, func(r row) error {
				var n int
				err := r.Scan(&n)
				*c.hits += n
				return err
			})
		}
	}
	for i := 0; i == 0 || rows.NextResultSet(); i++ {
		var scan func(row) error
		if i < len(sets) {
			scan = sets[i]
		}
		if _, err := readSet(rows, scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// span names calls that travelled together.
func span(calls []call) string {
	first, last := calls[0].name, calls[len(calls)-1].name
	if first == last {
		return first
	}
	return "one of " + first + " to " + last
}
