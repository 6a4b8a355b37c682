package scenario_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

const callbackSecret = "between the engine and its receiver"

// submissions is a fleet that takes deploys for later, and the receiver that hears how they ended.
type submissions struct {
	*scenario.Fleet
	t        *testing.T
	callback *scenario.Receiver
	proxy    *scenario.Proxy
	a, b     *scenario.Replica // a reaches the database through the proxy
}

func submitting(t *testing.T) *submissions {
	t.Helper()
	f := fleet(t, scenario.Settings{
		"sutra.callback.allow-private": "true", "sutra.callback.secret": callbackSecret, "sutra.deployments.operation-timeout": "PT2S",
	})
	s := &submissions{Fleet: f, t: t, callback: f.Secure(), proxy: f.Proxy(), b: f.Start("b")}
	s.a = f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(s.proxy)}).AwaitReady()
	return s
}

// submit sends a deploy for later, and answers where to ask for it.
func (s *submissions) submit(r *scenario.Replica, archive []byte) string {
	s.t.Helper()
	answer, _, err := deploy(r, "mode=async&callback="+s.callback.URL, archive)
	if err != nil || answer.Status != http.StatusAccepted {
		s.t.Fatalf("got %s, %v; want 202", answer, err)
	}
	return answer.Header.Get("Location")
}

func (s *submissions) read(r *scenario.Replica, location string) wire.Operation {
	s.t.Helper()
	got, err := r.Call(scenario.Request{Method: http.MethodGet, Path: location, Key: scenario.AdminKey})
	if err != nil || got.Status != http.StatusOK {
		s.t.Fatalf("%s on %s: got %s, %v", location, r.Name, got, err)
	}
	var op wire.Operation
	if err := json.Unmarshal(got.Body, &op); err != nil {
		s.t.Fatal(err)
	}
	return op
}

// ends waits until an operation ends so.
func (s *submissions) ends(r *scenario.Replica, location, state string) wire.Operation {
	s.t.Helper()
	var op wire.Operation
	s.Eventually(location+" ends", func() error {
		if op = s.read(r, location); op.State == "pending" {
			return fmt.Errorf("it is pending")
		}
		return nil
	})
	if op.State != state {
		s.t.Errorf("got %+v, want it %s", op, state)
	}
	return op
}

// heard requires that exactly these events came, each once, and signed as documented.
func (s *submissions) heard(want map[string]string) {
	s.t.Helper()
	s.Eventually("the callback hears of every outcome", func() error {
		if n := len(s.callback.Deliveries()); n < len(want) {
			return fmt.Errorf("it heard %d events of %d", n, len(want))
		}
		return nil
	})
	time.Sleep(time.Second) // a second telling would come within this
	got := map[string]string{}
	for id, times := range s.callback.Deliveries() {
		var event struct {
			ID, Type string
			Data     struct{ DeploymentID, Slot, Code string }
		}
		body := s.callback.Bodies()[id]
		if err := json.Unmarshal([]byte(body), &event); err != nil || event.ID != id || times != 1 {
			s.t.Errorf("event %s came %d times: %s, %v", id, times, body, err)
		}
		if !signed(s.callback.Headers()[id].Get("Sutra-Signature"), body) {
			s.t.Errorf("event %s is signed %q", id, s.callback.Headers()[id].Get("Sutra-Signature"))
		}
		if !strings.HasPrefix(event.Data.Slot, "acme--orders--") {
			s.t.Errorf("event %s tells of slot %q", id, event.Data.Slot)
		}
		got[event.Data.DeploymentID] += strings.TrimPrefix(event.Type, "com.sutra.deployment.") + event.Data.Code
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("heard %v, want %v", got, want)
	}
}

// signed checks a signature as a receiver does: t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">.
func signed(header, body string) bool {
	at, mac, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	want := hmac.New(sha256.New, []byte(callbackSecret))
	want.Write([]byte(at + "." + body))
	got, err := hex.DecodeString(mac)
	return err == nil && hmac.Equal(got, want.Sum(nil))
}

// TestASubmittedDeploySurvivesItsReplica: the replica that took the call dies before it has swapped, or after that and before it has told;
// another finishes it, whatever it finds, and the callback hears once of each.
func TestASubmittedDeploySurvivesItsReplica(t *testing.T) {
	for name, c := range map[string]struct{ held, active string }{
		"before the swap": {"INSERT INTO sutra_deployment", "SELECT count(*) FROM sutra_deployment"},
		"after the swap":  {"SET state =", "SELECT 1 - count(*) FROM sutra_deployment WHERE phase = 'active'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := submitting(t)
			s.proxy.Hold(c.held)
			location := s.submit(s.a, edition(t, "1.0.0", "submitted"))
			ledger := s.Ledger()
			s.Eventually("it is under way", func() error {
				if n := ledger.Count(c.active); n != 0 {
					return fmt.Errorf("got %d", n)
				}
				return nil
			})
			time.Sleep(300 * time.Millisecond) // it waits at the proxy
			if op := s.read(s.b, location); op.State != "pending" {
				t.Fatalf("got %+v on the other replica, want it pending", op)
			}
			s.a.Kill()
			s.proxy.Cut()
			op := s.ends(s.b, location, "done")
			if d := deployments(t, s.b)[op.DeploymentID]; d.Phase != "Active" || d.Revision != 1 {
				t.Errorf("got %+v, want it active as the first revision", d)
			}
			s.heard(map[string]string{op.DeploymentID: "activated"})
			if again := s.read(s.Start("c"), location); again.State != "done" {
				t.Errorf("a replica that was not there: got %+v, want it done", again)
			}
		})
	}
}

