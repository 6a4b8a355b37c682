package scenario

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/process"
)

// The keys of the API that every replica gets.
const (
	AdminKey   = "scenario-admin-key"
	OperateKey = "scenario-operate-key"
	WorkerKey  = "scenario-worker-key"
)

// patience bounds every wait of a scenario for something that must happen.
const patience = 60 * time.Second

// Settings are configuration keys with their values.
type Settings map[string]string

// quick are the settings of a fleet that recovers in seconds, so that a test can wait for it.
var quick = Settings{
	"sutra.admin.auth.keys":           "admin:" + AdminKey + ",operate:" + OperateKey + ",worker:" + WorkerKey,
	"sutra.datasource.migrate":        "true",
	"sutra.deployments.poll-interval": "PT0.2S",
	"sutra.http.reply-timeout":        "PT10S",
	"sutra.inbox.recovery-after":      "PT2S",
	"sutra.instance.claim-timeout":    "PT4S",
	"sutra.instance.sweep-interval":   "PT1S",
	"sutra.lease.poll":                "PT0.5S",
	"sutra.lease.ttl":                 "PT3S",
	"sutra.outbox.claim-timeout":      "PT4S",
	"sutra.outbox.retry.base-delay":   "PT0.1S",
	"sutra.outbox.send-timeout":       "PT1.5S",
	"sutra.outbox.retry.max-delay":    "PT1S",
	"sutra.outbox.tick-interval":      "PT0.2S",
	"sutra.shutdown.grace":            "PT15S",
	"sutra.timer.tick-interval":       "PT0.1S",
}

// Fleet is the replicas of one test, over a database of its own. What they emit goes to its receiver.
type Fleet struct {
	Receiver *Receiver
	Database string // its address

	t        testing.TB
	stage    *Stage
	settings Settings
	home     string // of all its replicas
	trusted  string // a file of certificates; empty: what the machine trusts
}

// Fleet makes a fleet without replicas. The settings go over the quick ones.
func (s *Stage) Fleet(t testing.TB, settings Settings) *Fleet {
	t.Helper()
	f := &Fleet{Receiver: Receive(t), Database: s.Server.Database(t), t: t, stage: s, settings: maps.Clone(quick), home: t.TempDir()}
	maps.Copy(f.settings, settings)
	t.Cleanup(f.verify)
	return f
}

// verify asks the engine's own check of a database's invariants, when the scenario is over and its replicas are gone. It is the first
// cleanup of a fleet to be registered, so that it runs after those of the replicas.
func (f *Fleet) verify() {
	if f.t.Failed() {
		return // what failed has said enough
	}
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), f.stage.Binary, "verify", "--datasource-url", f.Database)
	out, err := cmd.CombinedOutput()
	for _, nothing := range []string{"SUTRA.STORE.SCHEMA.VERSION", "SUTRA.STORE.ACCESS.UNAVAILABLE"} {
		if strings.Contains(string(out), nothing) {
			return // no replica ever came up in it, or its server was broken for good
		}
	}
	if err != nil {
		f.t.Errorf("sutra verify: %v\n%s", err, out)
	}
}

// Replica is one process of the engine.
type Replica struct {
	Name string
	URL  string

	fleet   *Fleet
	process *process.Process
	log     string // a file
}

// Start runs a replica and waits until it is ready.
func (f *Fleet) Start(name string) *Replica {
	f.t.Helper()
	return f.Launch(name, nil).AwaitReady()
}

// Launch runs a replica with settings of its own, and does not wait for it.
func (f *Fleet) Launch(name string, settings Settings) *Replica {
	f.t.Helper()
	return f.run(name, []string{"serve"}, Settings{"sutra.datasource.url": f.Database}, settings)
}

// Dev runs `sutra dev` on a package, and waits until it is ready. Every Dev of a fleet remembers in the same directory.
func (f *Fleet) Dev(name, dir string) *Replica {
	f.t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		f.t.Fatal(err)
	}
	r := f.run(name, []string{"dev", dir})
	r.AwaitReady()
	f.Eventually("dev has deployed "+dir, func() error {
		if a, err := r.Call(Request{Method: http.MethodGet, Path: "/sutra/deployments"}); err != nil || !bytes.Contains(a.Body, []byte("Active")) {
			return fmt.Errorf("got %s, %w", a, err)
		}
		return nil
	})
	return r
}

