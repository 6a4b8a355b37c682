package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func taskTests() []test {
	return []test{
		{"TaskIsLockedByOneWorker", taskIsLockedByOne},
		{"TaskIsHandedOutAsItWasParked", taskAsItWasParked},
		{"TasksAreFilteredByTenantAndTopic", tasksAreFiltered},
		{"LockThatExpiredIsAnothers", lockThatExpired},
		{"CompletionNamesItsLock", completionNamesItsLock},
		{"FailureFreesOrEnds", failureFreesOrEnds},
		{"CompletionThatMeetsAHeldClaimIsDelivered", completionIsDelivered},
		{"DroppedTaskIsGone", droppedTask},
	}
}

func (f *fixture) tasks(n int, topic string) {
	f.Helper()
	for range n {
		in := f.fresh()
		in.Tasks = []ports.Task{f.task(topic)}
		f.start(in)
	}
}

func (f *fixture) fetch(s ports.Store, worker string, limit int, topics ...string) []ports.LockedTask {
	f.Helper()
	ask := ports.TaskAsk{Worker: worker, Max: limit, Tenants: []string{f.tenant}}
	for _, topic := range topics {
		ask.Topics = append(ask.Topics, ports.TaskTopic{Name: f.topic(topic), Lock: 30 * time.Second})
	}
	got, err := s.Tasks().Take(f.Context(), ask)
	f.must(err)
	return got
}

// fetchOne wants one task.
func (f *fixture) fetchOne(s ports.Store, worker, topic string) ports.LockedTask {
	f.Helper()
	got := f.fetch(s, worker, 1, topic)
	f.want("tasks fetched", len(got), 1)
	return got[0]
}

func (f *fixture) lock(t ports.LockedTask) ports.TaskLock {
	return ports.TaskLock{Tenant: t.Tenant, ID: t.Task.ID, Worker: t.Worker, Epoch: t.Epoch}
}

