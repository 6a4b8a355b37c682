// Package mysql is MySQL, as a value.
package mysql

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/portable"
)

//go:embed sql/*.sql migrations/*.sql
var files embed.FS

// Dialect is MySQL 8.0 and later.
func Dialect() dialects.Dialect {
	return dialects.Dialect{
		Name:       "mysql",
		Schemes:    []string{"mysql"},
		Driver:     "mysql",
		Layers:     []fs.FS{portable.Statements(), dialects.Sub(files, "sql")},
		Migrations: dialects.Sub(files, "migrations"),
		Bind:       func(int) string { return "?" },
		Rows:       dialects.UnionAll(0, map[string]string{"instant": "CAST(%s AS DATETIME(6))"}), // a bare one would be text, and compared as such
		Words: dialects.Words{
			Page:  "LIMIT :limit",
			Skip:  "FOR UPDATE SKIP LOCKED",
			Share: "FOR SHARE",
			Lock:  "FOR UPDATE",
			// What is old would else be looked for from the end of the primary key, through all that is newer.
			Listing: "FORCE INDEX (sutra_instance_status, sutra_instance_process, sutra_instance_revision, sutra_instance_parent)",
		},
		Joined: dialects.Joined{
			Update:    "UPDATE :rows AS r STRAIGHT_JOIN $1 AS $2 SET $3 WHERE $4",
			Delete:    "DELETE $2 FROM :rows AS r STRAIGHT_JOIN $1 AS $2 WHERE $3",
			Qualified: true,
		},
		Batch:     dialects.Batch{Text: batch, Answered: answered, Undo: "ROLLBACK", Bytes: 1 << 20},
		Classify:  classify,
		DSN:       func(raw string) (string, error) { return DSN(raw, "transaction_isolation") },
		Unhurried: map[string]string{"readTimeout": "0s"},
		Ledger: "CREATE TABLE IF NOT EXISTS sutra_migration (number BIGINT PRIMARY KEY, name VARBINARY(255) NOT NULL, " +
			"checksum VARBINARY(64) NOT NULL) ENGINE = InnoDB",
		Lock: dialects.Lock{
			Try:  "SELECT GET_LOCK(CONCAT('sutra ', LEFT(SHA2(DATABASE(), 256), 32)), 0)",
			Free: "DO RELEASE_LOCK(CONCAT('sutra ', LEFT(SHA2(DATABASE(), 256), 32)))",
		},
		Checks: append([]dialects.Check{{
			Name: "version", Query: "SELECT VERSION()", Want: `^(8|9|1\d)\.\d+\.\d+(-[^M]*)?$`, Fail: true, Boot: true,
			Advice: "use MySQL 8.0 or later (mariadb:// for MariaDB)",
		}}, Checks("transaction_isolation", "performance_schema.processlist")...),
		Schema: Schema("is_visible = 'YES'"),
		Caps:   dialects.Caps{Writers: true, Shared: true, DatabaseTime: true},
	}
}

// DSN turns mysql://user:password@host:port/database?… into the driver's form. What every session of ours has is set; isolation names
// the variable that this server reads at the start of a session.
func DSN(raw, isolation string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	host := u.Host
	if u.Port() == "" {
		host = u.Hostname() + ":3306"
	}
	c, err := mysql.ParseDSN(fmt.Sprintf("tcp(%s)%s?%s", host, u.Path, u.RawQuery))
	if err != nil {
		return "", err
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.ParseTime, c.Loc = true, time.UTC
	c.ClientFoundRows = true   // an update that changes nothing has hit its row all the same
	c.InterpolateParams = true // no round trips to prepare
	c.MultiStatements = true   // a step's writes travel together
	c.MaxAllowedPacket = 0     // ask the server, and refuse here what it would answer by hanging up
	c.Timeout, c.WriteTimeout = 10*time.Second, 60*time.Second
	if !u.Query().Has("readTimeout") {
		c.ReadTimeout = 60 * time.Second
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	// gap locks of REPEATABLE READ deadlock queues
	maps.Copy(c.Params, map[string]string{
		"time_zone":                "'+00:00'",
		isolation:                  "'READ-COMMITTED'",
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"innodb_lock_wait_timeout": "5",
	})
	return c.FormatDSN(), nil
}
