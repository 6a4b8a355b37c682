package database

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/sutra-engine/sutra/ports"
)

// sqlxRunner runs a transaction statement by statement and counts rows as it goes, or as one text where the dialect has one for it.
type sqlxRunner struct {
	book
	writer, reader *sqlx.DB
	commit         time.Duration // how long a transaction may take as a whole, and a read, and a connection until it is there
}

func (r sqlxRunner) write(ctx context.Context, t tx) error {
	calls, err := r.all(t.tenant, t.ops)
	if err != nil || len(calls) == 0 {
		return err
	}
	if r.dialect.Batch.Text != nil && r.fits(calls) == len(calls) {
		return r.whole(ctx, calls)
	}
	return r.open(ctx, func(on executor) error { return r.send(ctx, on, calls) })
}

func (r sqlxRunner) hold(ctx context.Context, tenant string, body func(run run) error) error {
	return r.open(ctx, func(on executor) error {
		return body(func(ops ...op) error { return r.run(ctx, on, tenant, ops) })
	})
}

// open works in one transaction. It commits when work answers nil.
func (r sqlxRunner) open(ctx context.Context, work func(on executor) error) error {
	return r.lend(ctx, func(late context.Context, conn *sqlx.Conn) error {
		open, err := conn.BeginTxx(late, nil)
		if err != nil {
			return r.troubled("begin", err)
		}
		defer open.Rollback()
		on := executor(open)
		if r.dialect.Rows.Inline {
			on = &preparing{open, map[string]*sql.Stmt{}}
		}
		if err := work(on); err != nil {
			return err
		}
		if err := open.Commit(); err != nil {
			return r.uncertain(err)
		}
		return nil
	})
}

// lend gives work a connection, and a context that outlives the caller's, so that COMMIT is never cut by it.
func (r sqlxRunner) lend(ctx context.Context, work func(late context.Context, conn *sqlx.Conn) error) error {
	waiting, stop := context.WithTimeout(ctx, r.commit)
	conn, err := r.writer.Connx(waiting)
	stop()
	if err != nil {
		return r.troubled("connect", err)
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.commit)
	defer cancel()
	return work(late, conn)
}

// read ends in time also where the caller's context never does, and the server hangs.
func (r sqlxRunner) read(ctx context.Context, tenant string, ops []op) error {
	ctx, cancel := context.WithTimeout(ctx, r.commit)
	defer cancel()
	return r.run(ctx, r.reader, tenant, ops)
}

// hit compares and keeps how many rows a call has hit.
func (c call) hit(n int) error {
	if c.want >= 0 && n != c.want {
		return missed(c.name, n, c.want)
	}
	if c.hits != nil {
		*c.hits += n
	}
	return nil
}

// reads says that a call answers rows.
func (c call) reads() bool { return strings.HasPrefix(c.sql, "SELECT") }

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (r sqlxRunner) run(ctx context.Context, on executor, tenant string, ops []op) error {
	calls, err := r.all(tenant, ops)
	if err != nil {
		return err
	}
	return r.send(ctx, on, calls)
}

func (r sqlxRunner) send(ctx context.Context, on executor, calls []call) error {
	if r.dialect.Batch.Text != nil {
		return r.batches(ctx, on, calls)
	}
	return r.each(ctx, on, calls)
}

// all says every op.
func (r sqlxRunner) all(tenant string, ops []op) (calls []call, err error) {
	for _, o := range ops {
		more, err := r.calls(tenant, o)
		if err != nil {
			return nil, err
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

func (r sqlxRunner) each(ctx context.Context, on executor, calls []call) error {
	for _, c := range calls {
		n, err := one(ctx, on, c)
		if err != nil {
			return r.troubled(c.name, err)
		}
		if err := c.hit(n); err != nil {
			return err
		}
	}
	return nil
}

func one(ctx context.Context, on executor, c call) (n int, err error) {
	if c.scan == nil && !c.reads() {
		res, err := on.ExecContext(ctx, c.sql, c.args...)
		if err != nil {
			return 0, err
		}
		hit, err := res.RowsAffected()
		return int(hit), err
	}
	rows, err := on.QueryContext(ctx, c.sql, c.args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	return readSet(rows, c.scan)
}

// readSet reads one set of rows to its end, and counts them.
func readSet(rows *sql.Rows, scan func(row) error) (n int, err error) {
	line := cells{row: rows}
	for ; rows.Next(); n++ {
		if scan == nil {
			continue
		}
		if err := scan(&line); err != nil {
			return n, cmp.Or(rows.Err(), err) // a context that ends closes rows, and says only there why
		}
	}
	return n, rows.Err()
}

// preparing prepares each text once a transaction: where groups go row by row, a text runs many times.
type preparing struct {
	open *sqlx.Tx
	seen map[string]*sql.Stmt // the transaction closes them
}

func (p *preparing) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	s := p.seen[text]
	if s != nil {
		return s, nil
	}
	s, err := p.open.PrepareContext(ctx, text)
	p.seen[text] = s
	return s, err
}

func (p *preparing) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (p *preparing) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (r sqlxRunner) pools() []ports.Pool {
	if r.reader == r.writer {
		return []ports.Pool{pooled("all", r.writer)}
	}
	return []ports.Pool{pooled("write", r.writer), pooled("read", r.reader)}
}

func pooled(name string, db *sqlx.DB) ports.Pool {
	now := db.Stats()
	return ports.Pool{
		Name: name, Max: now.MaxOpenConnections, Open: now.OpenConnections, InUse: now.InUse, Waits: now.WaitCount, Waited: now.WaitDuration,
	}
}

func (r sqlxRunner) close() {
	_ = r.writer.Close()
	_ = r.reader.Close()
}
