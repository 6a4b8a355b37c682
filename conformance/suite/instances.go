package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func instanceTests() []test {
	return []test{
		{"StartWritesEverythingOrNothing", startWritesEverythingOrNothing},
		{"StartIsDoneOnceForItsMessage", startIsDoneOnceForItsMessage},
		{"StartSentAgainIsDone", startSentAgainIsDone},
		{"StartOfOneMessageByFourReplicasHasOneWinner", startByFourReplicas},
		{"StartTellsItsGroupApart", startTellsItsGroupApart},
		{"StartFlipsAPendingMessage", startFlipsAPendingMessage},
		{"TakenAliasTakesItsMessageBack", takenAliasTakesItsMessageBack},
		{"StartNeedsAnActiveRevisionUnlessPinned", startNeedsAnActiveRevision},
		{"OneBadElementStandsAlone", oneBadElementStandsAlone},
		{"GroupsMixTenantsAndExceedABatch", groupsMixTenants},
		{"CommitDropsAndAdds", commitDropsAndAdds},
		{"CommitSentAgainIsDone", commitSentAgainIsDone},
		{"OneOfSixteenStepsIsRefusedAndFifteenLand", oneOfSixteen},
		{"RefusedStepKeepsItsClaim", refusedStepKeepsItsClaim},
		{"StepWithAConsumedMessageIsRefused", stepWithAConsumedMessage},
		{"VoidedMessageIsNeverDelivered", voidedMessage},
		{"ReplyIsKeptWithItsMessage", replyIsKept},
		{"EndedInstanceLeavesNoWaits", endedInstance},
		{"FailedInstanceKeepsItsAliases", failedInstance},
		{"StartedByNobodyNeedsNoMessage", startedByNobody},
		{"MoveNeedsAnActiveRevision", moveNeedsAnActiveRevision},
		{"MoveKeepsWhatRowsAloneKnow", moveKeepsWhatRowsKnow},
		{"MoveLeavesALockedTaskItsTopic", moveLeavesALockedTaskItsTopic},
	}
}

func startWritesEverythingOrNothing(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Parent = &ports.Parent{Instance: f.ids.New(), Wait: 7, Root: f.ids.New()}
	n.Tasks = []ports.Task{f.task("work")}
	n.Deliveries = []ports.Message{f.delivery(f.ids.New(), "child of "+n.ID.String())}
	f.start(n)
	got := f.load(n.ID)
	f.want("status", got.Status, ports.Suspended)
	f.want("snapshot", got.Snapshot, n.Snapshot)
	f.want("parent", *got.Parent, *n.Parent)
	f.want("process", got.Process, "order")
	f.want("created", got.Created, f.clock.Now())
	f.want("ended", got.EndedAt.IsZero(), true)
	f.want("owner", got.Owner, "")
	for table, want := range map[string]int{"instance": 1, "wait": 2, "alias": 1, "outbox": 1, "task": 1, "inbox": 2, "history": 1} {
		f.want(table, f.rows(table, "1 = 1"), want)
	}
	bad := f.fresh()
	bad.Tasks = []ports.Task{n.Tasks[0]} // its id is taken
	f.settled("start with a taken task id", f.store.Instances().Start(f.Context(), []ports.NewInstance{bad})[0], ports.Unsettled)
	for table, want := range map[string]int{"instance": 1, "wait": 2, "alias": 1, "outbox": 1, "task": 1, "inbox": 2, "history": 1} {
		f.want(table+" after", f.rows(table, "1 = 1"), want)
	}
}

func startIsDoneOnceForItsMessage(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	first, second := f.started("same"), f.started("same")
	f.settled("first", a.Instances().Start(f.Context(), []ports.NewInstance{first})[0], ports.Done)
	again := b.Instances().Start(f.Context(), []ports.NewInstance{second})[0]
	f.settled("second", again, ports.Duplicate)
	f.want("who has it", again.Other, first.ID)
	f.want("instances", f.rows("instance", "1 = 1"), 1)
}

func startSentAgainIsDone(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.fresh()
	f.settled("first", a.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Done)
	f.settled("again", b.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Done)
	f.want("instances", f.rows("instance", "1 = 1"), 1)
	f.want("emissions", f.rows("outbox", "1 = 1"), 1)
}

