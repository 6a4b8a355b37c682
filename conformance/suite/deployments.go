package suite

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func deploymentTests() []test {
	return []test{
		{"ActivationSwapsItsSlot", activationSwaps},
		{"SixteenDeploysAtOnceLeaveOneActive", sixteenDeploys},
		{"VersionIsNeverSkipped", versionIsNeverSkipped},
		{"DoorsAreUniqueOverTenants", doorsAreUnique},
		{"DrainStopsIntakeAndReopensDoors", drainStopsIntake},
		{"RedeployedBytesComeBackUnderTheNextNumber", redeployedBytes},
		{"SupersedesDrainsAnotherSlot", supersedesDrains},
		{"YoungerCallWinsOverASubmittedOne", youngerCallWins},
		{"SchedulesThatLiveOnKeepTheirTime", schedulesLiveOn},
		{"FireNamesItsSchedule", fireNamesItsSchedule},
		{"ActivationEnqueuesItsNotices", activationEnqueues},
		{"EachLegHoldsRetirementBack", eachLegHoldsBack},
		{"RetirementRacesWithStarts", retirementRaces},
		{"ArchivesSurviveTheirSizeAndDrop", archives},
		{"NapEndsWithAChange", napEndsWithAChange},
		{"ReplicasAreNotedAndLeave", replicasAreNoted},
	}
}

func (f *fixture) activate(s ports.Store, a ports.Activation) (ports.Revision, ports.Answer) {
	f.Helper()
	r, out, err := s.Deployments().Activate(f.Context(), a)
	f.must(err)
	return r, out
}

func activationSwaps(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	first := f.active
	v1, err := a.Changes().Version(f.Context())
	f.must(err)
	elsewhere := f.slot("1")
	elsewhere.Module += "x"
	_, out := f.activate(a, ports.Activation{Slot: elsewhere, ID: f.deployment(), Archive: []byte("other")})
	f.settled("another module", out, ports.Done)
	f.want("active", f.rows("deployment", "phase = 'active'"), 2)
	f.db.Exec(t, "DELETE FROM sutra_deployment WHERE module = '"+elsewhere.Module+"'")

	made, out := f.activate(b, ports.Activation{Slot: f.slot("1"), ID: f.deployment(), Archive: []byte("second")})
	f.settled("swap", out, ports.Done)
	f.want("number", made.Number, 2)
	v2, served, err := a.Deployments().Served(f.Context())
	f.must(err)
	f.want("version changed", v1 != v2, true)
	f.want("served since", []any{made.Since, served[1].Since}, []any{v2, v2})
	f.want("served", []any{served[0].ID, served[0].Phase, served[1].ID, served[1].Phase}, []any{first, ports.Draining, made.ID, ports.Active})
	again, out := f.activate(a, ports.Activation{Slot: f.slot("1"), ID: made.ID, Archive: []byte("second")})
	f.settled("the same bytes again", out, ports.Duplicate)
	f.want("the same answer", again, made)
	v3, err := a.Changes().Version(f.Context())
	f.must(err)
	f.want("nothing changed", v3, v2)
}

func sixteenDeploys(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	answers := make([]ports.Answer, 16)
	var wg sync.WaitGroup
	for i := range answers {
		s := []ports.Store{a, b}[i%2]
		wg.Go(func() {
			_, out, err := s.Deployments().Activate(f.Context(), ports.Activation{
				Slot: f.slot("1"), ID: f.deployment(), Archive: []byte("x"), Doors: []ports.Door{{Channel: "c", Address: "http POST */c"}},
			})
			answers[i] = out
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.want("outcomes", tally(answers), "[done:16]")
	f.want("active", f.rows("deployment", "phase = 'active'"), 1)
	f.want("numbers", f.count("SELECT count(DISTINCT number) FROM sutra_deployment"), 17)
	f.want("doors", f.rows("door", "1 = 1"), 1)
}

func versionIsNeverSkipped(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	v0, err := a.Changes().Version(f.Context())
	f.must(err)
	const writers, each = 4, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, out, err := []ports.Store{a, b}[w%2].Deployments().Activate(f.Context(), ports.Activation{
					Slot: f.slot(fmt.Sprint("w", w)), ID: f.deployment(), Archive: []byte(fmt.Sprint(i)),
				})
				if err != nil || out.Outcome != ports.Done {
					t.Error(out, err)
				}
			}
		})
	}
	seen := map[ports.Version]int{}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		v, served, err := b.Deployments().Served(f.Context())
		f.must(err)
		if n, there := seen[v]; there && n != len(served) {
			t.Fatalf("version %d served %d and %d revisions", v, n, len(served))
		}
		seen[v] = len(served)
		f.want("revisions of the version", len(served), 1+int(v-v0))
	}
	v, err := a.Changes().Version(f.Context())
	f.must(err)
	f.want("version", v-v0, writers*each)
}

