package scenario_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

// The broken orders ask for an approval that nobody sends: a decision fails them. The repaired ones do not, and call the place where an
// order waits by another name.
var (
	breaks = replace("bpmn/order.bpmn", `<sequenceFlow id="f5" sourceRef="decided" targetRef="ship"/>`,
		`<sequenceFlow id="f5" sourceRef="decided" targetRef="check"/><exclusiveGateway id="check"/>
		<sequenceFlow id="f8" sourceRef="check" targetRef="ship"><conditionExpression>decision.approved</conditionExpression></sequenceFlow>`)
	renames = replace("bpmn/order.bpmn", `"parked"`, `"waiting"`)
)

// post sends a record to the API as an administrator.
func post(t *testing.T, r *scenario.Replica, path string, in, out any) scenario.Answer {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Call(scenario.Request{Method: http.MethodPost, Path: path, Key: scenario.AdminKey, Kind: "application/json", Body: body})
	if err == nil && a.Status == http.StatusOK {
		err = json.Unmarshal(a.Body, out)
	}
	if err != nil {
		t.Fatalf("%s on %s: got %s, %v", path, r.Name, a, err)
	}
	return a
}

// moveAll walks the pages of a batch and counts outcomes.
func moveAll(t *testing.T, r *scenario.Replica, b wire.MigrationBatch) map[string]int {
	t.Helper()
	counts, pages := map[string]int{}, 0
	for {
		var page wire.MigrationPage
		if a := post(t, r, "/admin/instances/migrate", b, &page); a.Status != http.StatusOK {
			t.Fatalf("migrate on %s: got %s", r.Name, a)
		}
		pages++
		for outcome, n := range page.Counts {
			counts[outcome] += n
		}
		for _, i := range page.Items {
			if i.Outcome == "REFUSED" && len(i.Violations) == 0 && i.Code == "SUTRA.ADMIN.MIGRATE.REFUSED" {
				t.Errorf("%s was refused and nothing says why: %+v", i.Instance, i)
			}
		}
		if page.Next == "" {
			t.Logf("%v in %d pages", counts, pages)
			return counts
		}
		b.After = page.Next
	}
}

// failing deploys the broken orders and has a decision fail n of them.
func failing(t *testing.T, f *scenario.Fleet, r *scenario.Replica, n int) wire.Deployment {
	t.Helper()
	old := mustDeploy(t, r, "wait=fleet", sealed(t, breaks))
	park(t, r, n)
	each(n, func(i int) {
		a, err := r.Insist(decide(i))
		if err != nil || a.Status != http.StatusInternalServerError || a.Problem().Retryable {
			t.Errorf("decision %d: got %s, %v; want the failure, and not to be sent again", i, a, err)
		}
	})
	if got := len(r.Instances("status=failed")); got != n || t.Failed() {
		t.Fatalf("got %d failed instances, want %d", got, n)
	}
	if len(f.Receiver.Deliveries()) != 0 {
		t.Fatalf("a failed order was shipped: %v", f.Receiver.Bodies())
	}
	return old
}

// retires waits until a revision has retired.
func retires(t *testing.T, f *scenario.Fleet, r *scenario.Replica, id string) {
	t.Helper()
	f.Eventually("the old revision retires", func() error {
		if d := deployments(t, r)[id]; d.Phase != "Retired" {
			return fmt.Errorf("it is %s, blocked by %+v", d.Phase, d.Blockers)
		}
		return nil
	})
}

func TestTheRepairLoop(t *testing.T) {
	const number = 100
	f := fleet(t, nil)
	a, b := f.Start("a"), f.Start("b")
	old := failing(t, f, a, number)
	repaired := mustDeploy(t, b, "wait=fleet", sealed(t, renames))
	if d := deployments(t, a)[old.DeploymentID]; d.Phase != "Draining" || d.Blockers.LiveInstances != number {
		t.Fatalf("the broken revision is %s, blocked by %+v", d.Phase, d.Blockers)
	}

	unchanged := watch(t, f, a)
	batch := wire.MigrationBatch{Migration: wire.Migration{DryRun: true, Resume: true}, Filter: &wire.MigrationFilter{DeploymentID: old.DeploymentID}, Limit: 30}
	if got := moveAll(t, a, batch); got["REFUSED"] != number || len(got) != 1 {
		t.Fatalf("a dry run without a mapping: got %v, want all refused", got)
	}
	batch.Mapping = map[string]string{"parked": "waiting"}
	if got := moveAll(t, b, batch); got["VALID"] != number || len(got) != 1 {
		t.Fatalf("a dry run: got %v, want all valid", got)
	}
	unchanged("a dry run")

	one := a.Instances("status=failed")[0].ID
	refusal := post(t, a, "/admin/instances/"+one+"/migrate", wire.Migration{Resume: true}, nil)
	if p := refusal.Problem(); refusal.Status != http.StatusUnprocessableEntity || p.Code != "SUTRA.ADMIN.MIGRATE.REFUSED" ||
		len(p.Violations) == 0 || p.Violations[0].Element != "parked" || p.Retryable {
		t.Fatalf("without a mapping: got %s", refusal)
	}

	batch.DryRun = false
	if got := moveAll(t, b, batch); got["MIGRATED"] != number || len(got) != 1 {
		t.Fatalf("got %v, want all migrated", got)
	}
	wantEnded(t, f, a, number)
	wantShippedOnce(t, f, number)
	retires(t, f, a, old.DeploymentID)
	for _, i := range a.Instances("") {
		if i.DeploymentID != repaired.DeploymentID {
			t.Errorf("instance %s ended on %s", i.ID, i.DeploymentID)
		}
	}
}

