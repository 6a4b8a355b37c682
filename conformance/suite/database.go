package suite

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

//go:embed testdata/schema.golden
var golden string

func databaseTests() []test {
	return []test{
		{"SchemaIsTheLogicalOne", schemaIsTheLogicalOne},
		{"CheckAnswers", checkAnswers},
		{"InstantsKeepTheirMicroseconds", instantsKeepTheirMicroseconds},
		{"ClockIsTheDatabases", clockIsTheDatabases},
		{"DeadlockIsRetried", deadlockIsRetried},
		{"CutConnectionsLoseNothingAndDoubleNothing", cutConnections},
		{"GroupStatementsDoNotGrowWithTheirTables", statementsDoNotGrow},
	}
}

// schemaIsTheLogicalOne compares the schema that the migrations made with the one all dialects share.
func schemaIsTheLogicalOne(t *testing.T, h Harness) {
	f := shared(t, h)
	var got []string
	for _, c := range f.db.Rows(t, h.Words.Columns) {
		table, need := strings.TrimPrefix(c[0], "sutra_"), "required"
		if table == "migration" {
			continue
		}
		if c[3] == "YES" {
			need = "optional"
		}
		line := fmt.Sprintf("%s.%s %s %s", table, c[1], strings.ToLower(c[2]), need)
		if c[4] != "0" {
			line += " key " + c[4]
		}
		got = append(got, line)
	}
	for _, u := range f.db.Rows(t, h.Words.Uniques) {
		got = append(got, uniqueName(u[0])+" unique")
	}
	var want []string
	for line := range strings.Lines(golden) {
		fields := strings.Fields(line)
		if native := h.Words.Types[fields[1]]; native != "" {
			fields[1] = strings.ToLower(native)
		}
		want = append(want, strings.Join(fields, " "))
	}
	slices.Sort(got)
	slices.Sort(want)
	f.want("schema", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// uniqueName turns sutra_table_index into table~index.
func uniqueName(index string) string {
	name := strings.TrimPrefix(index, "sutra_")
	at := strings.LastIndex(name, "_")
	return name[:at] + "~" + name[at+1:]
}

func checkAnswers(t *testing.T, h Harness) {
	f := own(t, h)
	f.must(f.store.Check(t.Context()))
	f.want("exclusive", f.store.Exclusive(), !h.Dialect.Caps.Shared)
	f.db.Exec(t, "UPDATE sutra_migration SET checksum = 'x'")
	if err := f.store.Check(t.Context()); !errors.Is(err, fault.SchemaVersion) {
		t.Fatalf("check of a schema that was changed: %v", err)
	}
	f.db.Exec(t, "DELETE FROM sutra_migration")
	if err := f.store.Check(t.Context()); !errors.Is(err, fault.SchemaVersion) {
		t.Fatalf("check of an old schema: %v", err)
	}
	f.db.Exec(t, "DROP TABLE sutra_migration")
	if err := f.store.Check(t.Context()); !errors.Is(err, fault.SchemaVersion) {
		t.Fatalf("check of no schema: %v", err)
	}
}

func instantsKeepTheirMicroseconds(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Waits = nil
	for i, at := range []time.Time{
		time.Date(2026, 3, 29, 1, 59, 59, 999_999_000, time.UTC), // the hour that is not there in Europe
		time.Date(2026, 10, 25, 2, 30, 0, 1_000, time.UTC),       // the hour that is there twice
		time.Date(2038, 1, 19, 3, 14, 8, 123_456_000, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 1, 0, time.FixedZone("", 5*3600+1800)).Add(24 * time.Hour),
		time.Date(9998, 12, 31, 23, 59, 59, 500_000_000, time.UTC),
	} {
		n.Waits = append(n.Waits, ports.Wait{ID: ports.WaitID(i + 1), Kind: ports.WaitTimer, Node: "t", Due: at})
	}
	f.start(n)
	got, err := f.store.Views().Waits(t.Context(), n.Ref)
	f.must(err)
	for i, w := range got {
		f.want("due", w.Due, n.Waits[i].Due.UTC())
		f.want("zone", w.Due.Location(), time.UTC)
	}
	f.want("waits", len(got), len(n.Waits))
}

func clockIsTheDatabases(t *testing.T, h Harness) {
	f := shared(t, h)
	s := f.db.Open(t, Replica{})
	last := s.Clock().Now()
	for range 1000 {
		now := s.Clock().Now()
		if now.Before(last) {
			t.Fatalf("the clock ran back from %s to %s", last, now)
		}
		last = now
	}
	f.want("zone", last.Location(), time.UTC)
	f.want("below microseconds", last.Nanosecond()%1000, 0)
	if off := time.Since(last).Abs(); off > time.Minute { // the server of a test runs on this machine, or near
		t.Fatalf("the clock is off by %s", off)
	}
}

// deadlockIsRetried makes a ring with a transaction beside the store: whoever the database ends, the group lands.
func deadlockIsRetried(t *testing.T, h Harness) {
	f := shared(t, h)
	if !h.Dialect.Caps.Writers {
		t.Skip("there is one writer: no two can wait for each other")
	}
	two := f.parked(2)
	first, last := two[0].ID, two[1].ID
	if first.String() > last.String() {
		first, last = last, first
	}
	lock := func(id ports.ID) string {
		return fmt.Sprintf("UPDATE sutra_instance SET updated_at = updated_at WHERE id = %s", h.Words.Literal(id[:]))
	}
	steps := []ports.Step{f.step(f.own(f.store, "a/1", first)), f.step(f.own(f.store, "a/1", last))}
	more, release := f.db.Hold(t, lock(last))
	var out []ports.Answer
	var wg sync.WaitGroup
	wg.Go(func() { out = f.store.Instances().Commit(t.Context(), steps) })
	time.Sleep(300 * time.Millisecond) // the group has the first row by now, and waits for the last
	_ = more(lock(first))              // the ring closes: one of both is ended
	release()
	wg.Wait()
	f.want("outcomes", tally(out), "[done:2]")
}

// cutConnections ends the store's connections while groups start, before, at and after their commits. What was answered Done is
// there, once; what is there was answered Done, or not settled.
func cutConnections(t *testing.T, h Harness) {
	f := own(t, h)
	if f.db.Sever(t) < 0 {
		t.Skip("there are no connections to cut")
	}
	stores := []ports.Store{f.open(Replica{}), f.open(Replica{})}
	stop := time.Now().Add(2 * time.Second)
	var mu sync.Mutex
	outcomes := map[ports.Outcome]int{}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for time.Now().Before(stop) {
				var group []ports.NewInstance
				for range 16 {
					group = append(group, f.fresh())
				}
				out := stores[k%2].Instances().Start(t.Context(), group)
				mu.Lock()
				for _, a := range out {
					outcomes[a.Outcome]++
				}
				mu.Unlock()
			}
		})
	}
	cuts := 0
	for time.Now().Before(stop) {
		cuts += f.db.Sever(t)
		time.Sleep(25 * time.Millisecond)
	}
	wg.Wait()
	rows := f.rows("instance", "1 = 1")
	t.Logf("%d connections cut, answers %v, %d rows", cuts, outcomes, rows)
	done, open := outcomes[ports.Done], outcomes[ports.Unsettled]
	if cuts == 0 || rows < done || rows > done+open || len(slices.Collect(maps.Keys(outcomes))) > 2 {
		t.Fatalf("%d connections cut, answers %v, %d rows", cuts, outcomes, rows)
	}
	if emitted := f.rows("outbox", "1 = 1"); emitted != rows {
		t.Fatalf("%d instances and %d emissions", rows, emitted)
	}
}

