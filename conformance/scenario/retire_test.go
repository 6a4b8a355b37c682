package scenario_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// retirement is a fleet of two whose revisions are drained, each held back by one thing alone.
type retirement struct {
	*scenario.Fleet
	t      *testing.T
	a, b   *scenario.Replica
	ledger *scenario.Ledger
}

func retirements(t *testing.T) *retirement {
	t.Helper()
	f := fleet(t, scenario.Settings{"sutra.instance.retention-sweep-interval": "PT0.3S"})
	return &retirement{f, t, f.Start("a"), f.Start("b"), f.Ledger()}
}

// drain undeploys a slot through the other replica.
func (r *retirement) drain(slot string) {
	r.t.Helper()
	if got, err := r.b.Call(scenario.Request{Method: http.MethodDelete, Path: "/admin/deployments/" + slot, Key: scenario.AdminKey}); err != nil || got.Status != http.StatusOK {
		r.t.Fatalf("undeploy %s: got %s, %v", slot, got, err)
	}
}

// held requires that exactly these legs hold a revision back, now and after several looks of whoever retires.
func (r *retirement) held(id string, want wire.Blockers) {
	r.t.Helper()
	r.Eventually(fmt.Sprintf("%s is held by %+v alone", id[:8], want), func() error {
		if d := deployments(r.t, r.a)[id]; d.Phase != "Draining" || d.Blockers == nil || *d.Blockers != want {
			return fmt.Errorf("it is %s, held by %+v", d.Phase, d.Blockers)
		}
		return nil
	})
	time.Sleep(time.Second)
	if d := deployments(r.t, r.b)[id]; d.Phase != "Draining" || *d.Blockers != want {
		r.t.Fatalf("%s: got %s, held by %+v; want it draining, held by %+v", id[:8], d.Phase, d.Blockers, want)
	}
}

func (r *retirement) retires(id string) {
	r.t.Helper()
	retires(r.t, r.Fleet, r.b, id)
}

// command runs the binary, which has to say so.
func (r *retirement) command(says string, args ...string) {
	r.t.Helper()
	if got := r.a.Command(args...); got.Code != 0 || !strings.Contains(got.Out, says) {
		r.t.Fatalf("sutra %v: got exit code %d, %s%s; want 0 and %q", args, got.Code, got.Out, got.Err, says)
	}
}

