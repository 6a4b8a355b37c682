package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

var (
	dialect = flag.String("dialect", "sqlite", "the database that the replicas run on")
	dsn     = flag.String("dsn", "", "its administrator's address; empty: what provision finds")

	stage *scenario.Stage
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	stage, err = scenario.Prepare(context.Background(), *dialect, *dsn, buildFlags...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := errors.Join(stage.Close(), closeBrokers()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// fleet is a fleet of several replicas, with the orders package at hand.
func fleet(t *testing.T, settings scenario.Settings) *scenario.Fleet {
	t.Helper()
	if *dialect == "sqlite" {
		t.Skip("SQLite serves one process: this scenario needs a server (-dialect=postgres)")
	}
	t.Parallel()
	return stage.Fleet(t, settings)
}

// parts is a fleet on any dialect, with its replicas. SQLite serves one process, which then plays every part.
func parts(t *testing.T, settings scenario.Settings, names ...string) (*scenario.Fleet, []*scenario.Replica) {
	t.Helper()
	t.Parallel()
	f := stage.Fleet(t, settings)
	all := make([]*scenario.Replica, len(names))
	for i, name := range names {
		if i > 0 && *dialect == "sqlite" {
			all[i] = all[0]
			continue
		}
		all[i] = f.Start(name)
	}
	return f, all
}

// heir is who goes on when a replica is dead: the other, or where that was the same process, the next one.
func heir(f *scenario.Fleet, dead, other *scenario.Replica) *scenario.Replica {
	if other != dead {
		return other
	}
	return f.Start(dead.Name + "-again")
}

// alone is a stage whose server no other test uses, so that it may be broken.
func alone(t *testing.T) *scenario.Stage {
	t.Helper()
	if *dialect == "sqlite" {
		t.Skip("SQLite has no server to break (-dialect=postgres)")
	}
	if *dsn != "" {
		t.Skip("the server at -dsn is somebody else's and is not broken")
	}
	t.Parallel()
	server, err := provision.Start(t.Context(), *dialect, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scenario.Stage{Binary: stage.Binary, Server: server}
}

var orders = filepath.Join("testdata", "orders")

type order struct {
	Number int `json:"number"`
}

func start(n int) scenario.Message {
	return scenario.Message{Channel: "order", Event: fmt.Sprintf("order-%d", n), Body: order{n}}
}

func decide(n int) scenario.Message {
	return scenario.Message{Channel: "decision", Event: fmt.Sprintf("decision-%d", n), Body: order{n}}
}

// park starts the orders 1 to n and leaves them waiting. It answers their instances by number.
func park(t *testing.T, r *scenario.Replica, n int) map[int]string {
	t.Helper()
	var mu sync.Mutex
	instances := map[int]string{}
	each(n, func(i int) {
		a, err := r.Insist(start(i))
		if err != nil || !a.Good() {
			t.Errorf("order %d: got %s, %v; want it started", i, a, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		instances[i] = a.Instance()
	})
	if t.Failed() {
		t.FailNow()
	}
	return instances
}

// each calls work for 1 to n, a few at a time.
func each(n int, work func(int)) {
	const atOnce = 16
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := 1; i <= n; i++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			work(i)
		})
	}
	wg.Wait()
}

// wantEnded requires that there are exactly n instances and that each of them completed.
func wantEnded(t *testing.T, f *scenario.Fleet, r *scenario.Replica, n int) {
	t.Helper()
	f.Eventually("every instance ends", func() error {
		counts := map[string]int{}
		for _, i := range r.Instances("") {
			counts[i.Status]++
		}
		if len(counts) != 1 || counts["completed"] != n {
			return fmt.Errorf("got %v, want %d completed and no other", counts, n)
		}
		return nil
	})
}

// wantShippedOnce requires that each of the orders 1 to n was emitted once, and arrived once.
func wantShippedOnce(t *testing.T, f *scenario.Fleet, n int) {
	t.Helper()
	wantShipped(t, f, n, 0)
}

// wantShipped requires that each of the orders 1 to n was emitted once. As many emissions may have arrived twice, under the same key,
// as there were kills in the middle of a batch of sends.
func wantShipped(t *testing.T, f *scenario.Fleet, n, kills int) {
	t.Helper()
	f.Eventually("every emission arrives", func() error {
		if got := len(f.Receiver.Deliveries()); got < n {
			return fmt.Errorf("got %d of %d", got, n)
		}
		return nil
	})
	twice := 0
	for key, times := range f.Receiver.Deliveries() {
		if times != 1 && kills == 0 {
			t.Errorf("emission %s: arrived %d times, want once", key, times)
		}
		twice += times - 1
	}
	if kills > 0 {
		t.Logf("%d of %d emissions arrived again under the same key, over %d kills", twice, n, kills)
	}
	byOrder := map[int]int{}
	for key, body := range f.Receiver.Bodies() {
		var o order
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Errorf("emission %s: got %q: %v", key, body, err)
		}
		byOrder[o.Number]++
	}
	for i := 1; i <= n; i++ {
		if byOrder[i] != 1 {
			t.Errorf("order %d: got %d emissions, want 1", i, byOrder[i])
		}
	}
	if len(byOrder) != n {
		t.Errorf("got emissions of %d orders, want %d", len(byOrder), n)
	}
}