func doorsAreUnique(t *testing.T, h Harness) {
	db := h.Own(t)
	f, g := corner(t, db), corner(t, db)
	door := ports.Door{Channel: "c", Address: "http POST " + f.tenant}
	_, out := f.activate(f.store, ports.Activation{Slot: f.slot("1"), ID: f.deployment(), Archive: []byte("a"), Doors: []ports.Door{door}})
	f.settled("first", out, ports.Done)
	before, err := g.store.Changes().Version(f.Context())
	f.must(err)
	archives := g.rows("archive", "1 = 1")
	_, out = f.activate(g.store, ports.Activation{Slot: g.slot("1"), ID: f.deployment(), Archive: []byte("b"), Doors: []ports.Door{door}})
	f.settled("another tenant's", out, ports.DoorTaken)
	f.want("detail", out.Detail, fmt.Sprintf("door %s is open in %s", door.Address, f.slot("1")))
	after, err := g.store.Changes().Version(f.Context())
	f.must(err)
	f.want("what a refused activation changed", []any{after - before, g.rows("archive", "1 = 1"), g.rows("deployment", "phase = 'active'")}, []any{0, archives, 1})
	_, out = f.activate(f.store, ports.Activation{Slot: f.slot("2"), ID: f.deployment(), Archive: []byte("c"), Doors: []ports.Door{{Channel: "c", Address: door.Address + "2"}}})
	f.settled("the channel's name in another slot", out, ports.DoorTaken)
	f.want("detail", out.Detail, fmt.Sprintf("channel c is open in %s", f.slot("1")))
	_, out = f.activate(f.store, ports.Activation{Slot: f.slot("1"), ID: f.deployment(), Archive: []byte("d"), Doors: []ports.Door{door}})
	f.settled("the slot's next revision", out, ports.Done)
	f.want("g's revision", g.rows("deployment", "phase = 'active'"), 1)
}

func drainStopsIntake(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	door := ports.Door{Channel: "d", Address: "http POST d " + f.tenant}
	made, _ := f.activate(a, ports.Activation{Slot: f.slot("d"), ID: f.deployment(), Archive: []byte("a"), Doors: []ports.Door{door}})
	for range 2 {
		out, err := b.Deployments().Drain(f.Context(), made.ID)
		f.must(err)
		f.settled("drain", out, ports.Done)
	}
	out, err := b.Deployments().Drain(f.Context(), f.deployment())
	f.must(err)
	f.settled("drain of nothing", out, ports.Gone)
	n := f.fresh()
	n.Deployment = made.ID
	f.settled("start", a.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.NotActive)
	_, answer := f.activate(a, ports.Activation{Slot: f.slot("e"), ID: f.deployment(), Archive: []byte("b"), Doors: []ports.Door{door}})
	f.settled("its door elsewhere", answer, ports.Done)
}