func TestTheRepairLoopByCommand(t *testing.T) {
	const number = 20
	f := fleet(t, nil)
	a, b := f.Start("a"), f.Start("b")
	old := failing(t, f, a, number)
	file := filepath.Join(t.TempDir(), "orders.sutra")
	if err := os.WriteFile(file, sealed(t, renames), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, says string, args ...string) {
		t.Helper()
		if got := b.Command(args...); got.Code != want || !strings.Contains(got.Out+got.Err, says) {
			t.Fatalf("sutra %s: exit %d, want %d with %q:\n%.2000s%.2000s", strings.Join(args, " "), got.Code, want, says, got.Out, got.Err)
		}
	}
	all := fmt.Sprintf("%d ", number)
	run(0, "is Active as revision 2", "deploy", file, "--wait=fleet")
	run(3, `[SUTRA.ADMIN.MIGRATE.NODE_UNKNOWN]`, "instances", "migrate", "--from", old.DeploymentID, "--resume", "--dry-run")
	run(0, all+"VALID", "instances", "migrate", "--from", old.DeploymentID, "--resume", "--dry-run", "--map", "parked=waiting")
	run(2, "--from", "instances", "migrate", "--resume")
	one := a.Instances("status=failed")[0].ID
	run(0, "1 MIGRATED", "instances", "migrate", one, "--resume", "--map", "parked=waiting", "--to", "acme--orders--1.0.0")
	run(0, fmt.Sprintf("%d MIGRATED", number-1), "instances", "migrate", "--from", old.DeploymentID, "--resume", "--map", "parked=waiting")
	run(0, "no instance was chosen", "instances", "migrate", "--from", old.DeploymentID)
	wantEnded(t, f, a, number)
	wantShippedOnce(t, f, number)
	retires(t, f, a, old.DeploymentID)
	run(0, "Retired", "deployments", "--all")
}

// While a step is in flight a migration is refused with nothing read or written. A batch moves the others, and run again it moves the
// rest; one that has moved already is no trouble to it.
func TestMigrationBouncesOffAStepInFlight(t *testing.T) {
	const number = 6
	f := fleet(t, scenario.Settings{"sutra.instance.claim-timeout": "PT5M"})
	b := f.Start("b")
	old := mustDeploy(t, b, "wait=fleet", sealed(t))
	ids := park(t, b, number)
	p := f.Proxy()
	a := f.Launch("a", scenario.Settings{"sutra.datasource.url": f.Through(p)}).AwaitReady()
	mustDeploy(t, b, "wait=fleet", sealed(t, renames, add("templates/note.txt", "two")))
	p.Hold(commits)
	decision := f.Ask(func() (scenario.Answer, error) { return a.Send(decide(1)) })
	ledger := f.Ledger()
	f.Eventually("a holds the claim", func() error {
		if n := ledger.Count(held); n != 1 {
			return fmt.Errorf("got %d claims, want 1", n)
		}
		return nil
	})

	move := wire.Migration{Mapping: map[string]string{"parked": "waiting"}}
	before := dump(ledger)
	for _, dry := range []bool{false, true} {
		move.DryRun = dry
		refused := post(t, b, "/admin/instances/"+ids[1]+"/migrate", move, nil)
		if pr := refused.Problem(); refused.Status != 409 || pr.Code != "SUTRA.ADMIN.MIGRATE.CLAIM_HELD" || !pr.Retryable || refused.Header.Get("Retry-After") == "" ||
			!strings.Contains(pr.Instance, ids[1]) {
			t.Errorf("dry %v: got %s, Retry-After %q; want 409 CLAIM_HELD", dry, refused, refused.Header.Get("Retry-After"))
		}
	}
	if after := dump(ledger); !slices.Equal(before, after) {
		t.Errorf("the refusal wrote:\nbefore %s\nafter  %s", before, after)
	}

	move.DryRun = false
	batch := wire.MigrationBatch{Migration: move, Filter: &wire.MigrationFilter{DeploymentID: old.DeploymentID}}
	if got := moveAll(t, b, batch); got["BOUNCED"] != 1 || got["MIGRATED"] != number-1 {
		t.Errorf("got %v, want one bounced", got)
	}
	p.Release()
	if answer := decision(); !answer.Good() {
		t.Errorf("the step in flight: got %s, want it taken", answer)
	}
	named := wire.MigrationBatch{Migration: move}
	for i := 2; i <= number; i++ {
		named.Instances = append(named.Instances, ids[i])
	}
	if got := moveAll(t, b, named); got["MIGRATED"] != number-1 {
		t.Errorf("run again by name: got %v, want all where they are to be", got)
	}
	if got := moveAll(t, b, batch); len(got) != 0 {
		t.Errorf("run again: got %v, want nothing left", got)
	}
	each(number, func(i int) {
		if i == 1 {
			return
		}
		if answer, err := a.Insist(decide(i)); err != nil || !answer.Good() {
			t.Errorf("decision %d after the move: got %s, %v", i, answer, err)
		}
	})
	wantEnded(t, f, b, number)
	wantShippedOnce(t, f, number)
	retires(t, f, b, old.DeploymentID)
}

