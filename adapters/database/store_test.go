package database_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestMemoryNeedsNoMigrationAndIsExclusive(t *testing.T) {
	s, err := database.Open(t.Context(), database.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil || !s.Exclusive() || s.Dialect() != "sqlite" {
		t.Errorf("check %v, exclusive %v, dialect %s", err, s.Exclusive(), s.Dialect())
	}
	other, err := database.Open(t.Context(), database.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, a, err := other.Deployments().Activate(t.Context(), ports.Activation{Slot: ports.Slot{Tenant: "a"}, ID: "x", Archive: []byte("x")}); err != nil || a.Outcome != ports.Done {
		t.Fatal(a, err)
	}
	if _, served, err := s.Deployments().Served(t.Context()); err != nil || len(served) != 0 {
		t.Errorf("two stores in memory share %v (%v)", served, err)
	}
}

func TestUnknownDatabaseIsRefused(t *testing.T) {
	for _, url := range []string{"oracle://x/y", "mysql://%zz"} {
		if _, err := database.Open(t.Context(), database.Config{URL: url}); !errors.Is(err, fault.PropertyInvalid) {
			t.Errorf("%s: got %v, want %s", url, err, fault.PropertyInvalid)
		}
	}
}

func TestSchemaHasToBeMigrated(t *testing.T) {
	url := filepath.Join(t.TempDir(), "new.db")
	if _, err := database.Open(t.Context(), database.Config{URL: url}); !errors.Is(err, fault.SchemaVersion) {
		t.Errorf("got %v, want %s", err, fault.SchemaVersion)
	}
}

// TestSecondProcessIsRefused opens the file from this test's binary once more, as another process.
func TestSecondProcessIsRefused(t *testing.T) {
	if path := os.Getenv("SUTRA_TEST_SECOND"); path != "" {
		_, err := database.Open(context.Background(), database.Config{URL: path})
		if errors.Is(err, fault.StoreLocked) {
			os.Exit(42)
		}
		os.Exit(1)
	}
	url := filepath.Join(t.TempDir(), "one.db")
	if err := database.Migrate(t.Context(), database.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	s, err := database.Open(t.Context(), database.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	second := func() int {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestSecondProcessIsRefused")
		cmd.Env = append(os.Environ(), "SUTRA_TEST_SECOND="+url)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	if code := second(); code != 42 {
		t.Errorf("while it is open: exit %d, want 42: refused with %s", code, fault.StoreLocked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if code := second(); code != 1 {
		t.Errorf("after it was closed: exit %d, want 1: opened", code)
	}
}

func TestOpeningAFileFreesWhatItsLastProcessHeld(t *testing.T) {
	url := filepath.Join(t.TempDir(), "one.db")
	if err := database.Migrate(t.Context(), database.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	const tenant, id = "t", ports.DeploymentID("d")
	if _, a, err := s.Deployments().Activate(t.Context(), ports.Activation{Slot: ports.Slot{Tenant: tenant}, ID: id, Archive: []byte("x")}); err != nil || a.Outcome != ports.Done {
		t.Fatal(a, err)
	}
	ref := ports.Ref{Tenant: tenant, ID: ports.ID{1}}
	a := s.Instances().Start(t.Context(), []ports.NewInstance{{
		Ref: ref, Deployment: id, Status: ports.Suspended, Snapshot: []byte("s"), Rows: ports.Rows{Outbox: []ports.Emission{{ID: ports.ID{2}}}},
	}})[0]
	if a.Outcome != ports.Done {
		t.Fatal(a)
	}
	if _, err := s.Claims().Claim(t.Context(), "gone/1", []ports.Ref{ref}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Outbox().Take(t.Context(), "gone", time.Time{}, 1); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, url)
	got, err := s.Claims().Claim(t.Context(), "new/1", []ports.Ref{ref}, time.Time{})
	if err != nil || got[0].Outcome != ports.Done || got[0].Epoch != 2 {
		t.Errorf("claim: got %+v, %v; want done with epoch 2", got, err)
	}
	if taken, err := s.Outbox().Take(t.Context(), "new", time.Time{}, 1); err != nil || len(taken) != 1 {
		t.Errorf("take: got %v, %v; want the one emission", taken, err)
	}
}

func open(t *testing.T, url string) *database.Store {
	t.Helper()
	s, err := database.Open(t.Context(), database.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTroubleHasItsCode(t *testing.T) {
	s, err := database.Open(t.Context(), database.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Changes().Version(ctx); !errors.Is(err, fault.StoreUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: got %v, want %s", err, fault.StoreUnavailable)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Changes().Version(t.Context()); err == nil || !strings.HasPrefix(string(fault.Of(err).Code), "SUTRA.STORE.") {
		t.Errorf("a store that is closed: got %v", err)
	}
}