func redeployedBytes(t *testing.T, h Harness) {
	f := shared(t, h)
	first := ports.Activation{Slot: f.slot("r"), ID: f.deployment(), Archive: []byte("first")}
	second := ports.Activation{Slot: f.slot("r"), ID: f.deployment(), Archive: []byte("second")}
	f.activate(f.store, first)
	f.activate(f.store, second)
	made, out := f.activate(f.store, first)
	f.settled("resurrected", out, ports.Done)
	f.want("number", made.Number, 3)
	f.want("active", f.rows("deployment", fmt.Sprintf("phase = 'active' AND id = '%s' AND drained_at IS NULL", first.ID)), 1)
	f.want("draining", f.rows("deployment", fmt.Sprintf("phase = 'draining' AND id = '%s'", second.ID)), 1)
	all, err := f.store.Deployments().Revisions(f.Context(), []string{f.tenant})
	f.must(err)
	f.want("revisions", len(all), 3)
	for _, r := range all {
		f.want("tenant", r.Slot.Tenant, f.tenant)
	}
}

func supersedesDrains(t *testing.T, h Harness) {
	f := shared(t, h)
	old := f.slot("1")
	_, out := f.activate(f.store, ports.Activation{Slot: f.slot("2"), ID: f.deployment(), Archive: []byte("x"), Supersedes: &old})
	f.settled("supersedes", out, ports.Done)
	f.want("the old slot", f.rows("deployment", fmt.Sprintf("phase = 'draining' AND id = '%s'", f.active)), 1)
	_, out = f.activate(f.store, ports.Activation{Slot: f.slot("3"), ID: f.deployment(), Archive: []byte("x"), Supersedes: &old})
	f.settled("what is not active", out, ports.Stale)
	f.want("slot 3", f.rows("deployment", "version = '3'"), 0)
	_, out = f.activate(f.store, ports.Activation{Slot: f.slot("3"), ID: f.deployment(), Archive: []byte("x"), Supersedes: &old, Declared: true})
	f.settled("what is not active and declared", out, ports.Done)
}

func youngerCallWins(t *testing.T, h Harness) {
	f := shared(t, h)
	landed, older, younger := f.ids.New(), f.ids.New(), f.ids.New()
	first := ports.Activation{Slot: f.slot("o"), ID: f.deployment(), Archive: []byte("l"), Call: landed, Submitted: true}
	_, out := f.activate(f.store, first)
	f.settled("one that is submitted", out, ports.Done)
	_, out = f.activate(f.store, ports.Activation{Slot: f.slot("o"), ID: f.deployment(), Archive: []byte("y"), Call: younger})
	f.settled("the younger", out, ports.Done)
	late := ports.Activation{Slot: f.slot("o"), ID: f.deployment(), Archive: []byte("o"), Call: older, Submitted: true}
	_, out = f.activate(f.store, late)
	f.settled("the older, submitted", out, ports.Stale)
	made, out := f.activate(f.store, first)
	f.settled("one that had landed, again", out, ports.Done)
	f.want("what it made", []any{made.ID, made.Number, made.Phase}, []any{first.ID, 1, ports.Draining})
	late.Submitted = false
	_, out = f.activate(f.store, late)
	f.settled("the older, by somebody who waits for it", out, ports.Done)
}

func schedulesLiveOn(t *testing.T, h Harness) {
	f := own(t, h)
	due := f.clock.Now().Add(time.Hour)
	sched := func(node string, at time.Time, left int) ports.Schedule {
		return ports.Schedule{Tenant: f.tenant, Process: "p", Node: node, Due: at, Anchor: at, Left: left}
	}
	first, _ := f.activate(f.store, ports.Activation{
		Slot: f.slot("s"), ID: f.deployment(), Archive: []byte("1"), Schedules: []ports.Schedule{sched("keeps", due, 5), sched("goes", due, -1)},
	})
	f.want("due yet", f.due(), "")
	f.clock.move(time.Hour)
	f.want("due", f.due(), "goes/-1 keeps/5")
	n := f.fresh()
	n.Deployment, n.Consumed = first.ID, nil
	n.Schedule = &ports.Fired{Deployment: first.ID, Process: "p", Node: "keeps", Due: due, Next: due.Add(time.Hour), Left: 4}
	again := f.fresh()
	again.Deployment, again.Consumed, again.Schedule = first.ID, nil, n.Schedule
	f.settled("fire", f.store.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Done)
	f.settled("fire again", f.store.Instances().Start(f.Context(), []ports.NewInstance{again})[0], ports.Stale)
	f.want("due after it", f.due(), "goes/-1")
	second, _ := f.activate(f.store, ports.Activation{
		Slot: f.slot("s"), ID: f.deployment(), Archive: []byte("2"),
		Schedules: []ports.Schedule{sched("keeps", due.Add(9*time.Hour), 9), sched("new", due.Add(time.Hour), 1)},
	})
	f.clock.move(time.Hour)
	f.want("after the swap", f.due(), "keeps/4 new/1")
	last := f.fresh()
	last.Deployment, last.Consumed = second.ID, nil
	last.Schedule = &ports.Fired{Deployment: second.ID, Process: "p", Node: "new", Due: due.Add(time.Hour)}
	f.start(last)
	f.want("after its last fire", f.due(), "keeps/4")
	_, err := f.store.Deployments().Drain(f.Context(), second.ID)
	f.must(err)
	f.want("after the drain", f.due(), "")
}