func startByFourReplicas(t *testing.T, h Harness) {
	f := shared(t, h)
	const rounds, events, replicas = 4, 16, 4
	stores := make([]ports.Store, replicas)
	for i := range stores {
		stores[i] = f.open(Replica{})
	}
	for round := range rounds {
		answers := make([][]ports.Answer, replicas)
		var wg sync.WaitGroup
		for k, s := range stores {
			var group []ports.NewInstance
			for i := range events {
				group = append(group, f.started(fmt.Sprint("round ", round, " event ", (i+3*k)%events)))
			}
			wg.Go(func() { answers[k] = s.Instances().Start(f.Context(), group) })
		}
		wg.Wait()
		all := []ports.Answer{}
		for _, a := range answers {
			all = append(all, a...)
		}
		f.want("outcomes", tally(all), fmt.Sprintf("[done:%d duplicate:%d]", events, events*(replicas-1)))
	}
}

func startTellsItsGroupApart(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	first := f.started("e1")
	first.Aliases[0].Unique = true
	f.settled("first", a.Instances().Start(f.Context(), []ports.NewInstance{first})[0], ports.Done)
	draining := f.deploy("2").ID
	_, err := f.store.Deployments().Drain(f.Context(), draining)
	f.must(err)

	var group []ports.NewInstance
	for range 12 {
		group = append(group, f.fresh())
	}
	sameAlias, inactive := f.fresh(), f.fresh()
	sameAlias.Aliases = first.Aliases
	inactive.Deployment = draining
	inGroup := group[3]
	inGroup.ID = f.ids.New()
	inGroup.Outbox, inGroup.Aliases = nil, nil
	group = append(group, f.started("e1"), inGroup, sameAlias, inactive)
	out := b.Instances().Start(f.Context(), group)
	f.want("outcomes", tally(out), "[alias-taken:1 done:12 duplicate:2 not-active:1]")
	f.want("winner of e1", out[12].Other, first.ID)
	f.want("winner within the group", out[13].Other, group[3].ID)
	f.want("holder of the alias", out[14].Other, first.ID)
	f.settled("the element of the draining revision", out[15], ports.NotActive)
	f.want("instances", f.rows("instance", "1 = 1"), 13)
}

func startFlipsAPendingMessage(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{f.message("kept")})[0], ports.Done)
	unaware := f.started("kept") // does not know that the row is there
	f.settled("start", b.Instances().Start(f.Context(), []ports.NewInstance{unaware})[0], ports.Done)
	f.want("done rows", f.rows("inbox", "state = 'done'"), 1)

	aware := f.started("kept")
	aware.Consumed.Pending = true
	f.settled("a pending row that is done", a.Instances().Start(f.Context(), []ports.NewInstance{aware})[0], ports.Duplicate)

	f.settled("accept", a.Inbox().Accept(f.Context(), []ports.Message{f.message("void")})[0], ports.Done)
	f.must(b.Inbox().Bury(f.Context(), []ports.InboxRef{f.key("orders", "void")}, "test"))
	aware = f.started("void")
	aware.Consumed.Pending = true
	f.settled("a pending row that is dead", a.Instances().Start(f.Context(), []ports.NewInstance{aware})[0], ports.Gone)
	aware = f.started("never")
	aware.Consumed.Pending = true
	f.settled("a pending row that never was", a.Instances().Start(f.Context(), []ports.NewInstance{aware})[0], ports.Gone)
	f.want("instances", f.rows("instance", "1 = 1"), 1)
}

func takenAliasTakesItsMessageBack(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	first, second := f.fresh(), f.started("m")
	first.Aliases[0].Unique = true
	second.Aliases = first.Aliases
	f.settled("first", a.Instances().Start(f.Context(), []ports.NewInstance{first})[0], ports.Done)
	out := a.Instances().Start(f.Context(), []ports.NewInstance{second})[0]
	f.settled("second", out, ports.AliasTaken)
	f.want("holder", out.Other, first.ID)
	second.Aliases = nil
	f.settled("the same message again", a.Instances().Start(f.Context(), []ports.NewInstance{second})[0], ports.Done)
}

func startNeedsAnActiveRevision(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	old := f.active
	f.active = f.deploy("1").ID // supersedes within the slot
	late := f.fresh()
	late.Deployment = old
	f.settled("start on a draining revision", a.Instances().Start(f.Context(), []ports.NewInstance{late})[0], ports.NotActive)
	late.Pinned = true
	f.settled("a called process", a.Instances().Start(f.Context(), []ports.NewInstance{late})[0], ports.Done)
	unknown := f.fresh()
	unknown.Deployment = f.deployment()
	f.settled("start on an unknown revision", a.Instances().Start(f.Context(), []ports.NewInstance{unknown})[0], ports.NotActive)
}

