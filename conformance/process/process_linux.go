// Package process runs servers and replicas as processes that tests can pause, kill and stop. It never leaves one behind: what it
// started dies with the test binary, even when that is killed.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// nobody is the user and the group that servers run as when the tests run as root.
const nobody = 65534

// Process is one started program with everything it started in turn.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed by the goroutine that waits
}

// Start runs cmd. The caller ends it with Kill or Stop.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		// The death signal comes when the starting *thread* ends, so that thread waits here for as long as the process lives.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the exit code is in ProcessState
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Unprivileged makes cmd run as nobody where the tests run as root, and says whether it did.
func Unprivileged(cmd *exec.Cmd) bool {
	if os.Geteuid() != 0 {
		return false
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	return true
}

// Own gives path to the user that Unprivileged commands run as.
func Own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is what the process ended with; -1 when a signal ended it. It waits for the end.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Pause freezes the process and everything below it. When it returns, none of their threads runs.
func (p *Process) Pause() error {
	// Again and again, because a parent that is not frozen yet has children that were not seen.
	return within(func() (bool, error) {
		all := p.tree()
		var err error
		for _, pid := range all {
			err = errors.Join(err, signal(pid, syscall.SIGSTOP))
		}
		return !slices.ContainsFunc(all, runs), err
	})
}

// Resume undoes Pause.
func (p *Process) Resume() error {
	var err error
	for _, pid := range p.tree() {
		err = errors.Join(err, signal(pid, syscall.SIGCONT))
	}
	return err
}

// Kill ends the process and everything below it at once, and returns when all of it is gone. Killing what has ended does nothing.
func (p *Process) Kill() error {
	if p.ended() {
		return nil
	}
	err := p.Pause() // a child whose parent is gone is nobody's child, and would not be found
	all := p.tree()
	for _, pid := range all {
		err = errors.Join(err, signal(pid, syscall.SIGKILL))
	}
	<-p.done
	// A child that lives on for a moment still holds its parent's memory and files, and a new parent would not start.
	return errors.Join(err, within(func() (bool, error) {
		return !slices.ContainsFunc(all, func(pid int) bool { return state(pid).alive() }), nil
	}))
}

// Stop asks the process to end and waits; when ctx ends first, it kills.
func (p *Process) Stop(ctx context.Context, with os.Signal) error {
	if p.ended() {
		return nil
	}
	if err := p.cmd.Process.Signal(with); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stop %s: %w", p.cmd.Path, ctx.Err()), p.Kill())
	}
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tree lists the process and everything below it. Groups do not do: servers that fork give each child a session of its own.
func (p *Process) tree() []int {
	all := []int{p.Pid()}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// signal does nothing to a process that has ended.
func signal(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d with %v: %w", pid, sig, err)
	}
	return nil
}

// children lists the processes whose parent is pid.
func children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil && state(child).parent == pid {
			found = append(found, child)
		}
	}
	return found
}

// patience bounds what the kernel may take to stop or end a process.
const patience = 10 * time.Second

// within repeats a check until it holds.
func within(check func() (bool, error)) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		done, err := check()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes did not stop in %v", patience)
		}
	}
}

// runs says that a thread of the process may still do something.
func runs(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return err == nil && slices.ContainsFunc(threads, func(path string) bool {
		s := read(path)
		return s.alive() && !s.frozen()
	})
}

// status is what the kernel says of a process: the third and the fourth field of its stat line.
type status struct {
	state  string // empty: not there
	parent int
}

// alive is not a zombie: what has ended, and nobody has asked how.
func (s status) alive() bool { return s.state != "" && s.state != "Z" && s.state != "X" }

// frozen is stopped, or deep in the kernel: so waits a parent for the exec of its vforked child, which may be stopped itself.
func (s status) frozen() bool { return s.state == "T" || s.state == "t" || s.state == "D" }

func state(pid int) status { return read(fmt.Sprintf("/proc/%d/stat", pid)) }

// read reads a stat line. Its second field is a name in parentheses that may hold anything.
func read(path string) status {
	raw, err := os.ReadFile(path)
	if err != nil {
		return status{} // ended
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 2 {
		return status{}
	}
	parent, _ := strconv.Atoi(fields[1])
	return status{fields[0], parent}
}
