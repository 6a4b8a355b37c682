package sqlserver

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/sutra-engine/sutra/dialects"
)

// missed is the error of a statement that hit another number of rows than it had to.
const missed = 51204

// The statements that make a batch a transaction of its own.
const (
	begin  = "BEGIN TRY\nBEGIN TRANSACTION\n"
	commit = "COMMIT TRANSACTION\nEND TRY\nBEGIN CATCH\nIF XACT_STATE() <> 0 ROLLBACK TRANSACTION;\nTHROW\nEND CATCH\n"
)

// batch makes each statement a call of its own: its text and its types are the same every time, so the server keeps its plan; the batch
// around it needs none.
func batch(parts []dialects.Part, whole bool) (string, []any) {
	var text strings.Builder
	var args []any
	text.WriteString("SET XACT_ABORT ON\n")
	if whole {
		text.WriteString(begin)
	}
	for _, p := range parts {
		var types, values []string
		for i, v := range p.Args {
			name := fmt.Sprintf("@p%d", i+1)
			types = append(types, name+" "+declared(p.Types[i], v))
			if absent(v) {
				values = append(values, name+" = NULL")
				continue
			}
			args = append(args, v)
			values = append(values, fmt.Sprintf("%s = @p%d", name, len(args)))
		}
		text.WriteString("EXEC sp_executesql N'" + strings.ReplaceAll(p.SQL, "'", "''") + "'")
		if len(types) > 0 {
			text.WriteString(", N'" + strings.Join(types, ", ") + "', " + strings.Join(values, ", "))
		}
		text.WriteString("\n")
		if p.Want >= 0 {
			fmt.Fprintf(&text, "IF @@ROWCOUNT <> %d THROW %d, N'%s', 1\n", p.Want, missed, p.Name)
		}
		if p.Count {
			text.WriteString("SELECT CAST(@@ROWCOUNT AS BIGINT)\n")
		}
	}
	if whole {
		text.WriteString(commit)
	}
	return text.String(), args
}

// answered says that the server refused, after which nothing of a whole transaction stays. An error of class 20 or more ends the session,
// wherever it stood: one that comes while COMMIT writes its log does not say whether it was done.
func answered(err error) bool {
	e, is := errors.AsType[mssql.Error](err)
	return is && e.Class < 20
}

// declared is the type of an argument. What is longer than a row holds has another one than what fits: a parameter cuts off silently.
func declared(of string, v any) string {
	switch v := v.(type) {
	case []byte:
		switch {
		case of == "uuid", of == "" && len(v) == 16:
			return "BINARY(16)" // as the columns: compared with another type, they may not be looked up
		case of == "" && len(v) == 32:
			return "BINARY(32)"
		case len(v) > 8000:
			return "VARBINARY(MAX)"
		}
		return "VARBINARY(8000)"
	case civil.DateTime:
		return "DATETIME2(6)"
	case int, int64:
		return "BIGINT"
	case string:
		if len(v) > 4000 {
			return "NVARCHAR(MAX)"
		}
	}
	switch of {
	case "instant":
		return "DATETIME2(6)"
	case "int":
		return "BIGINT"
	}
	return "NVARCHAR(4000)"
}

func absent(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []byte:
		return v == nil
	case sql.NullString:
		return !v.Valid
	}
	return false
}
