// Package postgres is PostgreSQL, as a value.
package postgres

import (
	"embed"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/portable"
)

//go:embed sql/*.sql migrations/*.sql
var files embed.FS

// Dialect is PostgreSQL 13 and later.
func Dialect() dialects.Dialect {
	return dialects.Dialect{
		Name:       "postgres",
		Schemes:    []string{"postgres", "postgresql"},
		Driver:     "pgx",
		Native:     true,
		Layers:     []fs.FS{portable.Statements(), dialects.Sub(files, "sql")},
		Migrations: dialects.Sub(files, "migrations"),
		Atomic:     true,
		Bind:       func(n int) string { return "$" + strconv.Itoa(n) },
		Rows: dialects.Unnest(map[string]string{
			"uuid": "uuid", "text": "text", "bytes": "bytea", "int": "bigint", "instant": "timestamptz",
		}),
		Words: dialects.Words{
			Page:  "LIMIT :limit",
			Skip:  "FOR NO KEY UPDATE SKIP LOCKED",
			Share: "FOR SHARE",
			Lock:  "FOR UPDATE",
			// The primary key does not have this order: what is old is not looked for from its end, through all that is newer.
			Newest: "NULLS LAST",
		},
		Hit:       hit,
		Classify:  classify,
		DSN:       dsn,
		Unhurried: map[string]string{"statement_timeout": "0"},
		ByKey:     "(${0}) IS TRUE", // without statistics one tenant looks like a few rows, and its index like the best way in
		Enter:     "SELECT set_config('sutra.tenant', $1, true)",
		Relax:     "SELECT set_config('synchronous_commit', 'off', true)",
		Listen:    "LISTEN sutra",
		Ledger:    "CREATE TABLE IF NOT EXISTS sutra_migration (number bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL)",
		Lock: dialects.Lock{
			Try:  "SELECT pg_try_advisory_lock(7310031117114977)::int::bigint",
			Free: "SELECT pg_advisory_unlock(7310031117114977)",
		},
		Checks: checks(),
		Schema: schema,
		Caps:   dialects.Caps{Push: true, Writers: true, RowSecurity: true, Shared: true, Relaxed: true, DatabaseTime: true},
	}
}

// hit fails with a division by zero when the count differs, so that a pipelined guard stops what follows it.
func hit(text, want string) string {
	if text[0] != 'S' {
		text += "\nRETURNING 1"
	}
	return "WITH hit AS (" + text + ") SELECT 1 / (count(*) = " + want + ")::int FROM hit"
}

// dsn sets what every session of ours has; what the URL says itself stands.
func dsn(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	q := u.Query()
	if strings.Contains(u.Host, ",") && !q.Has("target_session_attrs") {
		q.Set("target_session_attrs", "read-write") // of several servers, the one that takes writes
	}
	for name, value := range map[string]string{
		"application_name":                    "sutra",
		"timezone":                            "UTC",
		"default_transaction_isolation":       "read committed",
		"lock_timeout":                        "5s",
		"statement_timeout":                   "60s",
		"idle_in_transaction_session_timeout": "15s",
		"connect_timeout":                     "10",
		// Every statement goes by key, or in the order of one. A plan that was made while a table was small would else scan it, or sort
		// all that is due, until there are statistics of what it has grown to. ByKey is for the same.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"enable_hashjoin":   "off",
		"enable_mergejoin":  "off",
		"enable_material":   "off",
		"jit":               "off", // what is left no way but a forbidden one looks so dear that it would be compiled first: 0.1 s for nothing
	} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq's URLs know no plus
	return u.String(), nil
}
