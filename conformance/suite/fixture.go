package suite

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/ports"
)

// fixture is one test's corner of a database: its own tenant, its own deployment, a clock that stands.
type fixture struct {
	*testing.T
	db     Database
	clock  *frozen
	tenant string
	module string
	topics string
	active ports.DeploymentID
	ids    *system.IDs
	store  ports.Store // of the fixture's own doings
	mu     sync.Mutex
	n      int
}

// shared is a corner of the database that all tests share.
func shared(t *testing.T, h Harness) *fixture { return corner(t, h.Shared) }

// own is a database of the test's own.
func own(t *testing.T, h Harness) *fixture { return corner(t, h.Own(t)) }

func corner(t *testing.T, db Database) *fixture {
	f := &fixture{
		T: t, db: db, clock: &frozen{at: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)},
		tenant: "t" + random(8), module: "m" + random(4), topics: random(4), ids: &system.IDs{},
	}
	f.store = f.open(Replica{})
	f.active = f.deploy("1").ID
	return f
}

// open opens a replica on the fixture's clock.
func (f *fixture) open(r Replica) ports.Store {
	if r.Clock == nil {
		r.Clock = f.clock
	}
	return f.db.Open(f.T, r)
}

// pair opens two replicas.
func (f *fixture) pair() (a, b ports.Store) { return f.open(Replica{}), f.open(Replica{}) }

func (f *fixture) deployment() ports.DeploymentID { return ports.DeploymentID(random(32)) }

func (f *fixture) slot(version string) ports.Slot {
	return ports.Slot{Tenant: f.tenant, Module: f.module, Version: version}
}

// deploy activates a new revision.
func (f *fixture) deploy(version string) ports.Revision {
	f.Helper()
	r, a, err := f.store.Deployments().Activate(f.Context(), ports.Activation{Slot: f.slot(version), ID: f.deployment(), Archive: []byte("zip")})
	f.must(err)
	f.want("deploy", a.Outcome, ports.Done)
	return r
}

func (f *fixture) next() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return fmt.Sprint(f.n)
}

func (f *fixture) ref(id ports.InstanceID) ports.Ref { return ports.Ref{Tenant: f.tenant, ID: id} }

func (f *fixture) key(channel, event string) ports.InboxRef {
	return ports.InboxRef{Tenant: f.tenant, Channel: channel, Event: ports.NewKey(f.tenant, channel, event)}
}

// fresh is a parked instance started by a new message, with one of everything beside it.
func (f *fixture) fresh() ports.NewInstance { return f.started("event " + f.next()) }

func (f *fixture) started(event string) ports.NewInstance {
	id := f.ids.New()
	return ports.NewInstance{
		Ref: f.ref(id), Deployment: f.active, Module: f.module, Process: "order", Channel: "orders", Status: ports.Suspended,
		Snapshot: []byte("snapshot of " + id.String()),
		Consumed: &ports.Consumed{InboxRef: f.key("orders", event), EventID: []byte(event), Kind: ports.KindMessage},
		Rows: ports.Rows{
			Waits: []ports.Wait{
				{ID: 1, Kind: ports.WaitMessage, Node: "paid", Name: ports.NewKey("message", "payments")},
				{ID: 2, Kind: ports.WaitTimer, Node: "late", Due: f.clock.Now().Add(time.Hour)},
			},
			Aliases: []ports.Alias{{Module: f.module, Name: "order", Value: ports.NewKey(id.String())}},
			Outbox:  []ports.Emission{f.emission(id)},
			History: []byte("started"),
		},
	}
}

func (f *fixture) emission(instance ports.InstanceID) ports.Emission {
	return ports.Emission{
		Tenant: f.tenant, ID: f.ids.New(), Deployment: f.active, Instance: instance, Seq: 1, Destination: "http://example.test/" + f.tenant,
		ContentType: "application/json", Headers: []ports.Header{{Name: "A", Value: "1"}, {Name: "A", Value: "\x00ü"}}, Body: []byte("{}"),
	}
}

// topic is the test's own: who looks for a topic's tasks may pass over those that another is just looking at.
func (f *fixture) topic(name string) string { return name + " " + f.topics }

func (f *fixture) task(topic string) ports.Task {
	return ports.Task{ID: f.ids.New(), Wait: 3, Node: "work", Topic: f.topic(topic), Inputs: []byte("{}"), Retries: 3}
}

func (f *fixture) message(event string) ports.Message {
	return ports.Message{
		InboxRef: f.key("orders", event), EventID: []byte(event), Kind: ports.KindMessage, Payload: []byte("payload of " + event),
		Name: ports.NewKey("message", "orders"), Deployment: f.active,
	}
}

