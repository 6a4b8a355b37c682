package replica_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

func TestExplainSaysWhatAnInstanceWaitsFor(t *testing.T) {
	e := run(t, fmt.Sprintf(door+door, "begin", "go")+"  - {name: jobs, transport: pull}\n",
		process("p", `<extensionElements><q:alias name="order" expression="payload.order"/></extensionElements>`+start("p", "begin"),
			`<serviceTask id="p-1" implementation="channel:jobs"/>`, `<callActivity id="p-2" calledElement="child"/>`, `<endEvent id="p-3"/>`),
		process("child", `<startEvent id="child-0"/>`, wait("child", 1, "go"), `<endEvent id="child-2"/>`),
	)
	e.sendBeside("begin", `{"key": 1, "order": "A-17"}`)
	e.ended(map[string]int{"p suspended": 1})
	id := e.listed(1)[0].ID
	explained := func(want string) ports.Explained {
		t.Helper()
		got, err := e.Operator.Explain(t.Context(), nil, id)
		if err != nil {
			t.Fatal(err)
		}
		if next := strings.Join(got.Next, "\n"); !regexp.MustCompile("^" + want + "$").MatchString(next) {
			t.Errorf("next: got\n%s\nwant\n%s", next, want)
		}
		return got
	}
	got := explained(`task at p-1: a worker who fetches jobs, 3 attempts left`)
	if !slices.Contains(got.Aliases, "order=A-17") || len(got.Tasks) != 1 || got.Tasks[0].Topic != "jobs" {
		t.Errorf("got the aliases %v and the tasks %+v", got.Aliases, got.Tasks)
	}
	fetch := func() ports.TaskLock {
		t.Helper()
		tasks, err := e.Tasks.Fetch(t.Context(), ports.TaskFetch{
			TaskAsk: ports.TaskAsk{Worker: "w", Max: 1, Topics: []ports.TaskTopic{{Name: "jobs"}}}, Wait: 5 * time.Second,
		})
		if err != nil || len(tasks) != 1 {
			t.Fatalf("got %v %v, want one task", tasks, err)
		}
		return ports.TaskLock{ID: tasks[0].Task.ID, Worker: "w", Epoch: tasks[0].Epoch}
	}
	fail := func(left int) {
		t.Helper()
		lock := fetch()
		explained(`task at p-1: worker w has it until \S+, \d attempts left(; .*)?`)
		if err := e.Tasks.Fail(t.Context(), nil, ports.FailedTask{TaskLock: lock, Error: "no paper", After: time.Millisecond}, &left); err != nil {
			t.Fatal(err)
		}
	}
	fail(1)
	explained(`task at p-1: a worker who fetches jobs, (from \S+ on, )?1 attempts left; it failed last with: no paper`)
	fail(0)
	explained(`task at p-1: an operator, its attempts are used up: sutra tasks retry \S+; it failed last with: no paper`)
	if err := e.Operator.Retry(t.Context(), ports.Actor{}, got.Tasks[0].Task.ID, 1); err != nil {
		t.Fatal(err)
	}
	held, err := e.store.Claims().Claim(t.Context(), "somebody/1", []ports.Ref{{Tenant: tenant, ID: id}}, time.Time{})
	if err != nil || held[0].Outcome != ports.Done {
		t.Fatal(held, err)
	}
	lock := fetch()
	if accepted, err := e.Tasks.Complete(t.Context(), nil, lock, []byte(`{}`)); err != nil || !accepted {
		t.Fatalf("got %v, %v, want a completion that waits for the claim", accepted, err)
	}
	for i := 0; ; i++ {
		pending, err := e.store.Inbox().Of(t.Context(), []ports.Ref{{Tenant: tenant, ID: id}})
		if err != nil || i == 1000 {
			t.Fatalf("got %v, %+v, want a completion that was tried", err, pending)
		}
		if len(pending) == 1 && pending[0].Attempts > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	got = explained(`the step under way: somebody/1 has held it for \S+\na \S+ message that came at \S+, taken up \d+ times and not applied, refused last at \S+ with SUTRA.RUNTIME.RESUME.CLAIM_HELD(, next at \S+)?\ntask at p-1`)
	if len(got.Pending) != 1 {
		t.Errorf("got %+v pending, want the completion", got.Pending)
	}
	if err := e.store.Claims().Release(t.Context(), []ports.Claim{{Ref: got.Ref, Owner: "somebody/1", Epoch: held[0].Epoch}}); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"p suspended": 1, "child suspended": 1})
	explained(`call at p-2: the end of instance \S+`)
	if err := e.Operator.Cancel(t.Context(), ports.Actor{}, id); err != nil {
		t.Fatal(err)
	}
	explained(`nothing: it has ended`)
}

func TestExplainSaysWhyATimerWasPutOff(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"),
		process("p", start("p", "begin"),
			`<intermediateCatchEvent id="p-1"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>`, `<endEvent id="p-2"/>`),
	)
	e.sendBeside("begin", `{"key": 1}`)
	e.ended(map[string]int{"p suspended": 1})
	ref := e.listed(1)[0].Ref
	explain := func() ports.Explained {
		got, err := e.Operator.Explain(t.Context(), nil, ref.ID)
		if err != nil || len(got.Waits) != 1 {
			t.Fatal(got, err)
		}
		return got
	}
	timer := ports.Timer{Ref: ref, Wait: explain().Waits[0].Wait.ID}
	if err := e.store.Timers().Defer(t.Context(), []ports.Timer{timer}, e.store.Clock().Now().Add(2*time.Hour), "SOME.CODE"); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^timer at p-1, due \S+, put off until \S+, refused last at \S+ with SOME.CODE$`)
	if next := strings.Join(explain().Next, "\n"); !want.MatchString(next) {
		t.Errorf("got %q, want %s", next, want)
	}
}