func taskIsLockedByOne(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	f.tasks(20, "x")
	var mu sync.Mutex
	seen := map[ports.TaskID]int{}
	var wg sync.WaitGroup
	for k, s := range []ports.Store{a, b, a, b} {
		wg.Go(func() {
			for range 6 {
				got, err := s.Tasks().Take(f.Context(), ports.TaskAsk{
					Tenants: []string{f.tenant}, Topics: []ports.TaskTopic{{Name: f.topic("x"), Lock: time.Minute}}, Worker: fmt.Sprint(k), Max: 3,
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, task := range got {
					seen[task.Task.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	f.want("tasks", len(seen), 20)
	for id, n := range seen {
		f.want("locks of "+id.String(), n, 1)
	}
}

func taskAsItWasParked(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	task := f.task("x")
	task.Inputs, task.Headers, task.Open = []byte(`{"a":"\u0000ü"}`), []byte(`{"h":1}`), true
	n.Tasks = []ports.Task{task}
	f.start(n)
	got := f.fetch(f.store, "w", 10, "x")
	want := ports.LockedTask{
		Task: task, Ref: n.Ref, Deployment: f.active, Process: "order", Worker: "w", Epoch: 1,
		LockUntil: f.clock.Now().Add(30 * time.Second), Created: f.clock.Now(),
	}
	f.want("locked", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", []ports.LockedTask{want}))
	read, err := f.store.Tasks().Read(f.Context(), []ports.TaskLock{f.lock(got[0]), {Tenant: f.tenant, ID: f.ids.New()}})
	f.must(err)
	f.want("read", fmt.Sprintf("%+v", read), fmt.Sprintf("%+v", []ports.LockedTask{want}))

	c := f.own(f.store, "a", n.ID)
	later := f.step(c)
	later.Tasks = []ports.Task{f.task("y")}
	f.want("commit", f.commit(f.store, later).Outcome, ports.Done)
	of := f.fetchOne(f.store, "w", "y")
	f.want("parked by a step", []any{of.Task.ID, of.Ref, of.Deployment, of.Process}, []any{later.Tasks[0].ID, n.Ref, f.active, "order"})
}

func tasksAreFiltered(t *testing.T, h Harness) {
	f := own(t, h)
	g := corner(t, f.db)
	g.topics = f.topics
	f.tasks(1, "x")
	f.tasks(1, "y")
	g.tasks(1, "x")
	f.want("its tenant's, both topics", len(f.fetch(f.store, "w", 10, "x", "y", "z")), 2)
	all, err := f.store.Tasks().Take(f.Context(), ports.TaskAsk{Topics: []ports.TaskTopic{{Name: f.topic("x"), Lock: time.Minute}}, Worker: "w", Max: 10})
	f.must(err)
	f.want("all tenants", []any{len(all), all[0].Tenant}, []any{1, g.tenant})
}

func lockThatExpired(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	f.tasks(1, "x")
	first := f.fetchOne(a, "a", "x")
	f.clock.move(20 * time.Second)
	out, err := a.Tasks().Extend(f.Context(), []ports.TaskLock{f.lock(first)}, 30*time.Second)
	f.must(err)
	f.settled("extend", out[0], ports.Done)
	f.clock.move(29 * time.Second)
	f.want("before its end", len(f.fetch(b, "b", 1, "x")), 0)
	f.clock.move(time.Second)
	second := f.fetch(b, "b", 1, "x")
	f.want("at its end", []any{len(second), second[0].Epoch}, []any{1, 2})
	out, err = a.Tasks().Extend(f.Context(), []ports.TaskLock{f.lock(first), {Tenant: f.tenant, ID: f.ids.New()}}, time.Hour)
	f.must(err)
	f.settled("extend of what is another's", out[0], ports.LockLost)
	f.settled("extend of nothing", out[1], ports.Gone)
}

func completionNamesItsLock(t *testing.T, h Harness) {
	f := shared(t, h)
	a := f.open(Replica{Bold: true})
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("x")}
	f.start(n)
	f.tasks(1, "another")
	first := f.lock(f.fetchOne(a, "a", "x"))
	f.clock.move(time.Minute)
	second := f.lock(f.fetchOne(a, "a", "x"))
	st := f.step(f.own(a, "a/1", n.ID))
	st.Task = &first
	f.settled("by the older lock", f.commit(a, st), ports.LockLost)
	f.clock.move(time.Hour) // an expired lock that nobody took still completes
	st.Claim = f.own(a, "a/1", n.ID)
	st.Task = &second
	f.settled("by the lock that stands", f.commit(a, st), ports.Done)
	f.want("tasks left", f.rows("task", "topic LIKE 'another%'"), 1)
	again := f.step(f.own(a, "a/1", n.ID))
	again.Task = &ports.TaskLock{Tenant: f.tenant, ID: second.ID}
	f.settled("of a task that is gone", f.commit(a, again), ports.Gone)
}

func failureFreesOrEnds(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.open(Replica{Bold: true}), f.open(Replica{Bold: true})
	f.tasks(1, "x")
	fail := func(s ports.Store, l ports.TaskLock, retries int) ports.Answer {
		out, err := s.Tasks().Fail(f.Context(), []ports.FailedTask{{TaskLock: l, Retries: retries, After: time.Minute, Error: "no \x00 luck"}})
		f.must(err)
		return out[0]
	}
	first := f.fetchOne(a, "a", "x")
	f.settled("with attempts left", fail(a, f.lock(first), 2), ports.Done)
	f.settled("again by the token alone", fail(b, ports.TaskLock{Tenant: f.tenant, ID: first.Task.ID, Epoch: first.Epoch}, 2), ports.LockLost)
	f.want("before its time", len(f.fetch(b, "b", 1, "x")), 0)
	f.clock.move(time.Minute)
	second := f.fetchOne(b, "b", "x")
	f.want("task", []any{second.Retries, second.LastError, second.Terminal}, []any{2, "no \uFFFD luck", false})
	f.settled("for good", fail(b, f.lock(second), 0), ports.Done)
	f.clock.move(time.Hour)
	f.want("handed out", len(f.fetch(b, "b", 1, "x")), 0)
	shown, err := a.Views().ListTasks(f.Context(), []string{f.tenant}, true, ports.TaskID{}, 10)
	f.must(err)
	f.want("shown", []any{len(shown), shown[0].Terminal}, []any{1, true})
	for _, want := range []ports.Outcome{ports.Done, ports.Gone} {
		out, err := a.Tasks().Retry(f.Context(), ports.TaskLock{Tenant: f.tenant, ID: second.Task.ID}, 5, f.deed("retry-task"))
		f.must(err)
		f.settled("retry", out, want)
	}
	f.want("retries", f.fetchOne(b, "b", "x").Retries, 5)
}

func completionIsDelivered(t *testing.T, h Harness) {
	f := shared(t, h)
	a, b := f.pair()
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("x")}
	f.start(n)
	lock := f.lock(f.fetchOne(a, "a", "x"))
	wrong := lock
	wrong.Epoch++
	done := f.delivery(n.ID, "done "+lock.ID.String())
	deliver := func(s ports.Store, l ports.TaskLock) ports.Answer {
		out, err := s.Tasks().Deliver(f.Context(), []ports.CompletedTask{{TaskLock: l, Delivery: done}})
		f.must(err)
		return out[0]
	}
	f.settled("by another lock", deliver(a, wrong), ports.LockLost)
	f.settled("deliver", deliver(a, lock), ports.Done)
	f.settled("deliver again", deliver(b, lock), ports.Done)
	f.want("tasks", f.rows("task", "1 = 1"), 0)
	got, err := b.Inbox().Of(f.Context(), []ports.Ref{n.Ref})
	f.must(err)
	f.want("pending", len(got), 1)
}

func droppedTask(t *testing.T, h Harness) {
	f := shared(t, h)
	n := f.fresh()
	n.Tasks = []ports.Task{f.task("x"), f.task("x")}
	f.start(n)
	st := f.step(f.own(f.store, "a/1", n.ID))
	st.Drop.Tasks = []ports.TaskID{n.Tasks[0].ID}
	f.settled("commit", f.commit(f.store, st), ports.Done)
	for i, want := range []string{"", f.tenant} {
		tenant, err := f.store.Tasks().Locate(f.Context(), []string{f.tenant}, n.Tasks[i].ID)
		f.must(err)
		f.want("tenant", tenant, want)
	}
}
