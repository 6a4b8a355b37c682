package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sutra-engine/sutra/conformance/process"
)

// program is a server program on this machine, as data. Its functions answer command lines for a directory of its own.
type program struct {
	where   string // in words
	user    string // the administrator
	install func(dir, password string) [][]string
	serve   func(dir string, port int) []string
	stop    os.Signal
	files   func(password string) map[string]string // that install or serve read
	detour  *Detour                                 // a broker's, where it is not simply its address
}

// local is one server process with its directory.
type local struct {
	program program
	dir     string
	port    int
	running *process.Process
}

func onMachine(e engine) (Source, error) {
	if e.program == nil {
		return Source{}, fmt.Errorf("there is no server program for %s here", e.name)
	}
	p, err := e.program()
	if err != nil {
		return Source{}, err
	}
	return Source{Dialect: e.name, Where: p.where, start: func(ctx context.Context) (*Server, error) {
		password := random(16)
		host, err := install(ctx, e.name, p, password)
		if err != nil {
			return nil, err
		}
		admin := &url.URL{Scheme: e.name, User: url.UserPassword(p.user, password), Host: host.address(), Path: "/"}
		return &Server{Dialect: e.name, engine: e, host: host, admin: admin}, nil
	}}, nil
}

// install makes a data directory, and starts the server on it.
func install(ctx context.Context, name string, p program, password string) (*local, error) {
	dir, err := os.MkdirTemp("", "sutra-"+name+"-")
	if err != nil {
		return nil, err
	}
	l := &local{program: p, dir: dir}
	err = l.fill(ctx, password)
	if err == nil {
		err = l.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *local) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port)) }

func (l *local) fill(ctx context.Context, password string) error {
	if err := process.Own(l.dir); err != nil {
		return err
	}
	for name, text := range l.program.files(password) {
		path := filepath.Join(l.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := process.Own(path); err != nil {
			return err
		}
	}
	if l.program.install != nil {
		for _, words := range l.program.install(l.dir, password) {
			if out, err := l.command(ctx, words).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", words[0], err, out)
			}
		}
	}
	port, err := process.FreePort(ctx)
	l.port = port
	return err
}

// command runs in the server's directory with nothing of the tests' environment, and never as root.
func (l *local) command(ctx context.Context, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = l.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "TMPDIR=" + l.dir, "TZ=UTC"}
	process.Unprivileged(cmd)
	return cmd
}

func (l *local) Pause() error  { return l.running.Pause() }
func (l *local) Resume() error { return l.running.Resume() }
func (l *local) Kill() error   { return l.running.Kill() }

func (l *local) Start(ctx context.Context) error {
	out, err := os.OpenFile(l.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The server lives until it is stopped, not as long as this call.
	cmd := l.command(context.WithoutCancel(ctx), l.program.serve(l.dir, l.port))
	cmd.Stdout, cmd.Stderr = out, out
	l.running, err = process.Start(cmd)
	return errors.Join(err, out.Close())
}

func (l *local) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.running.Stop(ctx, l.program.stop)
}

func (l *local) Close() error {
	var err error
	if l.running != nil {
		err = l.running.Kill()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

func (l *local) ended() bool {
	select {
	case <-l.running.Done():
		return true
	default:
		return false
	}
}

func (l *local) logPath() string { return filepath.Join(l.dir, "server.log") }

// log is the end of what the server said.
func (l *local) log() string {
	raw, err := os.ReadFile(l.logPath())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(raw[max(0, len(raw)-2000):]))
}

// firstProgram finds a program by name in PATH, then in folders that PATH often misses. The last match of a pattern is the newest.
func firstProgram(name string, patterns ...string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(filepath.Join(pattern, name)); len(found) > 0 {
			return found[len(found)-1], true
		}
	}
	return "", false
}

// homes are where a server that scripts/ has fetched may be: where the variable says, else in .cache.
func homes(variable, folder string) []string {
	var all []string
	if home := os.Getenv(variable); home != "" {
		all = append(all, home)
	}
	if root, ok := moduleRoot(); ok {
		all = append(all, filepath.Join(root, ".cache", folder))
	}
	return all
}

// moduleRoot is the folder of go.mod, above the folder the test runs in.
func moduleRoot() (string, bool) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}