// run starts the engine's binary in the fleet's directory, with a port of its own.
func (f *Fleet) run(name string, args []string, settings ...Settings) *Replica {
	f.t.Helper()
	port, err := process.FreePort(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	r := &Replica{Name: name, URL: "http://" + address, fleet: f}
	r.log = filepath.Join(f.home, name+".log")
	all := maps.Clone(f.settings)
	all["sutra.http.listen"] = address
	for _, s := range settings {
		maps.Copy(all, s)
	}
	r.process = f.start(r.log, args, all)
	f.t.Cleanup(func() { r.finish() })
	return r
}

func (f *Fleet) start(log string, args []string, settings Settings) *process.Process {
	f.t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer out.Close() //nolint:errcheck // the process has its own descriptor
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), f.stage.Binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.home, out, out
	cmd.Env = append(os.Environ(), "SCENARIO_RECEIVER="+f.Receiver.URL)
	if f.trusted != "" {
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+f.trusted)
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		cmd.Env = append(cmd.Env, variable(key)+"="+settings[key])
	}
	p, err := process.Start(cmd)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// variable is the environment's name of a configuration key.
func variable(key string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// AwaitReady waits until the replica says that it can work.
func (r *Replica) AwaitReady() *Replica {
	r.fleet.t.Helper()
	r.fleet.Eventually(r.Name+" is ready", func() error {
		if r.ended() {
			r.fleet.t.Fatalf("%s ended with %d before it was ready", r.Name, r.process.ExitCode())
		}
		return r.Health("ready", http.StatusOK)
	})
	return r
}

// Health asks for one of the health routes, and is content with one status.
func (r *Replica) Health(route string, want int) error {
	a, err := r.Call(Request{Method: http.MethodGet, Path: "/sutra/health/" + route})
	if err != nil {
		return err
	}
	if a.Status != want {
		return fmt.Errorf("%s of %s: got %d %s, want %d", route, r.Name, a.Status, a.Body, want)
	}
	return nil
}

// Kill ends the replica as a crash of its machine would.
func (r *Replica) Kill() {
	r.fleet.t.Helper()
	r.must(r.process.Kill())
}

// Pause stops the replica in the middle of whatever it does.
func (r *Replica) Pause() {
	r.fleet.t.Helper()
	r.must(r.process.Pause())
}

// Continue wakes a paused replica.
func (r *Replica) Continue() {
	r.fleet.t.Helper()
	r.must(r.process.Resume())
}

// Stop asks the replica to end and answers its exit code.
func (r *Replica) Stop() int {
	r.fleet.t.Helper()
	ctx, cancel := context.WithTimeout(r.fleet.t.Context(), patience)
	defer cancel()
	r.must(r.process.Stop(ctx, syscall.SIGTERM))
	return r.process.ExitCode()
}

// AwaitExit waits until the replica ends by itself and answers its exit code.
func (r *Replica) AwaitExit(within time.Duration) int {
	r.fleet.t.Helper()
	select {
	case <-r.process.Done():
		return r.process.ExitCode()
	case <-time.After(within):
		r.fleet.t.Fatalf("%s still runs after %v", r.Name, within)
		return -1
	}
}

// Log is what the replica wrote so far.
func (r *Replica) Log() string {
	raw, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func (r *Replica) must(err error) {
	r.fleet.t.Helper()
	if err != nil {
		r.fleet.t.Fatalf("%s: %v", r.Name, err)
	}
}

func (r *Replica) ended() bool {
	select {
	case <-r.process.Done():
		return true
	default:
		return false
	}
}

// finish ends the replica, and shows its log when the test failed.
func (r *Replica) finish() {
	if err := r.process.Kill(); err != nil {
		r.fleet.t.Logf("kill %s: %v", r.Name, err)
	}
	if r.fleet.t.Failed() {
		const tail = 8000
		raw := []byte(r.Log())
		r.fleet.t.Logf("the log of %s ends:\n%s", r.Name, bytes.TrimSpace(raw[max(0, len(raw)-tail):]))
	}
}

// Eventually repeats a check until it has nothing to say. It fails the test when that takes too long.
func (f *Fleet) Eventually(what string, check func() error) {
	f.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Through is the database's address behind a proxy.
func (f *Fleet) Through(p *Proxy) string {
	f.t.Helper()
	u, err := url.Parse(f.Database)
	if err != nil {
		f.t.Fatal(err)
	}
	u.Host = p.Address()
	return u.String()
}

// Flood calls work for 1 to n, all at once.
func (f *Fleet) Flood(n int, work func(int)) {
	var wg sync.WaitGroup
	for i := 1; i <= n; i++ {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// Ask sends something in the background. The function it returns waits for the answer.
func (f *Fleet) Ask(send func() (Answer, error)) func() Answer {
	type result struct {
		answer Answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		a, err := send()
		done <- result{a, err}
	}()
	return func() Answer {
		f.t.Helper()
		r := <-done
		if r.err != nil {
			f.t.Fatalf("no answer: %v", r.err)
		}
		return r.answer
	}
}
