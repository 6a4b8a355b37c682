package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// eachServer runs a test on a server of its own for every dialect that was asked for.
func eachServer(t *testing.T, run func(t *testing.T, server *provision.Server)) {
	t.Helper()
	for name := range strings.SplitSeq(*dialectFlag, ",") {
		t.Run(name, func(t *testing.T) { run(t, start(t, name)) })
	}
}

func TestMigrationsRunOnceByFourReplicasAtOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		url := server.Database(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				err := database.Migrate(t.Context(), database.Config{URL: url})
				if err != nil && !(server.Dialect == "sqlite" && errors.Is(err, fault.StoreLocked)) { // one process alone has a file
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := database.Migrate(t.Context(), database.Config{URL: url}); err != nil {
			t.Errorf("once more: %v", err)
		}
		s, err := database.Open(t.Context(), database.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if v, err := s.Changes().Version(t.Context()); err != nil || v != 1 {
			t.Errorf("version: got %d, %v; want the one row", v, err)
		}
	})
}

// faulty is a store on a server that can be harmed.
type faulty struct {
	*testing.T
	server *provision.Server
	store  *database.Store
	ids    system.IDs
}

const deployed = ports.DeploymentID("d")

func harm(t *testing.T, server *provision.Server, patience time.Duration) *faulty {
	t.Helper()
	if server.Dialect == "sqlite" {
		t.Skip("there is no server")
	}
	url := server.Database(t)
	if err := database.Migrate(t.Context(), database.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	s, err := database.Open(t.Context(), database.Config{URL: url, MaxConns: 4, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f := &faulty{T: t, server: server, store: s}
	_, a, err := s.Deployments().Activate(t.Context(), ports.Activation{Slot: ports.Slot{Tenant: "t"}, ID: deployed, Archive: []byte("x")})
	if err != nil || a.Outcome != ports.Done {
		t.Fatal(a, err)
	}
	return f
}

// start starts one instance and answers what became of it.
func (f *faulty) start(ctx context.Context) ports.Answer {
	return f.store.Instances().Start(ctx, []ports.NewInstance{{
		Ref: ports.Ref{Tenant: "t", ID: f.ids.New()}, Deployment: deployed, Status: ports.Suspended, Snapshot: []byte("s"),
	}})[0]
}

// recovers wants a start to be done again before long.
func (f *faulty) recovers(what string) {
	f.Helper()
	stop := time.Now().Add(30 * time.Second)
	for {
		a := f.start(f.Context())
		if a.Outcome == ports.Done {
			return
		}
		if time.Now().After(stop) {
			f.Fatalf("after %s: %v", what, a.Err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestServerRestartedUnderTheStore(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		f := harm(t, server, 0)
		if err := server.Restart(t.Context()); errors.Is(err, provision.ErrForeign) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		f.recovers("a restart")
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		// On a connection that is found dead only after sending, nobody can tell.
		a := f.start(ctx)
		if d := fault.Of(a.Err).Code.Disposition(); a.Err == nil || d != fault.Redeliver && d != fault.Uncertain {
			t.Errorf("while it is down: got %+v, want trouble that may be sent again", a)
		}
		if err := f.store.Check(ctx); err == nil {
			t.Error("while it is down the check finds nothing")
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.recovers("a power cut")
	})
}

func TestServerThatTakesNoWrites(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		f := harm(t, server, 0)
		if err := server.ReadOnly(t.Context()); err != nil {
			t.Skip(err)
		}
		stop := time.Now().Add(10 * time.Second)
		for {
			a := f.start(t.Context())
			if errors.Is(a.Err, fault.StoreReadOnly) {
				break
			}
			if a.Outcome == ports.Done || time.Now().After(stop) { // a session that was cut off may be told first
				t.Fatalf("a start: got %+v, want %s", a, fault.StoreReadOnly)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := server.ReadWrite(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.recovers("writes were allowed again")
	})
}

func TestServerThatHangs(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		f := harm(t, server, time.Second)
		if err := server.Pause(); err != nil {
			t.Skip(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		a := f.start(ctx)
		if took := time.Since(began); a.Err == nil || took > 20*time.Second {
			t.Errorf("a start: got %+v after %s, want trouble before long", a, took)
		}
		// Loops have contexts that never end: nothing they ask may hang as long as the server does.
		for what, ask := range map[string]func() error{
			"a batch of emissions": func() error { _, err := f.store.Outbox().Take(t.Context(), "w", time.Time{}, 10); return err },
			"the version":          func() error { _, err := f.store.Changes().Version(t.Context()); return err },
		} {
			began := time.Now()
			if err := ask(); err == nil || time.Since(began) > 20*time.Second {
				t.Errorf("%s: got %v after %s, want trouble before long", what, err, time.Since(began))
			}
		}
		if err := server.Resume(); err != nil {
			t.Fatal(err)
		}
		f.recovers("it went on")
		fmt.Fprintln(t.Output(), "while it hung:", a.Err)
	})
}

// TestARefusedTransactionIsNotLeftOpen in a connection that goes back to the pool, where its text ends before its COMMIT.
func TestARefusedTransactionIsNotLeftOpen(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		if server.Dialect != "mysql" && server.Dialect != "mariadb" {
			t.Skip("elsewhere the text or the driver undoes it")
		}
		w := admitted(t, server)
		s, err := database.Open(t.Context(), database.Config{URL: w.url, MaxConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ids := &system.IDs{}
		out := s.Instances().Commit(t.Context(), []ports.Step{{
			Claim: ports.Claim{Ref: ports.Ref{Tenant: "t", ID: ids.New()}, Owner: "nobody", Epoch: 1}, ID: ids.New(), Seq: 2, Status: ports.Suspended,
			Deployment: "d", Module: "m", Process: "p", Snapshot: []byte("x"),
		}})
		var open int
		if err := w.admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx").Scan(&open); err != nil {
			t.Fatal(err)
		}
		if out[0].Outcome != ports.ClaimLost || open != 0 {
			t.Errorf("got %+v, and %d transactions are open", out[0], open)
		}
	})
}
