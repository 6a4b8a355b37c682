package database

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// heartbeat is how often a quiet LISTEN connection is asked whether it still lives.
const heartbeat = 10 * time.Second

// watch hears that the served set changed, on a connection of its own. Whoever naps is woken after every change, and after every
// reconnect: what was said in between is not known.
type watch struct {
	mu    sync.Mutex
	news  int           // changes heard
	slept int           // of which the napper knows
	wake  chan struct{} // closed with the next news
	close func() error
}

// listen starts the one goroutine, which ends with close.
func listen(ctx context.Context, src source) *watch {
	w := &watch{wake: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := w.hear(ctx, src); err != nil && ctx.Err() == nil {
				src.log.WarnContext(ctx, "changes are not pushed until this connection is back; they are polled meanwhile", "error", err)
				_ = nap(ctx, time.Second) // ends early with ctx
			}
		}
	}()
	w.close = func() error {
		cancel()
		<-done
		return nil
	}
	return w
}

// hear listens first and tells the napper to read then, so that nothing said before is missed.
func (w *watch) hear(ctx context.Context, src source) error {
	conn, err := pgx.Connect(ctx, src.dsn)
	if err != nil {
		return err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(late)
	}()
	if _, err := conn.Exec(ctx, src.dialect.Listen); err != nil {
		return err
	}
	w.tell()
	for {
		quiet, cancel := context.WithTimeout(ctx, heartbeat)
		_, err := conn.WaitForNotification(quiet)
		expired := quiet.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			w.tell()
		case !expired:
			return err
		default:
			if err := w.beat(ctx, conn); err != nil {
				return err
			}
		}
	}
}

// beat finds out that a connection is half open.
func (w *watch) beat(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return conn.Ping(ctx)
}

func (w *watch) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news++
	close(w.wake)
	w.wake = make(chan struct{})
}

// nap sleeps until something was said that the last nap did not know, at most d.
func (w *watch) nap(ctx context.Context, d time.Duration) {
	w.mu.Lock()
	wake, known := w.wake, w.news == w.slept
	w.mu.Unlock()
	if known {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-wake:
		}
	}
	w.mu.Lock()
	w.slept = w.news
	w.mu.Unlock()
}
