// Package sqlite is SQLite, as a value.
package sqlite

import (
	"embed"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/portable"
)

//go:embed migrations/*.sql
var files embed.FS

// Dialect is SQLite, in one process: on a file, or in memory.
func Dialect() dialects.Dialect {
	return dialects.Dialect{
		Name:       "sqlite",
		Schemes:    []string{"sqlite", "file"},
		Driver:     "sqlite",
		Layers:     []fs.FS{portable.Statements()},
		Migrations: dialects.Sub(files, "migrations"),
		Atomic:     true,
		Bind:       func(int) string { return "?" },
		Rows:       dialects.RowByRow(), // a longer list makes the planner scan the table and index the list
		Words:      dialects.Words{Page: "LIMIT :limit"},
		Arg:        arg,
		Classify:   classify,
		DSN:        dsn,
		Alone:      alone,
		Checks:     checks(),
		Schema:     schema,
		File:       path,
		Ledger:     "CREATE TABLE IF NOT EXISTS sutra_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)",
	}
}

// arg keeps instants as microseconds since 1970.
func arg(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.UnixMicro()
	}
	return v
}

// dsn takes sqlite:///path, a path, or nothing: then the database is in memory.
func dsn(raw string) (string, error) {
	q := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(off)"},
		"_txlock": {"immediate"}, // a read that turns into a write fails at once and ignores busy_timeout
	}
	file := path(raw)
	if file == "" {
		file = ":memory:"
	}
	return "file:" + file + "?" + q.Encode(), nil
}

// alone is a lock file beside the database's.
func alone(raw string) string {
	if path := path(raw); path != "" {
		return "file:" + path + ".lock?_pragma=busy_timeout(0)&_txlock=exclusive"
	}
	return ""
}

// path is the file that a URL names; empty: none, the database is in memory.
func path(raw string) string {
	file := raw
	for _, scheme := range []string{"sqlite://", "file://"} {
		file = strings.TrimPrefix(file, scheme)
	}
	file, _, _ = strings.Cut(file, "?")
	return file
}