// The broken orders wait for an approval that a decision does not bring: an operator writes it, and the decision happens again.
func TestACorrectedInstanceGoesOnAndTheAuditSaysWhoDidIt(t *testing.T) {
	f := stage.Fleet(t, scenario.Settings{
		"sutra.admin.auth.keys": "admin=ann:" + scenario.AdminKey + ",admin=bob:bobs-key@acme,admin=eve:eves-key@elsewhere,operate:" + scenario.OperateKey,
	})
	r := f.Start("a")
	one := failing(t, f, r, 1)
	id := r.Instances("status=failed")[0].ID
	path := "/admin/instances/" + id
	type call struct {
		key, path, body string
		want            int
		code            string
	}
	for _, c := range []call{
		{"bobs-key", path + "/variables", `{"variables": {}}`, 400, "SUTRA.INTAKE.REQUEST.INVALID"},
		{"eves-key", path + "/variables", `{"variables": {"x": 1}}`, 404, "SUTRA.RUNTIME.INSTANCE.UNKNOWN"},
		{"bobs-key", path + "/retry?wait=7", ``, 409, "SUTRA.ADMIN.RETRY.NOTHING"},
		{"bobs-key", path + "/retry", ``, 200, ""},
	} {
		a, err := r.Call(scenario.Request{Method: http.MethodPost, Path: c.path, Key: c.key, Kind: "application/json", Body: []byte(c.body)})
		if err != nil || a.Status != c.want || a.Problem().Code != c.code {
			t.Fatalf("%s as %s: got %s, %v; want %d %s", c.path, c.key, a, err, c.want, c.code)
		}
	}
	f.Eventually("it has failed again: nothing was put right", func() error {
		if i := r.Instance(id); i.Status != "failed" {
			return fmt.Errorf("it is %s", i.Status)
		}
		return nil
	})
	corrected := r.Command("instances", "correct", id, `{"secret": "hush"}`)
	if corrected.Code != 0 || !strings.Contains(corrected.Out, `"status": "failed"`) {
		t.Fatalf("correct: %+v", corrected)
	}
	if got := r.Command("instances", "cancel", id); got.Code != 0 {
		t.Fatalf("cancel: %+v", got)
	}
	mustDeploy(t, r, "", sealed(t, renames))
	if got := r.Command("undeploy", "acme--orders--1.0.0"); got.Code != 0 {
		t.Fatalf("undeploy: %+v", got)
	}

	read := func(key, query string) (out []wire.Audit) {
		t.Helper()
		for after := ""; ; {
			a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: "/admin/audit?limit=2&" + query + after, Key: key})
			var page wire.Page[wire.Audit]
			if err == nil {
				err = json.Unmarshal(a.Body, &page)
			}
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("audit: got %s, %v", a, err)
			}
			if strings.Contains(string(a.Body), "hush") {
				t.Errorf("the audit tells a value: %s", a)
			}
			if out = append(out, page.Items...); page.Next == "" {
				return out
			}
			after = "&after=" + page.Next
		}
	}
	var got []string
	for _, a := range read(scenario.AdminKey, "") {
		got = append(got, a.Actor+" "+a.Action)
		if a.Tenant != "acme" || a.Action == "correct" && (a.Instance != id || string(a.Detail) != `{"variables":["secret"]}`) {
			t.Errorf("got %+v", a)
		}
	}
	if want := []string{"ann undeploy", "ann deploy", "ann cancel", "ann correct", "bob retry", "ann deploy"}; !slices.Equal(got, want) {
		t.Errorf("the audit says %q, want %q", got, want)
	}
	if n := len(read(scenario.AdminKey, "instance="+id)); n != 3 {
		t.Errorf("got %d actions on the instance, want 3", n)
	}
	if n := len(read("eves-key", "")); n != 0 {
		t.Errorf("another tenant's operator sees %d actions", n)
	}
	if got := r.Command("audit", "--action", "deploy"); got.Code != 0 || strings.Count(got.Out, "ann") != 2 || !strings.Contains(got.Out, one.DeploymentID) {
		t.Errorf("audit: %+v", got)
	}
}
