package converge_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

var errAway = fault.StoreUnavailable.With("made up")

// shaky is a store that is away at times.
type shaky struct {
	ports.Store
	version func(ctx context.Context, call int) error
	archive func() error

	mu    sync.Mutex
	calls int
}

func (s *shaky) Changes() ports.Changes         { return shakyChanges{s.Store.Changes(), s} }
func (s *shaky) Deployments() ports.Deployments { return shakyDeployments{s.Store.Deployments(), s} }

type shakyChanges struct {
	ports.Changes
	of *shaky
}

func (s shakyChanges) Version(ctx context.Context) (ports.Version, error) {
	s.of.mu.Lock()
	s.of.calls++
	call := s.of.calls
	s.of.mu.Unlock()
	v, err := s.Changes.Version(ctx)
	return v, errors.Join(err, s.of.version(ctx, call))
}

type shakyDeployments struct {
	ports.Deployments
	of *shaky
}

func (s shakyDeployments) Archive(ctx context.Context, id ports.DeploymentID) ([]byte, error) {
	if err := s.of.archive(); err != nil {
		return nil, err
	}
	return s.Deployments.Archive(ctx, id)
}

func loop(t *testing.T) (*shaky, *converge.Loop) {
	t.Helper()
	store, err := database.Open(t.Context(), database.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := &shaky{Store: store, version: func(context.Context, int) error { return nil }, archive: func() error { return nil }}
	return s, converge.New(converge.Deps{
		Deployments: s.Deployments(), Changes: s.Changes(), Clock: store.Clock(), Log: slog.New(slog.DiscardHandler), Archives: archive.Default(),
		Poll: time.Hour, Applied: func() {},
	})
}

// deployed is a small package, active.
func deployed(t *testing.T, s *shaky) *deploy.Revision {
	t.Helper()
	a, err := archive.Seal(fstest.MapFS{
		"package.yaml":  {Data: []byte("labels: {tenant: acme, module: m, version: '1'}\n")},
		"channels.yaml": {Data: []byte("channels:\n  - {name: begin, transport: http, auth: {scheme: none}}\n")},
		"bpmn/p.bpmn": {Data: []byte(`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0">` +
			`<process id="p" isExecutable="true"><startEvent id="s"><extensionElements><q:source channel="begin"/></extensionElements></startEvent></process></definitions>`)},
	}, archive.Default())
	if err != nil {
		t.Fatal(err)
	}
	rev, findings := deploy.Compile(a, deploy.Limits{})
	if rev == nil {
		t.Fatal(findings)
	}
	_, answer, err := s.Deployments().Activate(t.Context(), ports.Activation{Slot: rev.Slot, ID: rev.ID, Archive: a.Bytes, Doors: rev.Doors})
	if err != nil || answer.Outcome != ports.Done {
		t.Fatal(answer, err)
	}
	return rev
}

// TestALookThatFailedIsNobodysAnswer: who waited for it must not take the set in hand for a fresh one.
func TestALookThatFailedIsNobodysAnswer(t *testing.T) {
	s, l := loop(t)
	if _, err := l.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	looking, goOn := make(chan struct{}), make(chan struct{})
	s.version = func(_ context.Context, call int) error {
		switch call {
		case 2:
			close(looking)
			<-goOn
		case 3:
			return errAway
		}
		return nil
	}
	var asked sync.WaitGroup
	asked.Go(func() { _, _ = l.Ask(t.Context()) })
	<-looking
	id := deployed(t, s).ID
	for range 2 {
		asked.Go(func() {
			if set, err := l.Ask(t.Context()); err == nil && set.Revision(id) == nil {
				t.Error("a set that was read before the call began is answered as a fresh one")
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // both wait
	close(goOn)
	asked.Wait()
}

// TestWhoGivesUpWaitingForALookIsLetGo while a database that hangs holds another.
func TestWhoGivesUpWaitingForALookIsLetGo(t *testing.T) {
	s, l := loop(t)
	looking, goOn := make(chan struct{}), make(chan struct{})
	s.version = func(_ context.Context, call int) error {
		if call == 1 {
			close(looking)
			<-goOn
		}
		return nil
	}
	var asked sync.WaitGroup
	asked.Go(func() { _, _ = l.Ask(t.Context()) })
	<-looking
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	gaveUp := make(chan error, 1)
	asked.Go(func() {
		_, err := l.Ask(ctx)
		gaveUp <- err
	})
	select {
	case err := <-gaveUp:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the time is over", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it still waits")
	}
	close(goOn)
	asked.Wait()
}

// TestARevisionThatCannotBeReadNowIsNotBroken: the set in hand stays, so that no door shuts, and the next look reads it.
func TestARevisionThatCannotBeReadNowIsNotBroken(t *testing.T) {
	s, l := loop(t)
	before, err := l.Ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := deployed(t, s).ID
	s.archive = func() error { return errAway }
	if _, err := l.Ask(t.Context()); !errors.Is(err, fault.StoreUnavailable) || l.Current() != before {
		t.Errorf("got %v and %+v, want %s and the set in hand", err, l.Current(), fault.StoreUnavailable)
	}
	s.archive = func() error { return nil }
	if set, err := l.Ask(t.Context()); err != nil || set.Revision(id) == nil {
		t.Errorf("got %v, want the revision", err)
	}
}