// fireNamesItsSchedule has schedules that differ in one part of their name each: a fire moves, or ends, its own alone.
func fireNamesItsSchedule(t *testing.T, h Harness) {
	f := own(t, h)
	due := f.clock.Now().Add(time.Hour)
	var all []ports.Schedule
	for _, process := range []string{"p", "q"} {
		for _, node := range []string{process + "1", process + "2", "n"} {
			all = append(all, ports.Schedule{Tenant: f.tenant, Process: process, Node: node, Due: due, Left: 2})
		}
	}
	first, _ := f.activate(f.store, ports.Activation{Slot: f.slot("x"), ID: f.deployment(), Archive: []byte("1"), Schedules: all})
	f.activate(f.store, ports.Activation{Slot: f.slot("y"), ID: f.deployment(), Archive: []byte("2"), Schedules: all})
	f.clock.move(time.Hour)
	fire := func(fired ports.Fired, want ports.Outcome) {
		t.Helper()
		fired.Deployment = first.ID
		n := f.fresh()
		n.Consumed, n.Schedule = nil, &fired
		f.settled("fire of "+fired.Node, f.store.Instances().Start(f.Context(), []ports.NewInstance{n})[0], want)
	}
	armed := func(where string) int { return f.rows("schedule", where) }
	fire(ports.Fired{Process: "p", Node: "n", Due: due, Next: due.Add(time.Hour), Left: 1}, ports.Done)
	f.want("moved", armed("fires_left = 1"), 1)
	fire(ports.Fired{Process: "q", Node: "n", Due: due.Add(time.Second)}, ports.Stale)
	fire(ports.Fired{Process: "q", Node: "n", Due: due}, ports.Done)
	f.want("left", armed("1 = 1"), 11)
	fire(ports.Fired{Process: "q", Node: "n", Due: due}, ports.Stale)
}

// due lists the due schedules: node/left.
func (f *fixture) due() string {
	f.Helper()
	got, err := f.store.Timers().Schedules(f.Context(), 10)
	f.must(err)
	var s strings.Builder
	for i, d := range got {
		if i > 0 {
			s.WriteString(" ")
		}
		fmt.Fprintf(&s, "%s/%d", d.Node, d.Left)
	}
	return s.String()
}

func activationEnqueues(t *testing.T, h Harness) {
	f := shared(t, h)
	notice := f.emission(ports.InstanceID{})
	notice.Deployment = ""
	act := ports.Activation{Slot: f.slot("n"), ID: f.deployment(), Archive: []byte("1"), Notices: []ports.Emission{notice}}
	f.activate(f.store, act)
	f.want("emissions", f.rows("outbox", "deployment = ''"), 1)
	f.activate(f.store, act)
	f.want("emissions after a no-op", f.rows("outbox", "1 = 1"), 1)
}

