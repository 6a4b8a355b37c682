package step_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// claimed is the instance in the hands of an operator.
func (i *instance) claimed() step.Claimed {
	return step.Claimed{
		Claim: ports.Claim{Ref: i.ref, Owner: "r/operator/1", Epoch: 1}, Row: ports.Instance{Ref: i.ref, Snapshot: i.data, Status: i.status}, Step: i.w.stepID(), At: i.w.now,
	}
}

func (i *instance) correct(vars string) step.Result {
	i.w.t.Helper()
	variables, _ := value(i.w.t, vars).(feel.Context)
	res := step.Correct(i.p, i.claimed(), variables)
	if res.Failure == nil && res.Err == nil {
		i.last = res
		i.take(res.Commit)
	}
	return res
}

func TestACorrectionLetsAFailedInstanceGoOn(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), exclusive("x"), worker("b"), path("s", "a", "x"), pathIf("x", "b", "ok"),
		boundary("c", "a", when("n > 3")), path("c", "e"), end("e")))
	i := w.start(`{"n": 1}`)
	i.fails(fault.ExpressionNotBoolean, i.completion("a", ""))
	if res := i.correct(`{"ok": true}`); res.Err != nil || res.Failure != nil {
		t.Fatalf("got %+v", res)
	}
	i.isFailed(fault.ExpressionNotBoolean)
	if i.variable("ok") != "true" || len(i.waits) != 0 {
		t.Fatalf("ok is %s, waits %v", i.variable("ok"), i.waits)
	}
	i.restore(step.ReplayEvent)
	w.deliver()
	i.want("task b")
}

// A condition that a correction makes true while the instance is FAILED is asked when it goes on.
func TestACorrectionOfAFailedInstanceWakesConditions(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), exclusive("x"), path("s", "a", "x"), pathIf("x", "e", "ok"), boundary("c", "a", when("n > 3")), path("c", "b"), worker("b"), end("e")))
	i := w.start(`{"n": 1}`)
	i.fails(fault.ExpressionNotBoolean, i.completion("a", ""))
	i.correct(`{"n": 5}`)
	i.restore(step.DropEvent)
	w.deliver()
	i.want("task b")
}

func TestACorrectionOfAWaitingInstanceIsAStep(t *testing.T) {
	w := newWorld(t, process(start("s"), worker("a"), path("s", "a"), boundary("c", "a", when("n > 3")), path("c", "b"), worker("b"),
		boundary("d", "b", when("n + m")), path("d", "e"), end("e")))
	i := w.start(`{"n": 1}`)
	i.correct(`{"n": 5}`)
	i.want("task b")
	before := string(i.data)
	if res := i.correct(`{"m": 0.1, "n": 7}`); res.Failure == nil {
		t.Fatalf("got %+v, want it refused: the condition would fail", res)
	}
	if string(i.data) != before {
		t.Error("a refused correction changed the instance")
	}
	broken := newWorld(t, process(start("s"), exclusive("x"), path("s", "x"), pathIf("x", "e", "ok"), end("e"))).start("")
	if res := broken.correct(`{"ok": true}`); !errors.Is(res.Err, fault.EventInvalid) {
		t.Fatalf("of one that has not begun: got %+v", res)
	}
}

func TestARetryIsMadeNow(t *testing.T) {
	w := newWorld(t, process(start("s"), elWith("serviceTask", "a", `implementation="channel:out"`, `<q:retry maxAttempts="3" initialDelay="PT1H"/>`), path("s", "a")))
	i := w.start("")
	if events, err := step.Retries(i.claimed(), 0); err != nil || len(events) != 0 {
		t.Fatalf("while it waits for an answer: got %v, %v", events, err)
	}
	i.applied(step.Event{Kind: step.KindCallFailed, Wait: i.at("a").ID, Attempt: 1, Code: "X"})
	i.want("retry a")
	if events, err := step.Retries(i.claimed(), i.at("a").ID+1); err != nil || len(events) != 0 {
		t.Fatalf("at another wait: got %v, %v", events, err)
	}
	events, err := step.Retries(i.claimed(), 0)
	if err != nil || len(events) != 1 {
		t.Fatalf("got %v, %v", events, err)
	}
	i.applied(events...)
	i.want("call a")
	if len(w.emitted) != 2 || w.emitted[1].Attempt != 2 {
		t.Fatalf("got %+v, want a second attempt", w.emitted)
	}
}

func TestHistoryTellsAsMuchAsIsAsked(t *testing.T) {
	for level, want := range map[step.History]string{"": "set", step.FullHistory: "set", step.ActivityHistory: "entered", step.NoHistory: ""} {
		w := newWorld(t, process(start("s"), script("a", "1", "x"), worker("b"), path("s", "a", "b")))
		w.programs["p"].Limits.History = level
		got := w.start(`{"n": 1}`).lastHistory()
		if want == "" && got != "" || !strings.Contains(got, `"`+want+`"`) && want != "" || level == step.ActivityHistory && strings.Contains(got, `"set"`) {
			t.Errorf("level %q: got %q", level, got)
		}
	}
}
