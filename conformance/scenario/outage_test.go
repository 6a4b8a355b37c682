package scenario_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

func TestDatabaseAwayAtStartIsSaidAndRetriedThenEndsTheProcess(t *testing.T) {
	f := fleet(t, nil)
	u, err := url.Parse(f.Database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = "127.0.0.1:1" // nobody listens there
	r := f.Launch("a", scenario.Settings{"sutra.datasource.url": u.String(), "sutra.datasource.connect-timeout": "PT3S"})
	if code := r.AwaitExit(20 * time.Second); code <= 0 {
		t.Errorf("got exit code %d, want one above 0", code)
	}
	log := r.Log()
	if n := strings.Count(log, "trying again"); n < 2 {
		t.Errorf("got %d retries in the log, want at least 2:\n%s", n, log)
	}
	if !strings.Contains(log, "SUTRA.STORE.ACCESS.UNAVAILABLE") {
		t.Errorf("the log does not say what is wrong:\n%s", log)
	}
	if password, _ := u.User.Password(); strings.Contains(log, password) {
		t.Errorf("the log tells the password:\n%s", log)
	}
}

// A wrong password is no outage: the process ends at once and says what to correct.
func TestWrongPasswordIsSaidAtOnce(t *testing.T) {
	f := fleet(t, nil)
	u, err := url.Parse(f.Database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "certainly-wrong")
	r := f.Launch("a", scenario.Settings{"sutra.datasource.url": u.String(), "sutra.datasource.connect-timeout": "PT60S"})
	if code := r.AwaitExit(20 * time.Second); code <= 0 {
		t.Errorf("got exit code %d, want one above 0", code)
	}
	log := r.Log()
	if !strings.Contains(log, "SUTRA.STORE.ACCESS.DENIED") || !strings.Contains(log, "sutra.datasource.url") || strings.Contains(log, "certainly-wrong") {
		t.Errorf("the log does not say what to correct, or tells the password:\n%s", log)
	}
}

// patient is for a database that comes and goes: a send has to be settled within the claim timeout of its stamp, or another replica makes
// it again, and a machine under load takes its time over that.
var patient = scenario.Settings{"sutra.outbox.claim-timeout": "PT15S"}

func TestDatabaseAwayWhileRunningLosesNothing(t *testing.T) {
	const parked, during = 20, 40
	s := alone(t)
	f := s.Fleet(t, patient)
	a := f.Start("a")
	a.Deploy(orders)
	park(t, a, parked)

	if err := s.Server.Kill(); err != nil {
		t.Fatal(err)
	}
	f.Eventually("ready says that the database is away", func() error { return a.Health("ready", http.StatusServiceUnavailable) })
	if err := a.Health("live", http.StatusOK); err != nil {
		t.Errorf("while the database is away: %v", err)
	}
	refused, err := a.Send(start(parked + 1))
	if err != nil || refused.Status != http.StatusServiceUnavailable || !refused.Problem().Retryable {
		t.Errorf("a message while the database is away: got %s, %v; want 503, retryable", refused, err)
	}

	// These clients begin while it is away, and insist.
	var wg sync.WaitGroup
	for i := 1; i <= parked+during; i++ {
		wg.Go(func() {
			if i > parked {
				if answer, err := a.Insist(start(i)); err != nil || !answer.Good() {
					t.Errorf("order %d: got %s, %v; want it started", i, answer, err)
				}
			}
			if answer, err := a.Insist(decide(i)); err != nil || !answer.Good() {
				t.Errorf("decision %d: got %s, %v; want it taken", i, answer, err)
			}
		})
	}
	if err := s.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	a.AwaitReady()
	t.Logf("ready %v after the database was back", time.Since(back).Round(10*time.Millisecond))
	wg.Wait()
	wantEnded(t, f, a, parked+during)
	wantShippedOnce(t, f, parked+during)
}

// The database dies under load, where commits are under way: what they did is uncertain, and still nothing is lost or doubled.
func TestDatabaseKilledUnderLoadLosesAndDoublesNothing(t *testing.T) {
	const number, kills = 300, 3
	s := alone(t)
	f := s.Fleet(t, patient)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(orders)
	done := make(chan struct{})
	go func() {
		defer close(done)
		crossOver(t, a, b, number)
	}()
	for range kills {
		time.Sleep(500 * time.Millisecond)
		if err := s.Server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	a.AwaitReady()
	wantEnded(t, f, a, number)
	wantShipped(t, f, number, kills)
}

func TestKilledConnectionsLoseAndDoubleNothing(t *testing.T) {
	const number = 300
	s := alone(t)
	f := s.Fleet(t, patient)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(orders)
	ended := 0
	during(func() { crossOver(t, a, b, number) }, func() {
		n, err := s.Server.Disconnect(t.Context(), 1)
		if err != nil {
			t.Error(err)
		}
		ended += n
		time.Sleep(20 * time.Millisecond)
	})
	t.Logf("%d connections were ended", ended)
	if ended == 0 {
		t.Error("no connection was ended: this proves nothing")
	}
	wantEnded(t, f, a, number)
	wantShippedOnce(t, f, number)
}

func TestFailoverToReadOnlyAndBackLosesAndDoublesNothing(t *testing.T) {
	const number = 200
	s := alone(t)
	f := s.Fleet(t, patient)
	a, b := f.Start("a"), f.Start("b")
	a.Deploy(orders)
	during(func() { crossOver(t, a, b, number) }, func() {
		if err := s.Server.ReadOnly(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(500 * time.Millisecond)
		if err := s.Server.ReadWrite(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
	})
	wantEnded(t, f, a, number)
	wantShippedOnce(t, f, number)
}

// crossOver starts the orders 1 to n through one replica and decides each through the other, insisting.
func crossOver(t *testing.T, a, b *scenario.Replica, n int) {
	t.Helper()
	each(n, func(i int) {
		one, other := a, b
		if i%2 == 0 {
			one, other = b, a
		}
		if answer, err := one.Insist(start(i)); err != nil || !answer.Good() {
			t.Errorf("order %d: got %s, %v; want it started", i, answer, err)
		}
		if answer, err := other.Insist(decide(i)); err != nil || !answer.Good() {
			t.Errorf("decision %d: got %s, %v; want it taken", i, answer, err)
		}
	})
}

// during repeats a disturbance for as long as the work lasts.
func during(work, disturb func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		select {
		case <-done:
			return
		default:
			disturb()
		}
	}
}
