package conformance_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/conformance/provision"
)

// TestAMigrationTakesItsTime lets one wait for longer than any statement of a replica may take.
func TestAMigrationTakesItsTime(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		if server.Dialect != "postgres" {
			t.Skip("the bound is the server's on PostgreSQL alone; elsewhere it is the driver's, and a unit test has it")
		}
		w := admitted(t, server)
		w.exec(w.admin, "DELETE FROM sutra_migration WHERE number = 3")
		holding, err := w.admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holding.ExecContext(t.Context(), "LOCK TABLE sutra_instance IN ROW EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		var held sync.WaitGroup
		held.Go(func() {
			time.Sleep(1500 * time.Millisecond)
			_ = holding.Rollback()
		})
		if err := database.Migrate(t.Context(), database.Config{URL: w.url + "?statement_timeout=500"}); err != nil {
			t.Error(err)
		}
		held.Wait()
	})
}