// admin makes a call that has to be answered so.
func (r *retirement) admin(method, path string, status int, code string) {
	r.t.Helper()
	var got scenario.Answer
	var err error
	for range 20 { // a database that is short of breath says that it may be asked again
		got, err = r.a.Call(scenario.Request{Method: method, Path: path, Key: scenario.AdminKey})
		if err != nil || got.Status != http.StatusServiceUnavailable || !got.Problem().Retryable {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if err != nil || got.Status != status || got.Problem().Code != code {
		r.t.Fatalf("%s: got %s, %v; want %d %s", path, got, err, status, code)
	}
}

// TestALiveInstanceHoldsARevision until it ends, through the door that its draining revision keeps open. New ones are not let in.
func TestALiveInstanceHoldsARevision(t *testing.T) {
	r := retirements(t)
	id := r.a.Deploy(orders).DeploymentID
	park(t, r.a, 1)
	r.drain("acme--orders--1.0.0")
	r.held(id, wire.Blockers{LiveInstances: 1})
	if got, err := r.a.Send(start(2)); err != nil || got.Good() {
		t.Errorf("a start on a draining revision: got %s, %v; want it refused", got, err)
	}
	r.b.MustSend(decide(1))
	r.retires(id)
	if again := r.a.Deploy(orders); again.DeploymentID != id || again.Revision != 2 || again.Phase != "Active" {
		t.Errorf("got %+v, want the retired bytes active again under the next number", again)
	}
}

// TestAFailedInstanceHoldsARevision until it is cancelled. TestTheRepairLoop has what is migrated.
func TestAFailedInstanceHoldsARevision(t *testing.T) {
	r := retirements(t)
	d := mustDeploy(t, r.a, "wait=fleet", sealed(t, breaks))
	instance := park(t, r.a, 1)[1]
	r.drain(d.DeploymentID)
	if got, err := r.b.Send(decide(1)); err != nil || got.Good() {
		t.Fatalf("a decision that breaks the model: got %s, %v; want it to fail", got, err)
	}
	if got := r.a.Instance(instance); got.Status != "failed" {
		t.Fatalf("got %+v, want it failed", got)
	}
	r.held(d.DeploymentID, wire.Blockers{LiveInstances: 1})
	r.admin(http.MethodPost, "/admin/instances/"+instance+"/cancel", http.StatusOK, "")
	r.retires(d.DeploymentID)
}

// TestAnUnsentEmissionHoldsARevision until it is sent. A poisoned one does not: it is redriven on the retired revision, which drains again
// until it is sent; once the archive is dropped, redriving is refused.
func TestAnUnsentEmissionHoldsARevision(t *testing.T) {
	r := retirements(t)
	id := r.a.Deploy(orders).DeploymentID
	park(t, r.a, 3)
	r.Receiver.Answer(http.StatusServiceUnavailable, 0)
	r.a.MustSend(decide(1))
	r.Receiver.Answer(http.StatusServiceUnavailable, 0)
	r.drain(id)
	r.held(id, wire.Blockers{LiveInstances: 2, PendingOutbox: 1})
	r.Receiver.Answer(http.StatusOK, 0)
	r.held(id, wire.Blockers{LiveInstances: 2})
	r.Receiver.Answer(http.StatusServiceUnavailable, 0)
	r.a.MustSend(decide(2))
	r.a.MustSend(decide(3))
	r.held(id, wire.Blockers{PendingOutbox: 2})

	r.Receiver.Answer(http.StatusBadRequest, 0) // refused for good
	r.retires(id)
	poisoned := list[wire.Emission](t, r.b, "/admin/outbox?poisoned=true")
	if len(poisoned) != 2 {
		t.Fatalf("got %+v, want two poisoned emissions", poisoned)
	}
	r.Receiver.Answer(http.StatusServiceUnavailable, 0)
	r.command(poisoned[0].ID, "outbox", "--poisoned=true")
	r.command("", "outbox", "redrive", "acme", poisoned[0].ID)
	r.held(id, wire.Blockers{PendingOutbox: 1})
	r.Receiver.Answer(http.StatusOK, 0)
	r.retires(id)

	kept := func() int { return r.ledger.Count("SELECT count(*) FROM sutra_archive WHERE owner = '" + id + "'") }
	if kept() == 0 {
		t.Fatal("the archive was dropped before its time")
	}
	r.ledger.Set(1, "UPDATE sutra_deployment SET retired_at = '2020-01-01 00:00:00' WHERE id = '"+id+"'")
	r.Eventually("the archive is dropped", func() error {
		if n := kept(); n != 0 {
			return fmt.Errorf("%d parts are left", n)
		}
		return nil
	})
	r.admin(http.MethodPost, "/admin/outbox/"+poisoned[1].ID+"/redrive?tenant=acme", http.StatusConflict, "SUTRA.ADMIN.REDRIVE.ARCHIVE_DROPPED")
	if d := deployments(t, r.a)[id]; d.Phase != "Retired" {
		t.Errorf("got %+v, want it retired still", d)
	}
	if again := r.a.Deploy(orders); again.DeploymentID != id || again.Phase != "Active" || kept() == 0 {
		t.Errorf("got %+v, want the dropped bytes active again", again)
	}
}

// TestAParkedTaskHoldsARevision also where its instance has ended, which no way through the engine leads to; an exhausted one does not. A
// retry makes the retired revision drain again.
func TestAParkedTaskHoldsARevision(t *testing.T) {
	r := retirements(t)
	id := r.a.Deploy(jobs).DeploymentID
	r.a.MustSend(job(1))
	r.Eventually("the task is there", func() error {
		if n := r.ledger.Count("SELECT count(*) FROM sutra_task"); n != 1 {
			return fmt.Errorf("got %d", n)
		}
		return nil
	})
	r.drain(id)
	r.held(id, wire.Blockers{LiveInstances: 1, ParkedTasks: 1})
	r.ledger.Set(1, "UPDATE sutra_instance SET status = 'completed', ended_at = updated_at")
	r.ledger.Set(1, "DELETE FROM sutra_wait")
	r.held(id, wire.Blockers{ParkedTasks: 1})
	w := worker{replica: r.a, name: "w"}
	exhaust := func() string {
		t.Helper()
		tasks, err := w.fetch(1, time.Minute, 5*time.Second)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("got %v, %v; want the task", tasks, err)
		}
		got, err := w.fail(tasks[0], 0)
		if err != nil || !got.Good() {
			t.Fatalf("fail: got %s, %v", got, err)
		}
		return tasks[0].ID
	}
	task := exhaust()
	r.retires(id)
	r.command(task, "tasks", "--terminal=true")
	r.command("", "tasks", "retry", task)
	r.held(id, wire.Blockers{ParkedTasks: 1})
	exhaust()
	r.retires(id)
	r.ledger.Set(1, "DELETE FROM sutra_task")
}

// TestSeveralRevisionsDrainAtOnceAndAnyReplicaBootsFromTheDatabase: three revisions of one slot each finish their own instances, on a
// replica that was started when all others were gone, and each retires by itself.
func TestSeveralRevisionsDrainAtOnceAndAnyReplicaBootsFromTheDatabase(t *testing.T) {
	r := retirements(t)
	var ids []string
	instances := map[int]string{}
	for n := 1; n <= 3; n++ {
		d := mustDeploy(t, r.a, "wait=fleet", edition(t, "1.0.0", fmt.Sprint("edition ", n)))
		ids = append(ids, d.DeploymentID)
		instances[n] = r.b.MustSend(start(n)).Instance()
	}
	// Another package of the tenant, and another tenant, whose package has two models.
	other := mustDeploy(t, r.b, "", sealed(t, replace("package.yaml", "acme", "globex"),
		drop("channels.yaml"), drop("bpmn/order.bpmn"), add("bpmn/one.bpmn", plain("one")), add("bpmn/two.bpmn", plain("two"))))
	r.a.Deploy(jobs)
	r.a.Kill()
	r.b.Kill()
	c := r.Start("c")
	r.a, r.b = c, c
	for _, process := range []string{"one", "two"} {
		a, err := c.Call(scenario.Request{Method: http.MethodPost, Path: "/sutra/processes/" + process + "/instances?tenant=globex", Key: scenario.OperateKey, Kind: "application/json", Body: []byte(`{}`)})
		if err != nil || !a.Good() || c.Instance(a.Instance()).DeploymentID != other.DeploymentID {
			t.Errorf("%s: got %s, %v; want it started", process, a, err)
		}
	}
	c.MustSend(job(1))
	for n := 1; n <= 3; n++ {
		if got := c.Instance(instances[n]).DeploymentID; got != ids[n-1] {
			t.Errorf("order %d runs %s, want %s", n, got, ids[n-1])
		}
	}
	r.held(ids[0], wire.Blockers{LiveInstances: 1})
	c.MustSend(decide(2))
	r.retires(ids[1])
	r.held(ids[0], wire.Blockers{LiveInstances: 1})
	c.MustSend(decide(1))
	r.retires(ids[0])
	if d := deployments(t, c)[ids[2]]; d.Phase != "Active" {
		t.Errorf("got %+v, want the last one active", d)
	}
}

// plain is a model that starts and ends.
func plain(process string) string {
	return `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="` + process + `" isExecutable="true">` +
		`<startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process></definitions>`
}
