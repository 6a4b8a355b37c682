// Package suite is what every store has to prove: the ports' contracts as tests, each a sentence about two replicas of one database.
// A dialect outside this repository runs the same tests. The suite opens nothing by itself: the Harness does.
package suite

import (
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// Replica is how a test wants its store.
type Replica struct {
	Clock ports.Clock // nil: the database's time
	Bold  bool        // never asks before it has written: tests of what the write alone refuses
}

// Database is one migrated database of the dialect under test.
type Database interface {
	// Open opens one more replica. It is closed when the test ends.
	Open(t testing.TB, r Replica) ports.Store
	// Exec runs a statement of the test's own, past the store and past row security.
	Exec(t testing.TB, statement string)
	// Rows answers a query, every value as text, past the store and past row security.
	Rows(t testing.TB, query string) [][]string
	// Hold runs a statement in a transaction beside the store, and answers how to run more in it and how to end it.
	Hold(t testing.TB, statement string) (more func(statement string) error, release func())
	// Abandon leaves a transaction of the store's own role open, with this statement run in it, as a process that is stopped does.
	Abandon(t testing.TB, statement string)
	// Seen answers a query's one number as the store's own role sees it in a transaction of the tenant; empty: of none.
	Seen(t testing.TB, tenant, query string) int
	// Refuses answers the error of a statement in a transaction of the tenant, which is rolled back; nil: it was done.
	Refuses(t testing.TB, tenant, statement string) error
	// Sever ends every connection of the store's role, as a failing network would, and says how many; -1: there are none to end.
	Sever(t testing.TB) int
}

// Harness gives the suite its databases.
type Harness struct {
	Dialect dialects.Dialect
	// Shared is one database for all tests that keep to their own tenant.
	Shared Database
	// Own makes a database for one test alone: for tests of what is global.
	Own func(t testing.TB) Database
	// Words of the dialect that tests need for what no port does.
	Words Words
	// Skip names tests that this database cannot satisfy, with the reason: stand-ins of the real thing have some.
	Skip map[string]string
}

// Words are how a dialect says what the suite writes by itself.
type Words struct {
	Literal func(bytes []byte) string         // bytes, in a statement
	Bytes   func(number string, n int) string // n bytes from an integer expression, in its order
	Columns string                            // a query: table, column, type, YES or NO for nullable, place in the primary key or 0
	Uniques string                            // a query: the names of unique indexes that are no primary key
	Types   map[string]string                 // ours → the dialect's, as Columns says them
	// Sessions is a query for the ids of all connections but the administrator's own; empty: there are none. End ends one, with its id
	// behind; empty: the query itself ends them.
	Sessions string
	End      string
}

type test struct {
	name string
	run  func(t *testing.T, h Harness)
}

// Run proves the store. Tests run in parallel, the same on every dialect: the log says how many, and which had to be skipped.
func Run(t *testing.T, h Harness) {
	var all []test
	for _, part := range [][]test{
		instanceTests(), claimTests(), inboxTests(), correlationTests(), deploymentTests(), outboxTests(), timerTests(), leaseTests(),
		taskTests(), operationTests(), viewTests(), auditTests(), verifyTests(), tenantTests(), databaseTests(), modelTests(),
	} {
		all = append(all, part...)
	}
	var mu sync.Mutex
	var skipped []string
	t.Cleanup(func() { t.Logf("%s: %d tests, %d skipped %v", h.Dialect.Name, len(all), len(skipped), skipped) })
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				if t.Skipped() {
					skipped = append(skipped, c.name)
				}
			})
			if why := h.Skip[c.name]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			c.run(t, h)
		})
	}
}

// RunTenants proves alone that no tenant reaches what is another's.
func RunTenants(t *testing.T, h Harness) {
	for _, c := range tenantTests() {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// frozen is a clock that stands until it is moved.
type frozen struct {
	mu sync.Mutex
	at time.Time
}

// Now is the same instant again.
func (f *frozen) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *frozen) move(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.Add(d)
}
