package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of migrations on PostgreSQL
	"github.com/jmoiron/sqlx"
	_ "github.com/microsoft/go-mssqldb" // the driver of SQL Server
	_ "modernc.org/sqlite"              // the driver of SQLite

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/mariadb"
	"github.com/sutra-engine/sutra/dialects/mysql"
	"github.com/sutra-engine/sutra/dialects/postgres"
	"github.com/sutra-engine/sutra/dialects/sqlite"
	"github.com/sutra-engine/sutra/dialects/sqlserver"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Dialects are the databases of this repository.
func Dialects() []dialects.Dialect {
	return []dialects.Dialect{postgres.Dialect(), mysql.Dialect(), mariadb.Dialect(), sqlserver.Dialect(), sqlite.Dialect()}
}

// source is a database by its name: which dialect, and what its driver is told.
type source struct {
	book
	url      string
	dsn      string
	patience time.Duration
	log      *slog.Logger
}

// source reads the URL and loads the dialect it names.
func (c Config) source() (source, error) {
	all := c.Dialects
	if all == nil {
		all = Dialects()
	}
	scheme, _, named := strings.Cut(c.URL, "://")
	if !named {
		scheme = "sqlite"
	}
	at := slices.IndexFunc(all, func(d dialects.Dialect) bool { return slices.Contains(d.Schemes, scheme) })
	if at < 0 {
		return source{}, fault.PropertyInvalid.With("sutra.datasource.url: no database is called %q", scheme)
	}
	d := all[at]
	dsn, err := d.DSN(c.URL)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // it tells the whole address, password and all
	}
	if err != nil {
		return source{}, fault.PropertyInvalid.With("sutra.datasource.url does not read: %w", err)
	}
	statements, err := dialects.Load(d)
	if err != nil {
		return source{}, err
	}
	steps, err := migrations(d)
	if err != nil {
		return source{}, err
	}
	src := source{book: book{d, statements, steps, &sync.Map{}, c.Watch}, url: c.URL, dsn: dsn, patience: c.Patience, log: c.Log}
	if src.patience == 0 {
		src.patience = 15 * time.Second
	}
	if src.watch == nil {
		src.watch = ports.Blind{}
	}
	if src.log == nil {
		src.log = slog.New(slog.DiscardHandler)
	}
	return src, nil
}

// Open opens the store. Its schema has to be migrated, but for SQLite in memory, which is migrated here.
func Open(ctx context.Context, c Config) (*Store, error) {
	src, err := c.source()
	if err != nil {
		return nil, err
	}
	s := &Store{book: src.book, log: src.log, patience: src.patience, bold: c.Bold, url: c.URL, clock: c.Clock}
	if c.Beside == nil {
		free, err := src.exclusive(ctx)
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, free)
	}
	if err := s.open(ctx, src, c); err != nil {
		return nil, joinClose(err, s)
	}
	return s, nil
}

func joinClose(err error, s *Store) error {
	_ = s.Close() // the first trouble is the one to tell
	return err
}

func (s *Store) open(ctx context.Context, src source, c Config) error {
	if err := s.connect(ctx, src, c); err != nil {
		return err
	}
	if err := src.preflight(ctx); err != nil {
		return err
	}
	if s.clock == nil {
		if err := s.discipline(ctx); err != nil {
			return err
		}
	}
	if src.dialect.Listen != "" && !c.Poll {
		s.watch = listen(ctx, src)
		s.closers = append(s.closers, s.watch.close)
	}
	if s.Exclusive() && c.Beside == nil {
		return s.restart(ctx)
	}
	return nil
}

func (s *Store) connect(ctx context.Context, src source, c Config) (err error) {
	if src.dialect.Native {
		s.run, err = src.native(ctx, c.conns())
	} else {
		s.run, err = src.generic(ctx, c.conns())
	}
	if err != nil {
		return coded(src.troubled("open", err))
	}
	s.closers = append(s.closers, func() error { s.run.close(); return nil })
	return nil
}

func (c Config) conns() int {
	if c.MaxConns == 0 {
		return max(8, 4*runtime.GOMAXPROCS(0))
	}
	return c.MaxConns
}

// native opens PostgreSQL's own pool.
func (src source) native(ctx context.Context, conns int) (runner, error) {
	config, err := pgxpool.ParseConfig(src.dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns)
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = 30*time.Minute, 5*time.Minute
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pgxRunner{src.book, pool, src.patience}, nil
}

// generic opens everything else over database/sql: one pool, or one writer beside a pool of readers.
func (src source) generic(ctx context.Context, conns int) (runner, error) {
	writer, err := sqlx.ConnectContext(ctx, src.dialect.Driver, src.dsn)
	if err != nil {
		return nil, err
	}
	pool(writer.DB, conns)
	r := sqlxRunner{src.book, writer, writer, src.patience}
	if src.dialect.Caps.Writers {
		return r, nil
	}
	pool(writer.DB, 1)
	if src.memory() {
		if err := src.migrate(ctx, writer.DB); err != nil {
			_ = writer.Close()
			return nil, err
		}
		return r, nil
	}
	if r.reader, err = sqlx.ConnectContext(ctx, src.dialect.Driver, src.dsn); err != nil {
		_ = writer.Close()
		return nil, err
	}
	pool(r.reader.DB, conns)
	return r, nil
}

// memory says that the database lives in this process alone, in one connection.
func (src source) memory() bool { return src.url == "" }

func pool(db *sql.DB, conns int) {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if conns > 1 {
		db.SetConnMaxLifetime(30 * time.Minute)
	}
}

func nap(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