// statementsDoNotGrow measures the group statements over tables of 100 and of 100,000 rows that nobody has analysed.
func statementsDoNotGrow(t *testing.T, h Harness) {
	f := own(t, h)
	if testing.Short() {
		t.Skip("it loads many rows")
	}
	const few, many = 100, 100_000
	f.fill(h, 0, few)
	f.measure()          // warms every cache
	small := f.measure() // the faster of some runs, for each kind of work
	f.fill(h, few, many)
	f.measure()
	large := f.measure()
	for _, what := range slices.Sorted(maps.Keys(small)) {
		t.Logf("%-10s %8s over %d rows, %8s over %d", what, small[what].Round(time.Microsecond), few, large[what].Round(time.Microsecond), many)
		for again := 0; again < 3 && large[what] > 4*small[what]+5*time.Millisecond; again++ { // a busy machine, or the truth
			for kind, took := range f.measure() {
				large[kind] = min(large[kind], took)
			}
		}
		if large[what] > 4*small[what]+5*time.Millisecond {
			t.Errorf("%s grows with its tables: %s over %d rows, %s over %d", what, small[what], few, large[what], many)
		}
	}
}

// fill writes instances with what belongs to them, by plain SQL: into all tables, or into these.
func (f *fixture) fill(h Harness, from, to int, only ...string) {
	f.Helper()
	const bite = 20_000 // what one statement writes in the time that a driver waits, on a busy machine too
	for ; to-from > bite; from += bite {
		f.fill(h, from, from+bite, only...)
	}
	number := fmt.Sprintf("(s.n + %d)", from)
	id, key := h.Words.Bytes(number, 16), h.Words.Bytes(number, 32)
	name := ports.NewKey("message", "payments")
	at := "(SELECT activated_at FROM sutra_deployment WHERE id = '" + string(f.active) + "')"
	rows := " FROM " + series(to-from)
	for _, insert := range []string{
		"instance (id, tenant, deployment, module, process, channel, status, snapshot, claim_epoch, created_at, updated_at) " +
			fmt.Sprintf("SELECT %s, '%s', '%s', 'm', 'p', 'c', 'suspended', %s, 0, %s, %s", id, f.tenant, f.active, key, at, at),
		"wait (instance, wait_id, tenant, kind, node, name_key, armed_at) " +
			fmt.Sprintf("SELECT %s, 1, '%s', 'message', 'n', %s, %s", id, f.tenant, h.Words.Literal(name[:]), at),
		"alias (instance, wait_id, alias_key, tenant, module, name) " +
			fmt.Sprintf("SELECT %s, 0, %s, '%s', 'm', 'order'", id, key, f.tenant),
		"inbox (event_key, tenant, channel, kind, state, instance, attempts, accepted_at, done_at) " +
			fmt.Sprintf("SELECT %s, '%s', 'c', 'message', 'done', %s, 0, %s, %s", key, f.tenant, id, at, at),
		"outbox (id, tenant, deployment, instance, seq, destination, content_type, headers, wait_id, attempt, attempts, next_attempt_at, poisoned, created_at) " +
			fmt.Sprintf("SELECT %s, '%s', '%s', %s, 1, %s, '', %s, 0, 0, 0, %s, 1, %s", id, f.tenant, f.active, id, text(h, "x"), key, at, at),
		"history (instance, seq, tenant, at, step, document) " +
			fmt.Sprintf("SELECT %s, 1, '%s', %s, %s, %s", id, f.tenant, at, id, key),
	} {
		if table, _, _ := strings.Cut(insert, " "); len(only) == 0 || slices.Contains(only, table) {
			f.db.Exec(f.T, "INSERT INTO sutra_"+insert+rows)
		}
	}
}