func eachLegHoldsBack(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	f.start(n)
	retire := func(what string, want ports.Outcome, counts ports.Counts) {
		t.Helper()
		got, out, err := b.Deployments().Retire(f.Context(), f.active)
		f.must(err)
		f.settled(what, out, want)
		f.want(what, got, counts)
	}
	retire("while it is active", ports.Gone, ports.Counts{})
	_, err := a.Deployments().Drain(f.Context(), f.active)
	f.must(err)
	retire("all legs", ports.Held, ports.Counts{LiveInstances: 1, PendingOutbox: 1, ParkedTasks: 1})
	few, err := a.Deployments().Examples(f.Context(), f.active, 2)
	f.must(err)
	f.want("examples", fmt.Sprint(len(few.Instances), len(few.Outbox), len(few.Tasks)), "1 1 1")
	counts, err := a.Deployments().Count(f.Context(), []ports.DeploymentID{f.active})
	f.must(err)
	f.want("counted", counts[f.active], ports.Counts{LiveInstances: 1, PendingOutbox: 1, ParkedTasks: 1})

	st := f.step(f.own(a, "a/1", n.ID))
	st.Status, st.Waits, st.Outbox = ports.Completed, nil, nil
	st.Drop = ports.Dropped{Waits: []ports.WaitID{1, 2}}
	f.settled("commit", f.commit(a, st), ports.Done)
	retire("without instances", ports.Held, ports.Counts{PendingOutbox: 1, ParkedTasks: 1})
	sent := f.take(a, "w", 10)
	f.settleAll(a, sent, ports.Poisoned)
	retire("with a poisoned emission", ports.Held, ports.Counts{ParkedTasks: 1})
	out, err := a.Tasks().Fail(f.Context(), []ports.FailedTask{{TaskLock: ports.TaskLock{Tenant: f.tenant, ID: n.Tasks[0].ID}, Error: "x"}})
	f.must(err)
	f.settled("fail for good", out[0], ports.Done)
	retire("nothing left", ports.Done, ports.Counts{})
	retire("again", ports.Done, ports.Counts{})
	f.want("retired", f.rows("deployment", "phase = 'retired'"), 1)
	again, err := a.Tasks().Retry(f.Context(), ports.TaskLock{Tenant: f.tenant, ID: n.Tasks[0].ID}, 3, f.deed("retry-task"))
	f.must(err)
	f.settled("retry of a retired revision's task", again, ports.Done)
	f.want("draining again", f.rows("deployment", "phase = 'draining'"), 1)
}

func (f *fixture) take(s ports.Store, by string, limit int) []ports.Stamped {
	f.Helper()
	got, err := s.Outbox().Take(f.Context(), by, f.clock.Now().Add(-time.Minute), limit)
	f.must(err)
	return got
}

func (f *fixture) settleAll(s ports.Store, sent []ports.Stamped, v ports.Verdict) []ports.Answer {
	f.Helper()
	var all []ports.Settled
	for _, e := range sent {
		all = append(all, ports.Settled{
			Tenant: e.Tenant, ID: e.ID, By: e.By, At: e.At, Verdict: v, Next: f.clock.Now().Add(time.Minute), Error: "refused",
		})
	}
	out, err := s.Outbox().Settle(f.Context(), all)
	f.must(err)
	return out
}

