package mysql_test

import (
	"slices"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/mysql"
)

func TestTransactionIsOneText(t *testing.T) {
	text, args := mysql.Dialect().Batch.Text([]dialects.Part{
		{SQL: "UPDATE t SET a = ?", Args: []any{"a"}, Want: 2},
		{SQL: "SELECT a FROM t WHERE b = ?", Args: []any{"b"}, Want: 1},
		{SQL: "DELETE FROM u", Want: -1, Count: true},
		{SQL: "DELETE FROM v", Want: -1},
	}, true)
	const want = `BEGIN;
UPDATE t SET a = ?;
SET @sutra_hit = IF(ROW_COUNT() = 2, 1, (SELECT 1 UNION ALL SELECT 2));
SELECT a FROM t WHERE b = ?;
SET @sutra_hit = IF(FOUND_ROWS() = 1, 1, (SELECT 1 UNION ALL SELECT 2));
DELETE FROM u;
SELECT ROW_COUNT();
DELETE FROM v;
COMMIT`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if !slices.Equal(args, []any{"a", "b"}) {
		t.Errorf("got arguments %v, want those of the parts, in order", args)
	}
}

// What a group's certification refuses at COMMIT has been rolled back, and may come again; what a plug-in failed at may have been done.
func TestAnswersToCommit(t *testing.T) {
	for number, want := range map[uint16]struct {
		class    dialects.Class
		answered bool
	}{3101: {dialects.Conflict, true}, 3100: {dialects.Other, false}, 1180: {dialects.Other, false}, 1048: {dialects.Other, true}} {
		err, d := &driver.MySQLError{Number: number}, mysql.Dialect()
		if class, answered := d.Classify(err), d.Batch.Answered(err); class != want.class || answered != want.answered {
			t.Errorf("%d: got %s, answered %v; want %+v", number, class, answered, want)
		}
	}
}

func TestMariaDBIsNoMySQL(t *testing.T) {
	check := mysql.Dialect().Checks[0]
	for version, want := range map[string]bool{
		"8.4.3": true, "8.0.39-0ubuntu0.22.04.1": true, "8.0.36-28": true, "9.7.4-log": true, "10.11.19-MariaDB-0+deb12u1": false, "11.4.2-MariaDB": false,
		"10.6.14-10-MariaDB-enterprise-log": false,
	} {
		if wrong, err := check.Wrong([]string{version}); err != nil || (len(wrong) == 0) != want {
			t.Errorf("%s: taken %v (%v), want %v", version, len(wrong) == 0, err, want)
		}
	}
}