func (f *fixture) delivery(to ports.InstanceID, event string) ports.Message {
	return ports.Message{
		InboxRef: f.key(ports.DeliveryChannel, event), Kind: ports.KindChildDone, Target: to, Wait: 1, Source: f.ids.New(), Payload: []byte(event),
	}
}

// start starts instances and wants all of them done.
func (f *fixture) start(all ...ports.NewInstance) {
	f.Helper()
	for i, a := range f.store.Instances().Start(f.Context(), all) {
		f.settled(fmt.Sprint("start ", i), a, ports.Done)
	}
}

// parked starts n instances.
func (f *fixture) parked(n int) []ports.NewInstance {
	f.Helper()
	all := make([]ports.NewInstance, n)
	for i := range all {
		all[i] = f.fresh()
	}
	f.start(all...)
	return all
}

// claim claims one instance.
func (f *fixture) claim(s ports.Store, owner ports.Owner, id ports.InstanceID) ports.Claimed {
	f.Helper()
	got, err := s.Claims().Claim(f.Context(), owner, []ports.Ref{f.ref(id)}, f.silent())
	f.must(err)
	return got[0]
}

// own claims one instance and wants to have it.
func (f *fixture) own(s ports.Store, owner ports.Owner, id ports.InstanceID) ports.Claim {
	f.Helper()
	got := f.claim(s, owner, id)
	f.want("claim", got.Outcome, ports.Done)
	return ports.Claim{Ref: f.ref(id), Owner: owner, Epoch: got.Epoch}
}

// silent is the instant before which a claim counts as silent.
func (f *fixture) silent() time.Time { return f.clock.Now().Add(-5 * time.Minute) }

// step is a step of a claimed instance that consumes a new message and emits.
func (f *fixture) step(c ports.Claim) ports.Step {
	event := "step " + f.next()
	return ports.Step{
		Claim: c, ID: f.ids.New(), Seq: 2, Deployment: f.active, Module: f.module, Process: "order", Status: ports.Suspended,
		Snapshot: []byte("next"),
		Consumed: []ports.Consumed{{InboxRef: f.key("payments", event), EventID: []byte(event), Kind: ports.KindMessage}},
		Drop:     ports.Dropped{Waits: []ports.WaitID{1}},
		Rows: ports.Rows{
			Waits:   []ports.Wait{{ID: 3, Kind: ports.WaitMessage, Node: "sent", Name: ports.NewKey("message", "parcels")}},
			Outbox:  []ports.Emission{f.emission(c.Ref.ID)},
			History: []byte("stepped"),
		},
	}
}

// commit commits one step.
func (f *fixture) commit(s ports.Store, st ports.Step) ports.Answer {
	f.Helper()
	return s.Instances().Commit(f.Context(), []ports.Step{st})[0]
}

// deed is an action of an operator.
func (f *fixture) deed(action string) ports.Audit {
	return ports.Audit{ID: f.ids.New(), Tenant: f.tenant, Actor: "somebody", Action: action, Subject: "x", Detail: []byte(`{"why":"\u00fc"}`)}
}

// load reads one instance.
func (f *fixture) load(id ports.InstanceID) ports.Instance {
	f.Helper()
	got, err := f.store.Instances().Load(f.Context(), []ports.Ref{f.ref(id)})
	f.must(err)
	if len(got) != 1 {
		f.Fatalf("load %s: %d rows, want 1", id, len(got))
	}
	return got[0]
}

// rows counts the rows of the fixture's tenant in a table.
func (f *fixture) rows(table, where string) int {
	f.Helper()
	return f.count(fmt.Sprintf("SELECT count(*) FROM sutra_%s WHERE tenant = '%s' AND %s", table, f.tenant, where))
}

// count answers a query's one number.
func (f *fixture) count(query string) int {
	f.Helper()
	n, err := strconv.Atoi(f.db.Rows(f.T, query)[0][0])
	f.must(err)
	return n
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) want(what string, got, want any) {
	f.Helper()
	if a, ok := got.([]byte); ok && bytes.Equal(a, want.([]byte)) {
		return
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func (f *fixture) settled(what string, got ports.Answer, want ports.Outcome) {
	f.Helper()
	if got.Outcome != want || (got.Err != nil) != (want == ports.Unsettled) {
		f.Fatalf("%s: got %q (other %s, detail %q, err %v), want %q", what, got.Outcome, got.Other, got.Detail, got.Err, want)
	}
}

// tally counts outcomes, sorted by name.
func tally(all []ports.Answer) string {
	counts := map[string]int{}
	for _, a := range all {
		name := string(a.Outcome)
		if a.Err != nil {
			name = a.Err.Error()
		}
		counts[name]++
	}
	return strings.TrimPrefix(fmt.Sprint(counts), "map")
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
