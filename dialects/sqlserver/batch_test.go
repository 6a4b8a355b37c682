package sqlserver_test

import (
	"database/sql"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/dialects/sqlserver"
)

func TestTransactionIsOneBatch(t *testing.T) {
	at := civil.DateTimeOf(time.Date(2026, 11, 29, 21, 0, 0, 0, time.UTC))
	text, args := sqlserver.Dialect().Batch.Text([]dialects.Part{
		{
			Name: "guard", SQL: "UPDATE t SET a = @p1, b = @p2 WHERE c = N'x' AND d = @p3", Want: 2,
			Args: []any{"a", sql.NullString{}, []byte{1}}, Types: []string{"", "instant", "uuid"},
		},
		{Name: "later", SQL: "DELETE FROM t WHERE a < @p1", Args: []any{at}, Types: []string{""}, Want: -1, Count: true},
		{Name: "free", SQL: "DELETE FROM u", Want: -1},
	}, true)
	const want = `SET XACT_ABORT ON
BEGIN TRY
BEGIN TRANSACTION
EXEC sp_executesql N'UPDATE t SET a = @p1, b = @p2 WHERE c = N''x'' AND d = @p3', N'@p1 NVARCHAR(4000), @p2 DATETIME2(6), @p3 BINARY(16)', @p1 = @p1, @p2 = NULL, @p3 = @p2
IF @@ROWCOUNT <> 2 THROW 51204, N'guard', 1
EXEC sp_executesql N'DELETE FROM t WHERE a < @p1', N'@p1 DATETIME2(6)', @p1 = @p3
SELECT CAST(@@ROWCOUNT AS BIGINT)
EXEC sp_executesql N'DELETE FROM u'
COMMIT TRANSACTION
END TRY
BEGIN CATCH
IF XACT_STATE() <> 0 ROLLBACK TRANSACTION;
THROW
END CATCH
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(args) != 3 || args[0] != "a" || !slices.Equal(args[1].([]byte), []byte{1}) || args[2] != at {
		t.Errorf("got arguments %v, want what is there, in order", args)
	}
}

// A parameter cuts off what is longer than its type.
func TestLongValuesAreDeclaredLong(t *testing.T) {
	for name, c := range map[string]struct {
		of    string
		value any
		want  string
	}{
		"a row's text":  {"text", strings.Repeat("é", 2000), "NVARCHAR(4000)"},
		"longer text":   {"text", strings.Repeat("é", 2001), "NVARCHAR(MAX)"},
		"a row's bytes": {"bytes", make([]byte, 8000), "VARBINARY(8000)"},
		"longer bytes":  {"bytes", make([]byte, 8001), "VARBINARY(MAX)"},
		"no bytes":      {"bytes", []byte(nil), "VARBINARY(8000)"},
		"an id alone":   {"", make([]byte, 16), "BINARY(16)"},
		"a key alone":   {"", make([]byte, 32), "BINARY(32)"},
		"no id":         {"uuid", []byte(nil), "BINARY(16)"},
		"no number":     {"int", sql.NullString{}, "BIGINT"},
		"a number":      {"", 7, "BIGINT"},
	} {
		text, _ := sqlserver.Dialect().Batch.Text([]dialects.Part{{Name: "x", SQL: "x", Args: []any{c.value}, Types: []string{c.of}, Want: -1}}, false)
		if !strings.Contains(text, "N'@p1 "+c.want+"'") {
			t.Errorf("%s: want %s in\n%.300s", name, c.want, text)
		}
	}
}

func TestAnErrorThatEndsTheSessionIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a check":             {fmt.Errorf("x: %w", mssql.Error{Number: 547, Class: 16}), true},
		"the log is away":     {mssql.Error{Number: 9001, Class: 21}, false},
		"a torn page":         {mssql.Error{Number: 824, Class: 24}, false},
		"the connection died": {io.ErrUnexpectedEOF, false},
	} {
		if got := sqlserver.Dialect().Batch.Answered(c.err); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