func oneBadElementStandsAlone(t *testing.T, h Harness) {
	f := shared(t, h)
	group := []ports.NewInstance{f.fresh(), f.fresh(), f.fresh(), f.fresh(), f.fresh()}
	group[2].Snapshot = nil // no database takes it
	out := f.store.Instances().Start(f.Context(), group)
	for i, a := range out {
		want := ports.Done
		if i == 2 {
			want = ports.Unsettled
		}
		f.settled(fmt.Sprint("element ", i), a, want)
	}
}

func groupsMixTenants(t *testing.T, h Harness) {
	f, g := shared(t, h), shared(t, h)
	var group []ports.NewInstance
	for i := range 150 {
		n := f.fresh()
		if i%2 == 1 {
			n = g.fresh()
		}
		group = append(group, n)
	}
	f.want("outcomes", tally(f.store.Instances().Start(f.Context(), group)), "[done:150]")
	f.want("of one tenant", f.rows("instance", "1 = 1"), 75)
	f.want("of the other", g.rows("instance", "1 = 1"), 75)

	refs := []ports.Ref{group[0].Ref, group[1].Ref, {Tenant: f.tenant, ID: group[1].ID}}
	got, err := f.store.Claims().Claim(f.Context(), "a/1", refs, f.silent())
	f.must(err)
	f.want("claims", []ports.Outcome{got[0].Outcome, got[1].Outcome, got[2].Outcome}, []ports.Outcome{ports.Done, ports.Done, ports.Gone})
}

func commitDropsAndAdds(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n, other := f.fresh(), f.fresh()
	dropped := n.Aliases
	other.Aliases = dropped // not unique: it stays with the other
	n.Aliases = append([]ports.Alias{
		{Module: f.module, Name: "order", Value: ports.NewKey("another value")},
		{Module: f.module, Name: "order", Value: dropped[0].Value, Wait: 2},
	}, dropped...)
	f.start(n, other)
	c := f.own(a, "a/1", n.ID)
	st := f.step(c)
	st.Drop.Aliases = dropped
	f.clock.move(time.Minute)
	f.settled("commit", f.commit(a, st), ports.Done)
	got := f.load(n.ID)
	f.want("snapshot", got.Snapshot, st.Snapshot)
	f.want("owner", got.Owner, "")
	f.want("epoch", got.Epoch, 1)
	f.want("last step", got.LastStep, st.ID)
	f.want("updated", got.Updated, f.clock.Now())
	f.want("created", got.Created, f.clock.Now().Add(-time.Minute))
	f.want("waits", f.rows("wait", "1 = 1"), 4)
	f.want("aliases", f.rows("alias", "1 = 1"), 3)
	f.want("emissions", f.rows("outbox", "1 = 1"), 3)
	f.want("history", f.rows("history", "1 = 1"), 3)
	f.want("claim by another", f.claim(b, "b/1", n.ID).Epoch, 2)
}

func commitSentAgainIsDone(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.parked(1)[0]
	st := f.step(f.own(a, "a/1", n.ID))
	f.settled("first", f.commit(a, st), ports.Done)
	f.settled("again", f.commit(b, st), ports.Done)
	f.want("emissions", f.rows("outbox", "1 = 1"), 2)
}

func oneOfSixteen(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	var steps []ports.Step
	for _, n := range f.parked(16) {
		steps = append(steps, f.step(f.own(a, "a/1", n.ID)))
	}
	f.clock.move(10 * time.Minute)
	f.own(b, "b/1", steps[9].Claim.Ref.ID) // silent for so long that another may take it
	for i, out := range a.Instances().Commit(f.Context(), steps) {
		want := ports.Done
		if i == 9 {
			want = ports.ClaimLost
		}
		f.settled(fmt.Sprint("step ", i), out, want)
	}
	f.want("emissions", f.rows("outbox", "1 = 1"), 31)
	f.want("the loser's snapshot", f.load(steps[9].Claim.Ref.ID).LastStep.IsZero(), true)
}

func refusedStepKeepsItsClaim(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	holder, n := f.fresh(), f.fresh()
	holder.Aliases[0].Unique = true
	f.start(holder, n)
	c := f.own(a, "a/1", n.ID)
	st := f.step(c)
	st.Aliases = holder.Aliases
	f.settled("commit", f.commit(a, st), ports.AliasTaken)
	got := f.load(n.ID)
	f.want("owner", got.Owner, c.Owner)
	f.want("epoch", got.Epoch, c.Epoch)
	st.Aliases = nil
	f.settled("commit without it", f.commit(a, st), ports.Done)
}

