// Package sqlserver is SQL Server, as a value.
package sqlserver

import (
	"database/sql"
	"embed"
	"io/fs"
	"net/url"
	"strconv"
	"time"

	"github.com/golang-sql/civil"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/portable"
)

//go:embed sql/*.sql migrations/*.sql
var files embed.FS

// Dialect is SQL Server 2019 and later.
func Dialect() dialects.Dialect {
	return dialects.Dialect{
		Name:       "sqlserver",
		Schemes:    []string{"sqlserver"},
		Driver:     "sqlserver",
		Layers:     []fs.FS{portable.Statements(), dialects.Sub(files, "sql")},
		Migrations: dialects.Sub(files, "migrations"),
		Atomic:     true,
		Bind:       func(n int) string { return "@p" + strconv.Itoa(n) },
		Rows: dialects.Values(2000, map[string]string{ // of 2,100 parameters
			"instant": "CAST(%s AS DATETIME2(6))", // where every row has none, the column would be text
			"int":     "CAST(%s AS BIGINT)",
			"uuid":    "CAST(%s AS BINARY(16))", // the driver sends VARBINARY; the columns are BINARY
		}, map[string]string{
			"uuid":  "CAST(%s AS BINARY(16))",
			"bytes": "CAST(%s AS BINARY(32))", // in a list they are keys
		}),
		Words: dialects.Words{
			Page: "OFFSET 0 ROWS FETCH NEXT :limit ROWS ONLY",
			// READCOMMITTEDLOCK: under READ_COMMITTED_SNAPSHOT, READPAST alone would read versions and skip nothing.
			Skipping: "WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK)",
		},
		Joined: dialects.Joined{
			Update: "UPDATE $2 SET $3 FROM $1 AS $2 CROSS JOIN :rows AS r WHERE $4",
			Delete: "DELETE $2 FROM $1 AS $2 CROSS JOIN :rows AS r WHERE $3",
		},
		Batch:     dialects.Batch{Text: batch, Answered: answered, Args: 2000}, // of 2,100 parameters
		Arg:       arg,
		Classify:  classify,
		DSN:       dsn,
		Unhurried: map[string]string{"connection timeout": "0"},
		Ledger: "IF OBJECT_ID('sutra_migration') IS NULL CREATE TABLE sutra_migration " +
			"(number BIGINT NOT NULL PRIMARY KEY, name VARCHAR(255) NOT NULL, checksum VARCHAR(64) NOT NULL)",
		Lock: dialects.Lock{
			// It waits a little in each try: that holds nobody up here, and wakes at once.
			Try: "DECLARE @had INT; EXEC @had = sp_getapplock @Resource = 'sutra migrate', @LockMode = 'Exclusive', " +
				"@LockOwner = 'Session', @LockTimeout = 5000; SELECT CAST(CASE WHEN @had >= 0 THEN 1 ELSE 0 END AS BIGINT)",
			Free: "EXEC sp_releaseapplock @Resource = 'sutra migrate', @LockOwner = 'Session'",
		},
		Checks: checks(),
		Schema: schema,
		Caps:   dialects.Caps{Writers: true, Shared: true, DatabaseTime: true},
	}
}

// arg sends instants as DATETIME2: the driver's own DATETIMEOFFSET makes the server convert the column, and no index serves. What is
// absent has a type: every row of a group may lack it.
func arg(v any) any {
	switch v := v.(type) {
	case nil:
		return sql.NullString{}
	case time.Time:
		return civil.DateTimeOf(v.UTC())
	}
	return v
}

// dsn sets what the URL leaves open.
func dsn(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	q := u.Query()
	for name, value := range map[string]string{"app name": "sutra", "dial timeout": "10", "connection timeout": "60"} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
