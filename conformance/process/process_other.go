//go:build !linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Process is one started program. Elsewhere than on Linux there is none: give the tests a server by its address, or Docker.
type Process struct{}

// Start refuses.
func Start(cmd *exec.Cmd) (*Process, error) {
	return nil, fmt.Errorf("start %s: processes are run by tests on linux only: %w", cmd.Path, errors.ErrUnsupported)
}

// Unprivileged does nothing.
func Unprivileged(*exec.Cmd) bool { return false }

// Own does nothing.
func Own(string) error { return nil }

// Pid is never asked, as nothing starts; so are the others.
func (*Process) Pid() int { return 0 }

// Done is nil.
func (*Process) Done() <-chan struct{} { return nil }

// ExitCode is -1.
func (*Process) ExitCode() int { return -1 }

// Pause does nothing.
func (*Process) Pause() error { return nil }

// Resume does nothing.
func (*Process) Resume() error { return nil }

// Kill does nothing.
func (*Process) Kill() error { return nil }

// Stop does nothing.
func (*Process) Stop(context.Context, os.Signal) error { return nil }