func stepWithAConsumedMessage(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	two := f.parked(2)
	first, second := f.step(f.own(a, "a/1", two[0].ID)), f.step(f.own(a, "a/1", two[1].ID))
	second.Consumed = first.Consumed
	f.settled("first", f.commit(a, first), ports.Done)
	out := f.commit(a, second)
	f.settled("second", out, ports.Duplicate)
	f.want("who has it", out.Other, two[0].ID)
	f.want("waits of the refused", f.count(fmt.Sprintf("SELECT count(*) FROM sutra_wait WHERE tenant = '%s'", f.tenant)), 4)
}

func voidedMessage(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.fresh()
	child := f.delivery(f.ids.New(), "start a child")
	n.Deliveries = []ports.Message{child}
	f.start(n)
	st := f.step(f.own(a, "a/1", n.ID))
	st.Void = []ports.InboxRef{child.InboxRef}
	f.settled("commit", f.commit(a, st), ports.Done)
	start := f.fresh()
	start.Consumed = &ports.Consumed{InboxRef: child.InboxRef, Kind: ports.KindChildStart, Pending: true}
	f.settled("start of the child", b.Instances().Start(f.Context(), []ports.NewInstance{start})[0], ports.Gone)
}

func replyIsKept(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	now, later := f.started("now"), f.started("later")
	now.Consumed.Reply = []byte("at once")
	f.start(now, later)
	st := f.step(f.own(a, "a/1", later.ID))
	st.Replies = []ports.Reply{{InboxRef: later.Consumed.InboxRef, Document: []byte("at last")}}
	st.Status, st.Drop = ports.Completed, ports.Dropped{All: true}
	f.settled("commit", f.commit(a, st), ports.Done)
	got, err := b.Inbox().Replies(f.Context(), []ports.InboxRef{now.Consumed.InboxRef, later.Consumed.InboxRef, f.key("orders", "nobody")})
	f.must(err)
	f.want("rows", len(got), 2)
	for _, taken := range got {
		want, status := "at once", ports.Suspended
		if taken.InboxRef == later.Consumed.InboxRef {
			want, status = "at last", ports.Completed
		}
		f.want("reply", string(taken.Reply), want)
		f.want("status", taken.Status, status)
		f.want("state", taken.State, "done")
		f.want("deployment", taken.Deployment, f.active)
	}
}

func endedInstance(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	n.Aliases[0].Unique = true
	f.start(n)
	st := f.step(f.own(f.store, "a/1", n.ID))
	st.Status, st.Drop, st.Waits = ports.Completed, ports.Dropped{All: true}, nil
	f.settled("commit", f.commit(f.store, st), ports.Done)
	for _, table := range []string{"wait", "alias", "task"} {
		f.want(table, f.rows(table, "1 = 1"), 0)
	}
	f.want("ended", f.load(n.ID).EndedAt, f.clock.Now())
	next := f.fresh()
	next.Aliases = n.Aliases
	f.start(next)
}

func failedInstance(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Aliases[0].Unique = true
	f.start(n)
	st := f.step(f.own(f.store, "a/1", n.ID))
	st.Status, st.Waits, st.Drop = ports.Failed, nil, ports.Dropped{Waits: []ports.WaitID{1, 2}}
	st.Fault = &ports.Fault{Code: "SUTRA.TEST.TEST.TEST", Detail: "for \x00 people \xff", Node: "n"}
	f.settled("commit", f.commit(f.store, st), ports.Done)
	got := f.load(n.ID)
	f.want("fault", *got.Fault, ports.Fault{Code: "SUTRA.TEST.TEST.TEST", Detail: "for \uFFFD people \uFFFD", Node: "n"})
	f.want("ended", got.EndedAt.IsZero(), true)
	f.want("waits", f.rows("wait", "1 = 1"), 0)
	next := f.fresh()
	next.Aliases = n.Aliases
	f.settled("the alias", f.store.Instances().Start(f.Context(), []ports.NewInstance{next})[0], ports.AliasTaken)
}

func startedByNobody(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.fresh()
	n.Consumed = nil
	f.settled("start", a.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Done)
	f.settled("again", b.Instances().Start(f.Context(), []ports.NewInstance{n})[0], ports.Done)
	f.want("instances", f.rows("instance", "1 = 1"), 1)
}

func moveNeedsAnActiveRevision(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	f.start(n)
	to := f.deploy("2").ID
	st := f.step(f.own(f.store, "a/1", n.ID))
	st.Move = &ports.Move{To: f.deployment(), Module: f.module, Process: "order2"}
	f.settled("move to nowhere", f.commit(f.store, st), ports.NotActive)
	st.Move.To = to
	f.settled("move", f.commit(f.store, st), ports.Done)
	got := f.load(n.ID)
	f.want("deployment", got.Deployment, to)
	f.want("process", got.Process, "order2")
	f.want("tasks that moved along", f.rows("task", fmt.Sprintf("deployment = '%s'", to)), 1)
}

