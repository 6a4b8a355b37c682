// Package scenario runs whole replicas as processes of their own, over a real database, and breaks them: what it claims about the
// engine it sees from outside, through HTTP, through SQL, and at a server that receives what the engine emits. It imports none of
// the engine's loops.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Stage is what the scenarios of one test binary share: the engine's binary, and a database server.
type Stage struct {
	Binary string
	Server *provision.Server

	contract contract // of the binary
}

// Prepare builds the engine and starts the dialect's server. The caller closes the stage.
func Prepare(ctx context.Context, dialect, dsn string, flags ...string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "sutra-scenario-")
	if err != nil {
		return nil, err
	}
	s := &Stage{Binary: filepath.Join(dir, "sutra")}
	if err := build(ctx, s.Binary, flags...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.Server, err = provision.Start(ctx, dialect, dsn)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Built is the same stage with a binary that was built in another way.
func (s *Stage) Built(t testing.TB, flags ...string) *Stage {
	t.Helper()
	other := &Stage{Binary: filepath.Join(t.TempDir(), "sutra"), Server: s.Server}
	if err := build(t.Context(), other.Binary, flags...); err != nil {
		t.Fatal(err)
	}
	return other
}

func build(ctx context.Context, binary string, flags ...string) error {
	args := append([]string{"build", "-o", binary}, flags...)
	if out, err := exec.CommandContext(ctx, "go", append(args, "github.com/sutra-engine/sutra/cmd/sutra")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the engine: %w: %s", err, out)
	}
	return nil
}

// Close ends the server and removes the binary.
func (s *Stage) Close() error {
	return errors.Join(s.Server.Close(), os.RemoveAll(filepath.Dir(s.Binary)))
}
