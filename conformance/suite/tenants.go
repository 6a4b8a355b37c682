package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func tenantTests() []test {
	return []test{
		{"RowSecurityHidesOtherTenants", rowSecurityHides},
		{"RowSecurityRefusesOtherTenantsRows", rowSecurityRefuses},
		{"NoTenantReachesAnother", noTenantReachesAnother},
		{"TenantsShareNoKeys", tenantsShareNoKeys},
	}
}

func rowSecurityHides(t *testing.T, h Harness) {
	f, g := shared(t, h), shared(t, h)
	if !h.Dialect.Caps.RowSecurity {
		t.Skip("the database has none")
	}
	f.parked(2)
	g.parked(1)
	both := fmt.Sprintf("SELECT count(*) FROM sutra_instance WHERE tenant IN ('%s', '%s')", f.tenant, g.tenant)
	f.want("past it", f.count(both), 3)
	f.want("by the tenant", f.db.Seen(t, f.tenant, both), 2)
	f.want("by the fleet", f.db.Seen(t, "*", both), 3)
	f.want("by nobody", f.db.Seen(t, "", both), 0)
	for line := range strings.Lines(golden) {
		if table, found := strings.CutSuffix(strings.Fields(line)[0], ".tenant"); found {
			f.want("rows of "+table+" by nobody", f.db.Seen(t, "", "SELECT count(*) FROM sutra_"+table), 0)
		}
	}
}

// noTenantReachesAnother names another tenant's rows by their ids, everywhere where an id comes from outside.
func noTenantReachesAnother(t *testing.T, h Harness) {
	f, g := shared(t, h), shared(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("x")}
	f.start(n)
	foreign := ports.Ref{Tenant: g.tenant, ID: n.ID}
	loaded, err := g.store.Instances().Load(t.Context(), []ports.Ref{foreign})
	f.must(err)
	f.want("loaded", len(loaded), 0)
	f.want("claimed", g.claim(g.store, "g/1", n.ID).Outcome, ports.Gone)
	c := f.own(f.store, "f/1", n.ID)
	c.Ref = foreign
	st := g.step(c)
	f.settled("committed", g.commit(g.store, st), ports.ClaimLost)
	f.must(g.store.Claims().Release(t.Context(), []ports.Claim{c}))
	f.want("still held", f.claim(f.store, "f/2", n.ID).Outcome, ports.Held)
	tasks, err := g.store.Tasks().Read(t.Context(), []ports.TaskLock{{Tenant: g.tenant, ID: n.Tasks[0].ID}})
	f.must(err)
	f.want("tasks", len(tasks), 0)
	failed, err := g.store.Tasks().Fail(t.Context(), []ports.FailedTask{{TaskLock: ports.TaskLock{Tenant: g.tenant, ID: n.Tasks[0].ID}}})
	f.must(err)
	f.settled("failed", failed[0], ports.Gone)
	history, err := g.store.Views().History(t.Context(), foreign, 0, 10)
	f.must(err)
	f.want("history", len(history), 0)
	waits, err := g.store.Views().Waits(t.Context(), foreign)
	f.must(err)
	f.want("waits", len(waits), 0)
	d := f.delivery(n.ID, "delivery "+f.next())
	f.settled("accept", f.store.Inbox().Accept(t.Context(), []ports.Message{d})[0], ports.Done)
	pending, err := g.store.Inbox().Of(t.Context(), []ports.Ref{foreign})
	f.must(err)
	f.want("pending messages", len(pending), 0)
	theirs := d.InboxRef
	theirs.Tenant = g.tenant
	f.must(g.store.Inbox().Bury(t.Context(), []ports.InboxRef{theirs}, "by another"))
	f.must(g.store.Inbox().Defer(t.Context(), []ports.InboxRef{theirs}, f.clock.Now().Add(time.Hour), "by another"))
	finished, err := g.store.Inbox().Finish(t.Context(), []ports.InboxRef{theirs})
	f.must(err)
	f.settled("finished", finished[0], ports.Gone)
	pending, err = f.store.Inbox().Of(t.Context(), []ports.Ref{n.Ref})
	f.must(err)
	f.want("messages that are pending still", len(pending), 1)
	redriven, err := g.store.Outbox().Redrive(t.Context(), g.tenant, n.Outbox[0].ID, g.deed("redrive"))
	f.must(err)
	f.settled("redriven", redriven, ports.Gone)
}