// moving is a step that moves an instance to a new revision and changes nothing else.
func (f *fixture) moving(id ports.InstanceID, to ports.DeploymentID) ports.Step {
	f.Helper()
	st := f.step(f.own(f.store, ports.Owner("a/operator/"+f.next()), id))
	st.Consumed, st.Drop, st.Rows = nil, ports.Dropped{}, ports.Rows{}
	st.Move = &ports.Move{To: to, Module: f.module, Process: "order"}
	return st
}

func moveKeepsWhatRowsKnow(t *testing.T, h Harness) {
	f := shared(t, h)
	n, other := f.fresh(), f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	n.Waits = append(n.Waits, ports.Wait{ID: 3, Kind: ports.WaitTask, Node: "work"})
	f.start(n, other)
	got, err := f.store.Tasks().Take(f.Context(), ports.TaskAsk{Topics: []ports.TaskTopic{{Name: f.topic("work"), Lock: time.Hour}}, Worker: "w", Max: 1})
	f.must(err)
	armed := f.clock.Now()
	f.clock.move(time.Minute)
	st := f.moving(n.ID, f.deploy("2").ID)
	due := armed.Add(2 * time.Hour)
	st.Move.Waits = []ports.Wait{
		{ID: 1, Kind: ports.WaitMessage, Node: "paid2", Name: ports.NewKey("message", "payments2")},
		{ID: 2, Kind: ports.WaitTimer, Node: "late2", Due: due},
	}
	st.Move.Tasks = []ports.Task{{ID: n.Tasks[0].ID, Node: "work2", Headers: []byte(`{"a":"b"}`), Open: true}}
	f.settled("move", f.commit(f.store, st), ports.Done)
	waits, err := f.store.Views().Waits(f.Context(), n.Ref)
	f.must(err)
	f.want("waits", len(waits), 3)
	f.want("renamed", []any{waits[0].Node, waits[0].Name, waits[0].Armed}, []any{"paid2", ports.NewKey("message", "payments2"), armed})
	f.want("due", []any{waits[1].Node, waits[1].Due, waits[1].Attempt, waits[1].Armed}, []any{"late2", due, due, armed})
	f.want("left alone", []any{waits[2].Node, waits[2].Armed}, []any{"work", armed})
	tasks, err := f.store.Tasks().Read(f.Context(), []ports.TaskLock{{Tenant: f.tenant, ID: n.Tasks[0].ID}})
	f.must(err)
	task := tasks[0]
	f.want("task", []any{task.Node, string(task.Headers), task.Open, task.Topic}, []any{"work2", `{"a":"b"}`, true, f.topic("work")})
	f.want("its lock", []any{task.Worker, task.Epoch, task.LockUntil}, []any{"w", got[0].Epoch, got[0].LockUntil})
	f.want("another's waits", f.rows("wait", "node = 'paid'"), 1)
	f.want("emissions that stay with their revision", f.rows("outbox", fmt.Sprintf("deployment = '%s'", f.active)), 2)
}

func moveLeavesALockedTaskItsTopic(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("work")}
	f.start(n)
	ask := ports.TaskAsk{Topics: []ports.TaskTopic{{Name: f.topic("work"), Lock: time.Hour}}, Worker: "w", Max: 1}
	got, err := f.store.Tasks().Take(f.Context(), ask)
	f.must(err)
	to := f.deploy("2").ID
	st := f.moving(n.ID, to)
	st.Move.Topics = []ports.Task{{ID: n.Tasks[0].ID, Topic: f.topic("other")}}
	f.settled("while a worker has it", f.commit(f.store, st), ports.LockLost)
	f.want("deployment", f.load(n.ID).Deployment, f.active)
	failed, err := f.store.Tasks().Fail(f.Context(), []ports.FailedTask{{
		TaskLock: ports.TaskLock{Tenant: f.tenant, ID: got[0].Task.ID, Worker: "w"}, Retries: 1, After: time.Hour, Error: "x",
	}})
	f.must(err)
	f.settled("the worker gives it back", failed[0], ports.Done)
	f.settled("given back, though not due", f.commit(f.store, st), ports.Done)
	f.want("topic", f.rows("task", fmt.Sprintf("topic = '%s'", f.topic("other"))), 1)
	again := f.moving(n.ID, to)
	again.Move.Topics = []ports.Task{{ID: f.ids.New(), Topic: f.topic("other")}}
	f.settled("a task that is not there", f.commit(f.store, again), ports.Gone)
}
