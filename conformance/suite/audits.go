package suite

import (
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func auditTests() []test {
	return []test{
		{"AuditIsWrittenWithWhatItTellsOf", auditGoesWithItsDeed},
		{"AuditListsAreKeysets", auditLists},
	}
}

func auditGoesWithItsDeed(t *testing.T, h Harness) {
	f := own(t, h)
	f.want("before", f.rows("audit", "1 = 1"), 0)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("x")}
	f.start(n)
	with := func(action string, want ports.Outcome, spoil func(*ports.Step)) {
		t.Helper()
		st := f.step(f.own(f.store, "a/operator/1", n.ID))
		deed := f.deed(action)
		deed.Instance = n.ID
		st.Audit, st.Waits, st.Drop = &deed, nil, ports.Dropped{}
		spoil(&st)
		f.settled(action, f.commit(f.store, st), want)
	}
	with("lost", ports.ClaimLost, func(st *ports.Step) { st.Epoch++ })
	with("nowhere", ports.NotActive, func(st *ports.Step) { st.Move = &ports.Move{To: f.deployment()} })
	f.want("of what did not happen", f.rows("audit", "1 = 1"), 0)
	with("cancel", ports.Done, func(*ports.Step) {})
	got, err := f.store.Audits().List(t.Context(), ports.AuditQuery{Tenants: []string{f.tenant}, Limit: 10})
	f.must(err)
	f.want("actions", len(got), 1)
	f.want("action", []any{got[0].Action, got[0].Actor, got[0].Instance, got[0].Subject, string(got[0].Detail), got[0].At, got[0].Tenant},
		[]any{"cancel", "somebody", n.ID, "x", `{"why":"\u00fc"}`, f.clock.Now(), f.tenant})

	redriven, err := f.store.Outbox().Redrive(t.Context(), f.tenant, f.ids.New(), f.deed("redrive"))
	f.must(err)
	f.settled("of nothing", redriven, ports.Gone)
	f.settleAll(f.store, f.take(f.store, "w", 1), ports.Poisoned)
	poisoned, err := f.store.Views().Emissions(t.Context(), nil, true, ports.EmissionID{}, 10)
	f.must(err)
	redriven, err = f.store.Outbox().Redrive(t.Context(), f.tenant, poisoned[0].ID, f.deed("redrive"))
	f.must(err)
	f.settled("redrive", redriven, ports.Done)
	retried, err := f.store.Tasks().Retry(t.Context(), ports.TaskLock{Tenant: f.tenant, ID: n.Tasks[0].ID}, 1, f.deed("retry-task"))
	f.must(err)
	f.settled("of a task that is not exhausted", retried, ports.Gone)
	failed, err := f.store.Tasks().Fail(t.Context(), []ports.FailedTask{{TaskLock: ports.TaskLock{Tenant: f.tenant, ID: n.Tasks[0].ID}}})
	f.must(err)
	f.settled("exhaust", failed[0], ports.Done)
	retried, err = f.store.Tasks().Retry(t.Context(), ports.TaskLock{Tenant: f.tenant, ID: n.Tasks[0].ID}, 1, f.deed("retry-task"))
	f.must(err)
	f.settled("retry", retried, ports.Done)

	deed := f.deed("deploy")
	activation := ports.Activation{Slot: f.slot("2"), ID: f.deployment(), Archive: []byte("zip"), Audit: &deed}
	for _, want := range []ports.Outcome{ports.Done, ports.Duplicate} {
		_, answer, err := f.store.Deployments().Activate(t.Context(), activation)
		f.must(err)
		f.settled("deploy", answer, want)
	}
	f.must(f.store.Audits().Note(t.Context(), f.deed("undeploy")))
	for _, action := range []string{"cancel", "redrive", "retry-task", "deploy", "undeploy"} {
		f.want(action, f.rows("audit", "action = '"+action+"'"), 1)
	}
}

func auditLists(t *testing.T, h Harness) {
	f := own(t, h)
	g := corner(t, f.db)
	var all []ports.Audit // newest first
	for i := range 6 {
		of := []*fixture{f, g}[i%2]
		a := of.deed([]string{"cancel", "resume"}[i/2%2])
		a.ID, a.Actor = f.ids.New(), []string{"ann", "bob"}[i/3]
		if i == 0 {
			a.Instance = f.ids.New()
		}
		f.must(f.store.Audits().Note(t.Context(), a))
		a.At = f.clock.Now()
		all = append([]ports.Audit{a}, all...)
		f.clock.move(time.Minute)
		g.clock.move(time.Minute)
	}
	list := func(what string, q ports.AuditQuery, want ...int) {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		got, err := f.store.Audits().List(t.Context(), q)
		f.must(err)
		var ids, wanted []ports.ID
		for _, a := range got {
			ids = append(ids, a.ID)
		}
		for _, i := range want {
			wanted = append(wanted, all[i].ID)
		}
		f.want(what, ids, wanted)
	}
	list("everybody's", ports.AuditQuery{}, 0, 1, 2, 3, 4, 5)
	list("nobody's", ports.AuditQuery{Tenants: []string{}})
	list("f's", ports.AuditQuery{Tenants: []string{f.tenant}}, 1, 3, 5)
	list("both", ports.AuditQuery{Tenants: []string{g.tenant, f.tenant}, Limit: 4}, 0, 1, 2, 3)
	list("the next page", ports.AuditQuery{Tenants: []string{g.tenant, f.tenant}, Limit: 4, After: all[3].ID}, 4, 5)
	list("of an instance", ports.AuditQuery{Instance: all[5].Instance}, 5)
	list("ann's", ports.AuditQuery{Actor: "ann"}, 3, 4, 5)
	list("resumes", ports.AuditQuery{Action: "resume"}, 2, 3)
	list("since", ports.AuditQuery{Since: all[1].At}, 0, 1)
	list("until", ports.AuditQuery{Until: all[4].At}, 5)
}
