package conformance_test

import (
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// exceptions are the tests that a server cannot satisfy because it only stands in for the real one, with the reason, and logs them:
// Babelfish for PostgreSQL speaks the protocol and the language of SQL Server. A real server has none.
func exceptions(t *testing.T, server *provision.Server) map[string]string {
	t.Helper()
	if server.Dialect != "sqlserver" {
		return nil
	}
	address, err := server.Administrator(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := provision.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version string
	var stands sql.NullInt64
	ask := "SELECT CAST(@@VERSION AS NVARCHAR(300)), CAST(SERVERPROPERTY('Babelfish') AS INT)"
	if err := db.QueryRowContext(t.Context(), ask).Scan(&version, &stands); err != nil {
		t.Fatal(err)
	}
	t.Log(version)
	if stands.Int64 != 1 {
		return nil
	}
	all := notOnBabelfish()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Logf("not on Babelfish: %s: %s", name, all[name])
	}
	return all
}

// notOnBabelfish are the tests that Babelfish cannot satisfy, with the reason.
func notOnBabelfish() map[string]string {
	const (
		waits = "Babelfish ignores READPAST: it waits for a locked row instead of passing over it"
		scans = "Babelfish's planner has no estimate for what a join of BINARY columns answers, and reads the whole table that it should look up"
	)
	return map[string]string{
		"ClaimNeverWaits":                         waits,
		"TakeSkipsWhatOthersHold":                 waits,
		"AbandonedTransactionIsEnded":             waits,
		"GroupStatementsDoNotGrowWithTheirTables": scans,
		"TheDoctorFindsWhatIsBroken":              "Babelfish calls itself SQL Server 2014, gives indexes other names, and has no sys.dm_tran_session_transactions",
		"ListsDoNotGrowWithTheirTables":           scans + "; only the list by business key joins",
	}
}