// TestSubmittedDeploysTellHowTheyEnd: what is refused only by the database fails, with its code and one event; so does one that was
// accepted before a later deploy of its slot, also a synchronous one; and one that had swapped before it was overtaken has been done.
func TestSubmittedDeploysTellHowTheyEnd(t *testing.T) {
	s := submitting(t)
	done := s.submit(s.b, edition(t, "1.0.0", "first"))
	first := s.ends(s.a, done, "done")
	taken := s.ends(s.a, s.submit(s.b, edition(t, "1.1.0", "other slot, same doors")), "failed")
	if taken.Code != "SUTRA.DEPLOY.DOOR.TAKEN" || !strings.Contains(taken.Detail, "acme--orders--1.0.0") {
		t.Errorf("got %+v, want the doors taken", taken)
	}

	s.proxy.Hold("INSERT INTO sutra_deployment")
	late := s.submit(s.a, edition(t, "1.0.0", "accepted first"))
	time.Sleep(300 * time.Millisecond)
	s.a.Kill()
	s.proxy.Cut()
	later := mustDeploy(t, s.b, "callback="+s.callback.URL, edition(t, "1.0.0", "deployed later"))
	overtaken := s.ends(s.b, late, "failed")
	if overtaken.Code != "SUTRA.DEPLOY.SLOT.SUPERSEDED" {
		t.Errorf("got %+v, want it superseded", overtaken)
	}
	if d := deployments(t, s.b)[later.DeploymentID]; d.Phase != "Active" {
		t.Errorf("got %+v, want the later one active", d)
	}
	s.heard(map[string]string{
		first.DeploymentID: "activated", taken.DeploymentID: "failedSUTRA.DEPLOY.DOOR.TAKEN",
		overtaken.DeploymentID: "failedSUTRA.DEPLOY.SLOT.SUPERSEDED", later.DeploymentID: "activated",
	})
	for query, code := range map[string]string{
		"callback=http://127.0.0.1:1/": "SUTRA.DEPLOY.CALLBACK.INVALID", // plain, outside dev
		"callback=ftp://example.com/":  "SUTRA.DEPLOY.CALLBACK.INVALID",
		"notify=https://example.com/":  "SUTRA.DEPLOY.NOTIFY.UNSUPPORTED",
		"wait=fleet":                   "SUTRA.INTAKE.REQUEST.INVALID",
		"callback=" + s.callback.URL + "&supersedes=globex--orders--1": "",
	} {
		answer, _, err := deploy(s.b, "mode=async&"+query, edition(t, "1.0.0", "refused"))
		if err != nil || answer.Problem().Code != code {
			t.Errorf("%s: got %s, %v; want %s", query, answer, err, code)
		}
	}
}

// TestABrokerHearsOfADeploy: the notice is in the queue once, beside the callback, and it holds no revision back.
func TestABrokerHearsOfADeploy(t *testing.T) {
	if *dialect != "postgres" {
		t.Skip("what the outbox needs of a database is in the suite; brokers are proven on postgres (-dialect=postgres)")
	}
	if err := provision.FindBroker("rabbitmq"); err != nil {
		t.Skip(err)
	}
	broker, err := sharedBrokers["rabbitmq"].get()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := amqp.Dial(broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	name := fmt.Sprintf("deploys%d", time.Now().UnixNano()) // the broker is others' too
	queue, err := conn.Channel()
	if err == nil {
		_, err = queue.QueueDeclare(name, true, false, false, false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := fleet(t, scenario.Settings{"sutra.brokers": "main=" + broker.URL})
	a := f.Start("a")
	d := mustDeploy(t, a, "notify=main/"+name, edition(t, "1.0.0", "told"))
	mustDeploy(t, a, "notify=main/"+name, edition(t, "1.0.0", "told")) // changes nothing, and tells nothing
	var got []amqp.Delivery
	f.Eventually("the queue has the notice", func() error {
		m, ok, err := queue.Get(name, true)
		if ok {
			got = append(got, m)
		}
		if len(got) == 0 {
			return fmt.Errorf("it is empty, %w", err)
		}
		return nil
	})
	time.Sleep(time.Second)
	if again, ok, err := queue.Get(name, true); ok || err != nil {
		t.Errorf("the queue has another message: %s, %v", again.Body, err)
	}
	if m := got[0]; m.MessageId == "" || !strings.Contains(string(m.Body), "com.sutra.deployment.activated") || !strings.Contains(string(m.Body), d.DeploymentID) {
		t.Errorf("got %s with id %q", m.Body, m.MessageId)
	}
	for notify, why := range map[string]string{"elsewhere/deploys": "no broker is named", "main": "broker/queue", "https://example.com/": "callback"} {
		answer, _, err := deploy(a, "notify="+notify, edition(t, "1.0.0", "refused"))
		if err != nil || answer.Problem().Code != "SUTRA.DEPLOY.NOTIFY.UNSUPPORTED" || !strings.Contains(answer.Problem().Detail, why) {
			t.Errorf("%s: got %s, %v; want it refused, with %q", notify, answer, err, why)
		}
	}
}
