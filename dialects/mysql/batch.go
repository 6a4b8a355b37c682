package mysql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/sutra-engine/sutra/dialects"
)

// batch is the statements with semicolons between them, as the driver's multiStatements has it. One that has to hit a number of rows is
// followed by a subquery of two rows where one is due, unless it did: error 1242 ends the text. MariaDB's DO would swallow it.
func batch(parts []dialects.Part, whole bool) (string, []any) {
	var texts []string
	var args []any
	if whole {
		texts = append(texts, "BEGIN")
	}
	for _, p := range parts {
		texts = append(texts, p.SQL)
		args = append(args, p.Args...)
		counted := "ROW_COUNT()"
		if strings.HasPrefix(p.SQL, "SELECT") {
			counted = "FOUND_ROWS()"
		}
		switch {
		case p.Want >= 0:
			texts = append(texts, fmt.Sprintf("SET @sutra_hit = IF(%s = %d, 1, (SELECT 1 UNION ALL SELECT 2))", counted, p.Want))
		case p.Count:
			texts = append(texts, "SELECT "+counted)
		}
	}
	if whole {
		texts = append(texts, "COMMIT")
	}
	return strings.Join(texts, ";\n"), args
}

// answered says that a statement was refused. 1180 and 3100 are answers to COMMIT, and do not say whether it was done.
func answered(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && e.Number != 1180 && e.Number != 3100
}
