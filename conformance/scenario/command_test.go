package scenario_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// TestTheCommandLineDeploys goes through what a person does with a package, and holds every command to its exit code and its words.
func TestTheCommandLineDeploys(t *testing.T) {
	f := stage.Fleet(t, scenario.Settings{"sutra.callback.secret": "s"})
	r := f.Start("a")
	dir := copied(t, orders)
	run := func(code int, out, said string, args ...string) string {
		t.Helper()
		got := r.Command(args...)
		if got.Code != code || !strings.Contains(got.Out, out) || !strings.Contains(got.Err, said) {
			t.Fatalf("sutra %s: got exit code %d\n%s\n%s\nwant %d, %q and %q", strings.Join(args, " "), got.Code, got.Out, got.Err, code, out, said)
		}
		return got.Out
	}
	run(0, "nothing is refused", "", "lint", dir)
	first, second := t.TempDir(), t.TempDir()
	run(0, "sealed", "", "package", dir, "--out", first)
	later := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "package.yaml"), later, later); err != nil {
		t.Fatal(err)
	}
	run(0, "sealed", "", "package", dir, "--out", second)
	const name = "acme--orders--1.0.0.sutra"
	sealed, again := read(t, filepath.Join(first, name)), read(t, filepath.Join(second, name))
	if !bytes.Equal(sealed, again) {
		t.Error("the same sources sealed to different archives")
	}

	run(0, "is Active as revision 1", "sent", "deploy", filepath.Join(first, name))
	run(0, "unchanged: acme--orders--1.0.0 is Active as revision 1", "", "deploy", dir, "--wait=fleet")
	run(2, "", "--wait", "deploy", dir, "--wait=moon")
	run(2, "", "no such file", "deploy", filepath.Join(dir, "nowhere"))
	run(3, "", "SUTRA.DEPLOY.CALLBACK.INVALID", "deploy", dir, "--callback=https://127.0.0.1/")
	run(3, "", "SUTRA.DEPLOY.NOTIFY.UNSUPPORTED", "deploy", dir, "--notify=rabbitmq")
	run(3, "", "SUTRA.DEPLOY.SLOT.SUPERSEDED", "deploy", edited(t, dir, "package.yaml", "1.0.0", "2.0.0"), "--supersedes=acme--orders--0.1.0")
	run(3, "", "acme--orders--1.0.0", "deploy", edited(t, dir, "package.yaml", "1.0.0", "2.0.0"))
	run(3, "", "bpmn/order.bpmn:", "deploy", edited(t, dir, "bpmn/order.bpmn", `targetRef="confirm"`, `targetRef="nowhere"`))
	run(4, "", "does not answer", "deploy", dir, "--server=http://127.0.0.1:1")
	run(3, "", "SUTRA.ADMIN.AUTH.UNAUTHORIZED", "deploy", dir, "--key=wrong")

	// An archive of several mebibytes tells how much of it is sent.
	large := copied(t, dir)
	if err := errors.Join(os.Mkdir(filepath.Join(large, "templates"), 0o755), os.WriteFile(filepath.Join(large, "templates", "long"), make([]byte, 3<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	run(0, "is Active as revision 2", "(33%)\nsent ", "deploy", large)

	id := strings.TrimSpace(strings.Split(strings.Split(run(0, "accepted as operation", "", "deploy", dir, "--async"), "operation ")[1], ";")[0])
	run(0, "is done", "", "operation", id, "--wait")
	var op wire.Operation
	if err := json.Unmarshal([]byte(run(0, "", "", "operation", id, "--json")), &op); err != nil || op.State != "done" {
		t.Errorf("got %+v, %v", op, err)
	}
	run(3, "", "SUTRA.DEPLOY.OPERATION.UNKNOWN", "operation", "00000000-0000-7000-8000-000000000000")

	r.MustSend(start(1))
	run(0, "Active", "", "deployments")
	run(0, "is Draining", "", "undeploy", "acme--orders--1.0.0")
	run(0, "1 instances have not ended: sutra instances --deployment "+op.DeploymentID, "", "deployments", "show", op.DeploymentID)
	run(3, "", "SUTRA.DEPLOY.DEPLOYMENT.UNKNOWN", "undeploy", "acme--orders--1.0.0")
	run(0, "Draining", "", "undeploy", op.DeploymentID)
	r.MustSend(decide(1))
	f.Eventually("the list is empty", func() error {
		if got := r.Command("deployments"); strings.Contains(got.Out, "acme") {
			return fmt.Errorf("%s", got.Out)
		}
		return nil
	})
	run(0, "Retired", "", "deployments", "--all")
}

// TestDevDeploysAgainWhatIsSaved, and goes on with the last good one while what is saved is refused.
func TestDevDeploysAgainWhatIsSaved(t *testing.T) {
	if *dialect != "sqlite" {
		t.Skip("sutra dev runs on SQLite (-dialect=sqlite)")
	}
	f := stage.Fleet(t, nil)
	dir := copied(t, orders)
	r := f.Dev("dev", dir)
	model := filepath.Join(dir, "bpmn", "order.bpmn")
	good := read(t, model)
	active := func() (out wire.Deployment) {
		for _, d := range deployments(t, r) {
			if d.Phase == "Active" {
				out = d
			}
		}
		return out
	}
	first := active()
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(strings.Replace(string(good), `targetRef="confirm"`, `targetRef="nowhere"`, 1))
	f.Eventually("the broken model is refused", func() error {
		if !strings.Contains(r.Log(), "refused: bpmn/order.bpmn") {
			return fmt.Errorf("the log does not say so")
		}
		return nil
	})
	if got := active(); got.DeploymentID != first.DeploymentID {
		t.Errorf("got %+v active, want %s still", got, first.DeploymentID)
	}
	r.MustSend(start(1))
	save(string(good) + "<!-- saved again -->")
	f.Eventually("what is saved is active", func() error {
		if got := active(); got.DeploymentID == first.DeploymentID || got.Revision != 2 {
			return fmt.Errorf("got %+v", got)
		}
		return nil
	})
	r.MustSend(decide(1))
	callback := scenario.Receive(t)
	if a, _, err := deploy(r, "callback="+callback.URL, edition(t, "1.0.0", "told")); err != nil || a.Status != http.StatusOK {
		t.Errorf("a callback over http to loopback, in dev: got %s, %v; want it taken", a, err)
	}
	f.Eventually("the callback hears", func() error {
		if n := len(callback.Deliveries()); n != 1 {
			return fmt.Errorf("it heard %d events", n)
		}
		return nil
	})
}

// TestWaitingForTheFleetNamesWhoIsBehind: a replica that sleeps, and one that cannot load the revision.
func TestWaitingForTheFleetNamesWhoIsBehind(t *testing.T) {
	f := fleet(t, scenario.Settings{"sutra.deployments.fleet-wait": "PT3S"})
	a, b := f.Start("a"), f.Start("b")
	mustDeploy(t, a, "wait=fleet", edition(t, "1.0.0", "first"))
	names := map[string]string{}
	for _, r := range list[wire.Replica](t, a, "/admin/replicas") {
		names[r.Address] = r.ID
	}
	name := func(r *scenario.Replica) string { return names[strings.TrimPrefix(r.URL, "http://")] }
	b.Pause()
	archive := filepath.Join(t.TempDir(), "second.sutra")
	if err := os.WriteFile(archive, edition(t, "1.0.0", "second"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := a.Command("deploy", archive, "--wait=fleet")
	if got.Code != 5 || !strings.Contains(got.Out, "is Active as revision 2") || !strings.Contains(got.Err, "not served yet by "+name(b)) ||
		!strings.Contains(got.Err, "waiting for the fleet: 1 of 2 replicas serve it; not yet "+name(b)) {
		t.Errorf("got exit code %d\n%s\n%s\nwant 5, and %s named while it waits and at the end", got.Code, got.Out, got.Err, name(b))
	}
	b.Continue()
	second := mustDeploy(t, a, "wait=fleet", read(t, archive))
	if !second.Unchanged || len(second.Behind) != 0 {
		t.Errorf("after it woke: got %+v, want everybody there", second)
	}

	// Its archive is gone for a replica that is started now: it is not ready, takes no work, and is named; the others serve.
	ledger := f.Ledger()
	parts := int64(ledger.Count("SELECT count(*) FROM sutra_archive WHERE owner = '" + second.DeploymentID + "'"))
	ledger.Set(parts, "UPDATE sutra_archive SET owner = 'away' WHERE owner = '"+second.DeploymentID+"'")
	c := f.Launch("c", nil)
	f.Eventually("c says what it cannot load", func() error {
		answer, err := c.Call(scenario.Request{Method: http.MethodGet, Path: "/sutra/health/ready"})
		if err != nil || answer.Status != http.StatusServiceUnavailable || !strings.Contains(string(answer.Body), second.DeploymentID[:12]) {
			return fmt.Errorf("got %s, %w", answer, err)
		}
		return nil
	})
	for _, r := range list[wire.Replica](t, a, "/admin/replicas") {
		names[r.Address] = r.ID
	}
	again := mustDeploy(t, a, "wait=fleet", read(t, archive))
	if len(again.Behind) != 1 || again.Behind[0] != name(c) {
		t.Errorf("got %+v, want %s named", again, name(c))
	}
	if d := deployments(t, b)[second.DeploymentID]; len(d.ServedBy) != 2 || len(d.Behind) != 1 || d.Behind[0] != name(c) {
		t.Errorf("the view: got %+v, want two that serve it, and %s that does not", d, name(c))
	}
	ledger.Set(parts, "UPDATE sutra_archive SET owner = '"+second.DeploymentID+"' WHERE owner = 'away'")
	c.AwaitReady()
	if last := mustDeploy(t, c, "wait=fleet", read(t, archive)); len(last.Behind) != 0 {
		t.Errorf("after it was put right: got %+v, want everybody there", last)
	}
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// edited is a copy of a package with one file changed.
func edited(t *testing.T, dir, file, old, with string) string {
	t.Helper()
	to := copied(t, dir)
	path := filepath.Join(to, filepath.FromSlash(file))
	if err := os.WriteFile(path, bytes.ReplaceAll(read(t, path), []byte(old), []byte(with)), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryListIsAsDescribed reads each list of the API; every call is held to the served description.
func TestEveryListIsAsDescribed(t *testing.T) {
	f, replicas := parts(t, nil, "a")
	r := replicas[0]
	f.Receiver.Answer(http.StatusServiceUnavailable, 0)
	d := r.Deploy(orders)
	instance := park(t, r, 1)[1]
	r.MustSend(decide(1))
	lists := []string{"/admin/outbox"}
	if *dialect != "sqlite" { // a process that has the database alone asks nobody whether it may lead
		lists = append(lists, "/admin/leases")
	}
	f.Eventually("the emission waits, and somebody leads", func() error {
		for _, list := range lists {
			a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: list, Key: scenario.AdminKey})
			if err != nil {
				return err
			}
			if strings.Contains(string(a.Body), `"items":[]`) {
				return fmt.Errorf("%s is %s", list, a)
			}
		}
		return nil
	})
	for _, path := range []string{
		"/sutra/deployments", "/sutra/deployments/" + d.DeploymentID, "/sutra/instances", "/sutra/instances/" + instance, "/sutra/instances/" + instance + "/history",
		"/admin/outbox?poisoned=true", "/admin/tasks", "/admin/audit", "/admin/replicas", "/admin/leases",
	} {
		if a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: path, Key: scenario.AdminKey}); err != nil || a.Status != http.StatusOK {
			t.Errorf("%s: got %s, %v; want 200", path, a, err)
		}
	}
	if ran := r.Command("leases"); ran.Code != 0 || len(lists) == 2 && !strings.Contains(ran.Out, "timer-leader") {
		t.Errorf("sutra leases: got %+v, want who leads the timers", ran)
	}
	f.Receiver.Answer(http.StatusOK, 0)
	wantEnded(t, f, r, 1)
}
