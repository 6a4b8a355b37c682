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

	"github.com/sutra-engine/sutra/conformance/provision"
)

// Stage is what the scenarios of one test binary share: the engine's binary, and a database server.
type Stage struct {
	Binary string
	Server *provision.Server
}

// Prepare builds the engine and starts the dialect's server. The caller closes the stage.
func Prepare(ctx context.Context, dialect, dsn string, flags ...string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "sutra-scenario-")
	if err != nil {
		return nil, err
	}
	s := &Stage{Binary: filepath.Join(dir, "sutra")}
	args := append([]string{"build", "-o", s.Binary}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, "github.com/sutra-engine/sutra/cmd/sutra")...)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build the engine: %w: %s", err, out), os.RemoveAll(dir))
	}
	s.Server, err = provision.Start(ctx, dialect, dsn)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Close ends the server and removes the binary.
func (s *Stage) Close() error {
	return errors.Join(s.Server.Close(), os.RemoveAll(filepath.Dir(s.Binary)))
}
