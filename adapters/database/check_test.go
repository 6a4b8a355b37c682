package database

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAFileIsOnTheLastMountOverIt(t *testing.T) {
	const mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
		"30 22 0:26 / /var/lib rw shared:2 - nfs4 server:/lib rw\n" +
		"31 30 0:27 / /var/lib/local rw - xfs /dev/sdb rw\n" +
		"32 22 0:28 / /with\\040blank rw - fuse.sshfs me@host: rw\n" +
		"33 31 0:29 / /var/lib/local rw - tmpfs tmpfs rw\n"
	for dir, want := range map[string]string{
		"/home/x": "ext4", "/": "ext4", "/var/lib": "nfs4", "/var/library": "ext4", "/var/lib/x": "nfs4", "/var/lib/local/x": "tmpfs", "/with blank/x": "fuse.sshfs",
	} {
		if got := mountedAs(mounts, dir); got != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
}

// TestEveryMigrationIsRead compares what is read out of each dialect's migrations: the tables and columns are the same everywhere.
func TestEveryMigrationIsRead(t *testing.T) {
	var first shape
	for _, d := range Dialects() {
		steps, err := migrations(d)
		if err != nil {
			t.Fatal(err)
		}
		is := book{dialect: d, migrations: steps}.shape()
		if first.tables == nil {
			first = is
		}
		if len(is.tables) < 16 || !maps.EqualFunc(is.tables, first.tables, slices.Equal) {
			t.Errorf("%s: got the tables %v, want %v", d.Name, is.tables, first.tables)
		}
		if !slices.Contains(is.tables["sutra_wait"], "refused_at") {
			t.Errorf("%s: a column that was added is not read: %v", d.Name, is.tables["sutra_wait"])
		}
		if gone, there := is.indexes["sutra_instance_list"]; there {
			t.Errorf("%s: an index that was dropped is read as %+v", d.Name, gone)
		}
		for _, i := range []string{"sutra_instance_status", "sutra_instance_channel", "sutra_audit_list", "sutra_deployment_number"} {
			if made := is.indexes[i]; made.table == "" || len(made.columns) == 0 || is.tables[made.table] == nil {
				t.Errorf("%s: index %s is read as %+v", d.Name, i, made)
			}
		}
	}
}

// TestMigrationsAreNotCut by what bounds the statements of a replica: an index over a large table takes minutes.
func TestMigrationsAreNotCut(t *testing.T) {
	for address, bound := range map[string]string{
		"postgres://u@h/d": "statement_timeout=60s", "mysql://u@h/d": "readTimeout=1m0s", "mariadb://u@h/d": "readTimeout=1m0s",
		"sqlserver://u@h?database=d": "connection+timeout=60",
	} {
		src, err := Config{URL: address}.source()
		if err != nil {
			t.Fatal(err)
		}
		dsn, err := unhurried(src.dialect, address)
		if err != nil || !strings.Contains(src.dsn, bound) || strings.Contains(dsn, bound) {
			t.Errorf("%s: a replica's %q has to be bounded by %s, a migration's %q not, %v", address, src.dsn, bound, dsn, err)
		}
	}
}