// text is a long text in a statement: some dialects keep it as bytes.
func text(h Harness, s string) string {
	if h.Words.Types["long"] == h.Words.Types["bytes"] {
		return h.Words.Literal([]byte(s))
	}
	return "'" + s + "'"
}

// measure does each kind of group work some times and keeps the shortest.
func (f *fixture) measure() map[string]time.Duration {
	f.Helper()
	best := map[string]time.Duration{}
	timed := func(what string, do func()) {
		start := time.Now()
		do()
		if took := time.Since(start); best[what] == 0 || took < best[what] {
			best[what] = took
		}
	}
	for range 4 {
		var group []ports.NewInstance
		var refs []ports.Ref
		var lookups []ports.Lookup
		for range 16 {
			n := f.fresh()
			group, refs = append(group, n), append(refs, n.Ref)
			lookups = append(lookups, ports.Lookup{
				Tenant: f.tenant, Wait: n.Waits[0].Name, Module: f.module, Alias: "order", Value: n.Aliases[0].Value,
			})
		}
		timed("start", func() { f.start(group...) })
		timed("refuse", func() {
			again := slices.Clone(group)
			for i := range again {
				again[i].ID = f.ids.New()
			}
			f.want("starts of taken messages", tally(f.store.Instances().Start(f.Context(), again)), "[duplicate:16]")
		})
		timed("find", func() {
			got, err := f.store.Correlation().Find(f.Context(), lookups, 2)
			f.must(err)
			f.want("found", len(got[15]), 1)
		})
		var steps []ports.Step
		timed("claim", func() {
			got, err := f.store.Claims().Claim(f.Context(), "a/1", refs, f.silent())
			f.must(err)
			for _, c := range got {
				steps = append(steps, f.step(ports.Claim{Ref: c.Ref, Owner: "a/1", Epoch: c.Epoch}))
			}
		})
		timed("beat", func() {
			var held []ports.Claim
			for i := range steps {
				held = append(held, steps[i].Claim)
			}
			_, err := f.store.Claims().Beat(f.Context(), held)
			f.must(err)
		})
		timed("commit", func() { f.want("commits", tally(f.store.Instances().Commit(f.Context(), steps)), "[done:16]") })
		var inbox []ports.InboxRef
		for i := range steps {
			inbox = append(inbox, steps[i].Consumed[0].InboxRef)
		}
		timed("replies", func() {
			got, err := f.store.Inbox().Replies(f.Context(), inbox)
			f.must(err)
			f.want("taken", len(got), 16)
		})
		timed("of", func() {
			_, err := f.store.Inbox().Of(f.Context(), refs)
			f.must(err)
		})
		var sent []ports.Stamped
		timed("take", func() { sent = f.take(f.store, "w", 64) })
		timed("settle", func() { f.settleAll(f.store, sent, ports.Sent) })
	}
	return best
}