func retirementRaces(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	for round := range 20 {
		made := f.deploy(fmt.Sprint("race ", round))
		n := f.fresh()
		n.Deployment = made.ID
		n.Outbox = nil
		var started, retired ports.Answer
		var wg sync.WaitGroup
		wg.Go(func() { started = a.Instances().Start(f.Context(), []ports.NewInstance{n})[0] })
		wg.Go(func() {
			if _, err := b.Deployments().Drain(f.Context(), made.ID); err != nil {
				t.Error(err)
			}
			_, out, err := b.Deployments().Retire(f.Context(), made.ID)
			if retired = out; err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if (started.Outcome == ports.Done) == (retired.Outcome == ports.Done) {
			t.Fatalf("round %d: start %q (%v), retire %q", round, started.Outcome, started.Err, retired.Outcome)
		}
	}
}

func archives(t *testing.T, h Harness) {
	f := own(t, h)
	big := make([]byte, 5<<20+17)
	for i := range big {
		big[i] = byte(i * 7)
	}
	act := ports.Activation{Slot: f.slot("a"), ID: f.deployment(), Archive: big}
	made, _ := f.activate(f.store, act)
	f.want("size", made.Size, len(big))
	got, err := f.store.Deployments().Archive(f.Context(), act.ID)
	f.must(err)
	f.want("archive", got, big)
	_, err = f.store.Deployments().Drain(f.Context(), act.ID)
	f.must(err)
	_, out, err := f.store.Deployments().Retire(f.Context(), act.ID)
	f.must(err)
	f.settled("retire", out, ports.Done)
	n, err := f.store.Deployments().DropArchives(f.Context(), f.clock.Now(), 10)
	f.must(err)
	f.want("dropped before its time", n, 0)
	f.clock.move(time.Second)
	n, err = f.store.Deployments().DropArchives(f.Context(), f.clock.Now(), 10)
	f.must(err)
	f.want("dropped", n, 1)
	got, err = f.store.Deployments().Archive(f.Context(), act.ID)
	f.must(err)
	f.want("what is left", got == nil, true)
	n, err = f.store.Deployments().DropArchives(f.Context(), f.clock.Now(), 10)
	f.must(err)
	f.want("dropped again", n, 0)
	_, answer := f.activate(f.store, act)
	f.settled("deployed again", answer, ports.Done)
	got, err = f.store.Deployments().Archive(f.Context(), act.ID)
	f.must(err)
	f.want("archive again", got, big)
}

func napEndsWithAChange(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	if !h.Dialect.Caps.Push {
		start := time.Now()
		f.must(a.Changes().Nap(f.Context(), 20*time.Millisecond))
		if took := time.Since(start); took < 20*time.Millisecond {
			t.Fatalf("the nap took %s", took)
		}
		return
	}
	f.must(a.Changes().Nap(f.Context(), 50*time.Millisecond)) // the news of having begun to listen
	woken := make(chan time.Duration, 1)
	start := time.Now()
	go func() {
		_ = a.Changes().Nap(f.Context(), 30*time.Second)
		woken <- time.Since(start)
	}()
	f.activate(b, ports.Activation{Slot: f.slot("n"), ID: f.deployment(), Archive: []byte("1")})
	if took := <-woken; took > 10*time.Second {
		t.Fatalf("the nap took %s", took)
	}
	// What is said while nobody naps ends the next nap.
	f.activate(b, ports.Activation{Slot: f.slot("n"), ID: f.deployment(), Archive: []byte("2")})
	time.Sleep(200 * time.Millisecond)
	start = time.Now()
	f.must(a.Changes().Nap(f.Context(), 30*time.Second))
	if took := time.Since(start); took > 10*time.Second {
		t.Fatalf("the nap after the news took %s", took)
	}
}

func replicasAreNoted(t *testing.T, h Harness) {
	f := own(t, h)
	a, b := f.pair()
	r := ports.Replica{ID: "r1", Started: f.clock.Now(), LastSeen: f.clock.Now(), Served: 3, Lanes: 4, Address: ":8080"}
	long := ports.DeploymentID(strings.Repeat("f", 64))
	f.must(a.Deployments().Note(f.Context(), r))
	f.clock.move(time.Minute)
	r.LastSeen, r.Served, r.Broken = f.clock.Now(), 4, []ports.DeploymentID{long, f.active, long, long, long}
	f.must(a.Deployments().Note(f.Context(), r))
	got, err := b.Deployments().Replicas(f.Context(), f.clock.Now().Add(-time.Second))
	f.must(err)
	f.want("replicas", got, []ports.Replica{r})
	f.must(a.Deployments().Leave(f.Context(), "r1"))
	got, err = b.Deployments().Replicas(f.Context(), time.Time{}.AddDate(1, 0, 0))
	f.must(err)
	f.want("after it left", len(got), 0)
	f.must(a.Deployments().Note(f.Context(), r))
	f.must(b.Deployments().Forget(f.Context(), r.LastSeen))
	f.want("seen at that very time", f.count("SELECT count(*) FROM sutra_replica"), 1)
	f.must(b.Deployments().Forget(f.Context(), r.LastSeen.Add(time.Microsecond)))
	f.want("forgotten", f.count("SELECT count(*) FROM sutra_replica"), 0)
}
