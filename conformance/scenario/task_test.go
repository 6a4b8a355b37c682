package scenario_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/conformance/scenario"
)

var jobs = filepath.Join("testdata", "jobs")

func job(n int) scenario.Message {
	return scenario.Message{Channel: "job", Event: fmt.Sprintf("job-%d", n), Body: order{n}}
}

func TestWorkersDrainTasksEachOnce(t *testing.T) {
	number := 2000
	if *dialect == "postgres" {
		number = 10000
	}
	f, replicas := parts(t, nil, "a", "b", "c")
	replicas[0].Deploy(jobs)
	begun := time.Now()
	each(number, func(i int) {
		if a, err := replicas[i%3].Insist(job(i)); err != nil || !a.Good() {
			t.Errorf("job %d: got %s, %v; want it taken", i, a, err)
		}
	})
	t.Logf("%d jobs were taken in %v", number, time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	var mu sync.Mutex
	done := map[string]int{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			worker := worker{replica: replicas[w%3], name: fmt.Sprintf("worker-%d", w)}
			for empty := time.Now(); time.Since(empty) < 10*time.Second; {
				tasks, err := worker.fetch(100, time.Minute, time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				for _, task := range tasks {
					if a, err := worker.complete(task); err != nil || !a.Good() {
						t.Errorf("complete %s: got %s, %v", task.ID, a, err)
					}
					mu.Lock()
					done[task.Instance]++
					all := len(done) == number
					mu.Unlock()
					if all {
						return
					}
					empty = time.Now()
				}
			}
		})
	}
	wg.Wait()
	t.Logf("4 workers on 3 replicas drained them in %v", time.Since(begun).Round(time.Millisecond))
	if len(done) != number {
		t.Errorf("got work of %d instances, want %d", len(done), number)
	}
	for id, times := range done {
		if times != 1 {
			t.Errorf("instance %s: its task was handed out %d times, want once", id, times)
		}
	}
	wantEnded(t, f, replicas[0], number)
	wantShippedOnce(t, f, number)
}

func TestKilledWorkerCostsOneLockAndStaleOnesAreTold(t *testing.T) {
	const lock = 2 * time.Second
	f, crew := parts(t, nil, "a", "b")
	a, b := crew[0], crew[1]
	a.Deploy(jobs)
	a.MustSend(job(1))
	dead, next := worker{replica: a, name: "dead"}, worker{replica: b, name: "next"}

	lost := fetchOne(t, f, dead, lock) // and is never heard of until its lock has passed
	begun := time.Now()
	taken := fetchOne(t, f, next, time.Minute)
	if waited := time.Since(begun); waited > lock+3*time.Second {
		t.Errorf("the next worker got the task after %v, want one lock of %v", waited, lock)
	}
	if taken.ID != lost.ID {
		t.Fatalf("the next worker got task %s, want %s", taken.ID, lost.ID)
	}
	stale, err := dead.complete(lost)
	if err != nil || stale.Status != http.StatusConflict || stale.Problem().Retryable {
		t.Errorf("the stale worker: got %s, %v; want 409, not retryable", stale, err)
	}
	t.Logf("the stale worker was told %s", stale)
	for i := range 2 {
		if answer, err := next.complete(taken); err != nil || i == 0 && !answer.Good() {
			t.Errorf("completion %d: got %s, %v", i+1, answer, err)
		}
	}
	wantEnded(t, f, a, 1)
	wantShippedOnce(t, f, 1)
}

// worker is a task worker that talks to one replica.
type worker struct {
	replica *scenario.Replica
	name    string
	trace   string // that it works in
}

func (w worker) fetch(most int, lock, wait time.Duration) ([]wire.Task, error) {
	body, err := json.Marshal(wire.Fetch{
		WorkerID: w.name, MaxTasks: most, AsyncResponseTimeout: wait.Milliseconds(),
		Topics: []wire.Topic{{TopicName: "work", LockDuration: lock.Milliseconds()}},
	})
	if err != nil {
		return nil, err
	}
	a, err := w.post("/sutra/external-tasks/fetch-and-lock", body)
	if err != nil || a.Status != http.StatusOK {
		return nil, fmt.Errorf("fetch: got %s, %w", a, err)
	}
	var tasks []wire.Task
	return tasks, json.Unmarshal(a.Body, &tasks)
}

func (w worker) complete(task wire.Task) (scenario.Answer, error) {
	body, err := json.Marshal(wire.Completion{
		WorkerID: w.name, LockToken: task.LockToken, Variables: json.RawMessage(fmt.Sprintf(`{"worker": %q}`, w.name)),
	})
	if err != nil {
		return scenario.Answer{}, err
	}
	return w.post("/sutra/external-tasks/"+task.ID+"/complete", body)
}

func (w worker) fail(task wire.Task, retries int) (scenario.Answer, error) {
	body, err := json.Marshal(wire.Completion{WorkerID: w.name, LockToken: task.LockToken, ErrorMessage: "it cannot be done", Retries: &retries})
	if err != nil {
		return scenario.Answer{}, err
	}
	return w.post("/sutra/external-tasks/"+task.ID+"/failure", body)
}

func (w worker) post(path string, body []byte) (scenario.Answer, error) {
	return w.replica.Call(scenario.Request{Method: http.MethodPost, Path: path, Key: scenario.WorkerKey, Kind: "application/json", Trace: w.trace, Body: body})
}

// fetchOne waits until the worker gets a task.
func fetchOne(t *testing.T, f *scenario.Fleet, w worker, lock time.Duration) wire.Task {
	t.Helper()
	var got []wire.Task
	f.Eventually(w.name+" gets a task", func() error {
		var err error
		got, err = w.fetch(1, lock, 500*time.Millisecond)
		if err == nil && len(got) == 0 {
			err = fmt.Errorf("there is none")
		}
		return err
	})
	return got[0]
}
