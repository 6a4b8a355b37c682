package mysql_test

import (
	"slices"
	"testing"

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
