package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports/fault"
)

// migration is one step of the schema. Steps are expand-only between two releases.
type migration struct {
	number int64
	name   string
	sum    string // SHA-256 of the text
	parts  []string
}

// migrations reads a dialect's steps in order: NNNN_name.sql, statements ended by a semicolon at the end of a line.
func migrations(d dialects.Dialect) ([]migration, error) {
	files, err := fs.Glob(d.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, file := range files {
		digits, name, _ := strings.Cut(strings.TrimSuffix(file, ".sql"), "_")
		number, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || number != int64(len(out)+1) {
			return nil, fmt.Errorf("%s: migration %s is not number %d", d.Name, file, len(out)+1)
		}
		text, err := fs.ReadFile(d.Migrations, file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		m := migration{number: number, name: name, sum: hex.EncodeToString(sum[:])}
		for part := range strings.SplitSeq(string(text), ";\n") {
			if part = strings.TrimSpace(part); part != "" {
				m.parts = append(m.parts, part)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// Migrate brings the schema to what this build needs, under the dialect's lock. Several replicas may call it at once.
func Migrate(ctx context.Context, c Config) error {
	src, err := c.source()
	if err != nil {
		return err
	}
	free, err := src.exclusive(ctx)
	if err != nil {
		return err
	}
	defer free() //nolint:errcheck // the lock ends with its file
	dsn, err := unhurried(src.dialect, c.URL)
	if err != nil {
		return fault.PropertyInvalid.With("sutra.datasource.url: %w", err)
	}
	db, err := sql.Open(src.dialect.Driver, dsn)
	if err != nil {
		return fault.StoreUnavailable.With("open %s: %w", src.dialect.Name, err)
	}
	defer db.Close() //nolint:errcheck // nothing is pending
	return src.migrate(ctx, db)
}

// unhurried is the DSN of a session whose statements may take their time.
func unhurried(d dialects.Dialect, address string) (string, error) {
	if len(d.Unhurried) == 0 {
		return d.DSN(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	q := u.Query()
	for name, value := range d.Unhurried {
		q.Set(name, value)
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return d.DSN(u.String())
}

func (src source) migrate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return coded(src.troubled("connect", err))
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	if err := src.lock(ctx, conn); err != nil {
		return err
	}
	defer src.unlock(ctx, conn)
	if err := src.steps(ctx, conn); err != nil {
		return coded(src.troubled("migrate", err))
	}
	return nil
}

// lock polls: a session that waits inside the database for a lock can deadlock with what it is waiting for.
func (src source) lock(ctx context.Context, conn *sql.Conn) error {
	for src.dialect.Lock.Try != "" {
		var had int64
		if err := conn.QueryRowContext(ctx, src.dialect.Lock.Try).Scan(&had); err != nil {
			return coded(src.troubled("lock", err))
		}
		if had == 1 {
			return nil
		}
		if err := nap(ctx, 200*time.Millisecond); err != nil {
			return fault.StoreUnavailable.With("another process migrates the schema: %w", err)
		}
	}
	return nil
}

func (src source) unlock(ctx context.Context, conn *sql.Conn) {
	if src.dialect.Lock.Free == "" {
		return
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), src.patience)
	defer cancel()
	_, _ = conn.ExecContext(late, src.dialect.Lock.Free) // the lock ends with its connection at the latest
}

func (src source) steps(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, src.dialect.Ledger); err != nil {
		return fmt.Errorf("make the table of migrations: %w", err)
	}
	found, err := ledger(ctx, conn)
	if err != nil {
		return err
	}
	for _, m := range src.migrations {
		sum, there := found[m.number]
		if there && sum != m.sum {
			return src.missing(found)
		}
		if there {
			continue
		}
		if err := src.step(ctx, conn, m); err != nil {
			return fmt.Errorf("migration %d (%s): %w", m.number, m.name, err)
		}
	}
	return nil
}

func ledger(ctx context.Context, conn *sql.Conn) (map[int64]string, error) {
	rows, err := conn.QueryContext(ctx, "SELECT number, checksum FROM sutra_migration")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[int64]string{}
	for rows.Next() {
		var number int64
		var sum string
		if err := rows.Scan(&number, &sum); err != nil {
			return nil, err
		}
		found[number] = sum
	}
	return found, rows.Err()
}

// step runs one migration. Where DDL is no part of a transaction, each statement can be run again.
func (src source) step(ctx context.Context, conn *sql.Conn, m migration) error {
	on := executor(conn)
	if src.dialect.Atomic {
		open, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer open.Rollback()
		on = open
	}
	for _, part := range m.parts {
		if _, err := on.ExecContext(ctx, part); err != nil {
			return fmt.Errorf("%.60s…: %w", part, err)
		}
	}
	note := fmt.Sprintf("INSERT INTO sutra_migration (number, name, checksum) VALUES (%d, '%s', '%s')", m.number, m.name, m.sum)
	if _, err := on.ExecContext(ctx, note); err != nil {
		return err
	}
	if open, ok := on.(*sql.Tx); ok {
		return open.Commit()
	}
	return nil
}