// tenantsShareNoKeys gives two tenants the same keys everywhere where keys come from outside.
func tenantsShareNoKeys(t *testing.T, h Harness) {
	f, g := shared(t, h), shared(t, h)
	g.module = f.module
	event, value := "the same "+f.next(), ports.NewKey("the same", f.tenant)
	start := func(of *fixture) ports.NewInstance {
		n := of.started(event)
		n.Module = f.module
		n.Aliases = []ports.Alias{{Module: f.module, Name: "order", Value: value, Unique: true}}
		of.start(n)
		return n
	}
	mine, theirs := start(f), start(g)
	for of, n := range map[*fixture]ports.NewInstance{f: mine, g: theirs} {
		ask := ports.Lookup{Tenant: of.tenant, Wait: n.Waits[0].Name, Module: f.module, Alias: "order", Value: value}
		found, err := of.store.Correlation().Find(t.Context(), []ports.Lookup{ask}, 5)
		f.must(err)
		f.want("found", fmt.Sprint(len(found[0]), found[0][0].Ref), fmt.Sprint(1, n.Ref))
		holder, err := of.store.Correlation().Holder(t.Context(), []ports.Lookup{ask})
		f.must(err)
		f.want("holder", holder[0], n.Ref)
		f.want("of the key", of.list(ports.InstanceQuery{Tenants: []string{of.tenant}, Alias: &n.Aliases[0]}), []ports.InstanceID{n.ID})
		again := of.started(event)
		got := of.store.Instances().Start(t.Context(), []ports.NewInstance{again})[0]
		f.settled("the same event", got, ports.Duplicate)
		f.want("whose", got.Other, n.ID)
	}
	st := f.step(f.own(f.store, "f/1", mine.ID))
	st.Status, st.Waits, st.Drop = ports.Completed, nil, ports.Dropped{All: true}
	f.settled("end", f.commit(f.store, st), ports.Done)
	f.want("what another's end leaves", g.rows("alias", "1 = 1")+g.rows("wait", "1 = 1"), 3)
}

// rowSecurityRefuses changes rows past the store, in a transaction of one tenant, without saying whose.
func rowSecurityRefuses(t *testing.T, h Harness) {
	f, g := own(t, h), (*fixture)(nil)
	if !h.Dialect.Caps.RowSecurity {
		t.Skip("the database has none")
	}
	g = corner(t, f.db)
	for _, c := range []*fixture{f, g} {
		n := c.fresh()
		n.Tasks = []ports.Task{c.task("work")}
		c.start(n)
		_, a, err := c.store.Deployments().Activate(t.Context(), ports.Activation{
			Slot: c.slot("2"), ID: c.deployment(), Archive: []byte("zip"), Doors: []ports.Door{{Channel: "c", Address: c.tenant}},
			Schedules: []ports.Schedule{{Process: "p", Node: "s", Due: c.clock.Now()}},
		})
		c.must(err)
		c.want("deploy", a.Outcome, ports.Done)
		c.must(c.store.Audits().Note(t.Context(), c.deed("cancel")))
		c.must(c.store.Operations().Open(t.Context(), ports.Operation{ID: c.ids.New(), Tenant: c.tenant, Archive: []byte("zip"), State: "pending"}))
	}
	for line := range strings.Lines(golden) {
		table, found := strings.CutSuffix(strings.Fields(line)[0], ".tenant")
		if !found {
			continue
		}
		for _, change := range []string{"UPDATE sutra_%s SET tenant = tenant RETURNING tenant", "DELETE FROM sutra_%s RETURNING tenant"} {
			change = fmt.Sprintf(change, table)
			hit := "WITH hit AS (" + change + ") SELECT count(CASE WHEN tenant = '%s' THEN 1 END) FROM hit"
			if f.db.Seen(t, f.tenant, fmt.Sprintf(hit, f.tenant)) == 0 {
				t.Errorf("%s hits nothing of the tenant's own: this test would see nothing", change)
			}
			f.want(change+" hits of another", f.db.Seen(t, f.tenant, fmt.Sprintf(hit, g.tenant)), 0)
			f.want(change+" hits of all by nobody", f.db.Seen(t, "", fmt.Sprintf(hit, g.tenant)), 0)
		}
		if f.db.Refuses(t, f.tenant, fmt.Sprintf("UPDATE sutra_%s SET tenant = '%s'", table, g.tenant)) == nil {
			t.Errorf("a row of sutra_%s was given to another tenant", table)
		}
	}
}
