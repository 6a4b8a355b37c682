// Package mariadb is MariaDB, as a value: MySQL, with what differs.
package mariadb

import (
	"embed"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/mysql"
)

//go:embed sql/*.sql
var files embed.FS

// Dialect is MariaDB 10.6 and later.
func Dialect() dialects.Dialect {
	d := mysql.Dialect()
	d.Name = "mariadb"
	d.Schemes = []string{"mariadb"}
	d.Layers = append(d.Layers, dialects.Sub(files, "sql"))
	d.Words.Share = "LOCK IN SHARE MODE"
	d.DSN = func(raw string) (string, error) { return mysql.DSN(raw, "tx_isolation") }
	d.Checks = append([]dialects.Check{{
		Name: "version", Query: "SELECT VERSION()", Want: `^(10\.([6-9]|1\d)|1[1-9]|[2-9]\d)\..*MariaDB`, Fail: true, Boot: true,
		Advice: "use MariaDB 10.6 or later (mysql:// for MySQL)",
	}}, mysql.Checks("tx_isolation", "information_schema.processlist")...)
	d.Schema = mysql.Schema("ignored = 'NO'")
	return d
}
