package replica_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/adapters/webhook"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/app/replica"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// engine is a whole replica in this process, on SQLite in memory, without a transport.
type engine struct {
	*replica.Replica
	t     *testing.T
	store ports.Store
	event atomic.Int64

	beside sync.WaitGroup // messages whose answer is not waited for
}

const tenant = "acme"

// run starts a replica and deploys one package of models and channels.
func run(t *testing.T, channels string, models ...string) *engine {
	t.Helper()
	return runOn(t, func(s ports.Store) ports.Store { return s }, ports.Blind{}, channels, models...)
}

// runWithin is run with limits for tenants.
func runWithin(t *testing.T, b limit.Bounds, channels string, models ...string) *engine {
	t.Helper()
	return runFully(t, func(s ports.Store) ports.Store { return s }, ports.Blind{}, b, channels, models...)
}

// runOn is run over a store that a test has wrapped, and with its watch.
func runOn(t *testing.T, wrap func(ports.Store) ports.Store, watch ports.Watch, channels string, models ...string) *engine {
	t.Helper()
	return runFully(t, wrap, watch, limit.Bounds{}, channels, models...)
}

func runFully(t *testing.T, wrap func(ports.Store) ports.Store, watch ports.Watch, b limit.Bounds, channels string, models ...string) *engine {
	t.Helper()
	c := database.Config{Log: slog.New(slog.DiscardHandler)}
	opened, err := database.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	store := wrap(opened)
	config := replica.Default(1)
	config.Tenants = b
	config.OutboxTick, config.TimerTick, config.DeploymentsPoll = 20*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	config.OutboxBase, config.ReplyTimeout = 10*time.Millisecond, 10*time.Second
	config.Complete()
	sender := webhook.New(time.Second, &http.Transport{})
	e := &engine{t: t, store: store, Replica: replica.New(replica.Deps{
		Store: store, Config: config, Secrets: system.Secrets{}, IDs: &system.IDs{}, Now: system.Now, Watch: watch, Log: c.Log, Name: "test",
		Senders: map[string]ports.Sender{"http": sender},
	})}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx, 10*time.Second); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		e.beside.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	e.deploy(channels, models...)
	return e
}

func (e *engine) deploy(channels string, models ...string) {
	e.t.Helper()
	e.deployBeside(fstest.MapFS{}, channels, models...)
}

// deployBeside deploys a package that has other files too.
func (e *engine) deployBeside(others fstest.MapFS, channels string, models ...string) {
	e.t.Helper()
	if err := e.try(files(others, channels, models...)); err != nil {
		e.t.Fatal(err)
	}
}

// files are a package's.
func files(files fstest.MapFS, channels string, models ...string) fstest.MapFS {
	files["package.yaml"] = &fstest.MapFile{Data: []byte("labels: {tenant: acme, module: m, version: '1'}\n")}
	files["channels.yaml"] = &fstest.MapFile{Data: []byte("channels:\n" + channels)}
	for i, m := range models {
		files[fmt.Sprintf("bpmn/%d.bpmn", i)] = &fstest.MapFile{Data: []byte(`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" ` +
			`xmlns:q="urn:sutra:q:1.0" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">` + m + `</definitions>`)}
	}
	return files
}

func (e *engine) try(files fstest.MapFS) error {
	e.t.Helper()
	a, err := archive.Seal(files, archive.Default())
	if err != nil {
		e.t.Fatal(err)
	}
	_, err = e.Deployer.Deploy(e.t.Context(), ports.Deploy{Archive: a.Bytes})
	return err
}

func (e *engine) incoming(body string) ports.Incoming {
	return ports.Incoming{
		Tenant: tenant, EventID: fmt.Append(nil, "event-", e.event.Add(1)), ContentType: "application/json", Body: []byte(body),
	}
}

// send hands a message to a channel, and wants it taken.
func (e *engine) send(channel, body string) ports.Receipt {
	e.t.Helper()
	in := e.incoming(body)
	in.Channel = channel
	r, err := e.Intake.Take(e.t.Context(), in)
	if err != nil {
		e.t.Fatalf("%s to %s: %v", body, channel, err)
	}
	return r
}

// sendBeside hands a message to a channel and does not wait for the answer.
func (e *engine) sendBeside(channel, body string) <-chan ports.Receipt {
	in := e.incoming(body)
	in.Channel = channel
	heard := make(chan ports.Receipt, 1)
	ctx := context.WithoutCancel(e.t.Context())
	e.beside.Go(func() {
		r, err := e.Intake.Take(ctx, in)
		if err != nil {
			e.t.Error(err)
		}
		heard <- r
	})
	return heard
}

// ended waits until there are just these instances, by process and status.
func (e *engine) ended(want map[string]int) {
	e.t.Helper()
	var got map[string]int
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		page, err := e.store.Views().List(e.t.Context(), ports.InstanceQuery{Limit: 100})
		rows := page.Instances
		if err != nil {
			e.t.Fatal(err)
		}
		got = map[string]int{}
		for _, i := range rows {
			got[i.Process+" "+string(i.Status)]++
		}
		if fmt.Sprint(got) == fmt.Sprint(want) {
			breaches, err := e.store.Views().Verify(e.t.Context(), 10)
			if err != nil || len(breaches) > 0 {
				e.t.Fatalf("the database is not sound: %v %v", breaches, err)
			}
			return
		}
	}
	e.t.Fatalf("got %v, want %v", got, want)
}

const door = "  - {name: %s, transport: http, auth: {scheme: none}}\n"

// process is a straight line of nodes with flows between them.
func process(id string, nodes ...string) string {
	text := `<process id="` + id + `" isExecutable="true">`
	for i, n := range nodes {
		text += n
		if i > 0 {
			text += fmt.Sprintf(`<sequenceFlow id="%s-f%d" sourceRef="%s-%d" targetRef="%s-%d"/>`, id, i, id, i-1, id, i)
		}
	}
	return text + `</process>`
}

func start(id, channel string) string {
	return `<startEvent id="` + id + `-0"><extensionElements><q:source channel="` + channel + `"/><q:alias name="key" expression="payload.key"/></extensionElements></startEvent>`
}

func wait(id string, n int, channel string) string {
	return fmt.Sprintf(`<receiveTask id="%s-%d"><extensionElements><q:source channel="%s" name="answer"/>`+
		`<q:alias name="key" expression="answer.key"/></extensionElements></receiveTask>`, id, n, channel)
}

func end(id string, n int, body string) string {
	return fmt.Sprintf(`<endEvent id="%s-%d"><extensionElements><q:reply contentType="application/json" body="%s"/></extensionElements></endEvent>`, id, n, body)
}

func TestACalledProcessAnswersItsCaller(t *testing.T) {
	e := run(t, fmt.Sprintf(door+door, "begin", "go"),
		process("parent", start("parent", "begin"), `<callActivity id="parent-1" calledElement="child"/>`, end("parent", 2, "{got: doubled}")),
		process("child", `<extensionElements><q:alias name="key" expression="payload.key"/></extensionElements><startEvent id="child-0"/>`, wait("child", 1, "go"),
			`<scriptTask id="child-2"><extensionElements><zeebe:script expression="=answer.n * 2" resultVariable="doubled"/></extensionElements></scriptTask>`,
			`<endEvent id="child-3"/>`),
	)
	heard := e.sendBeside("begin", `{"key": 7}`)
	e.ended(map[string]int{"child suspended": 1, "parent suspended": 1})
	page, err := e.store.Views().List(t.Context(), ports.InstanceQuery{Process: "child", Limit: 1})
	rows := page.Instances
	if err != nil || len(rows) != 1 || rows[0].Parent == nil {
		t.Fatalf("got %v %v, want one child of a parent", rows, err)
	}
	if err := e.Operator.Cancel(t.Context(), ports.Actor{}, rows[0].ID); err == nil {
		t.Error("a child was cancelled by itself, want a refusal")
	}
	e.send("go", `{"key": 7, "n": 21}`)
	if r := <-heard; r.Answer == nil || string(r.Answer.Body) != `{"got":42}` {
		t.Fatalf("got %+v, want what the child computed", r.Answer)
	}
	e.ended(map[string]int{"child completed": 1, "parent completed": 1})
}

func TestCancellingACallerCancelsWhatItCalled(t *testing.T) {
	e := run(t, fmt.Sprintf(door+door, "begin", "go"),
		process("parent", start("parent", "begin"), `<callActivity id="parent-1" calledElement="child"/>`, `<endEvent id="parent-2"/>`),
		process("child", `<startEvent id="child-0"/>`, wait("child", 1, "go"), `<endEvent id="child-2"/>`),
	)
	e.sendBeside("begin", `{"key": 7}`)
	e.ended(map[string]int{"child suspended": 1, "parent suspended": 1})
	page, err := e.store.Views().List(t.Context(), ports.InstanceQuery{Process: "parent", Limit: 1})
	rows := page.Instances
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v %v", rows, err)
	}
	if err := e.Operator.Cancel(t.Context(), ports.Actor{}, rows[0].ID); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"child cancelled": 1, "parent cancelled": 1})
}

func TestSignalsReachWaitsAndStarts(t *testing.T) {
	signal := `<signal id="alarm" name="alarm"/>`
	catch := `<intermediateCatchEvent id="sleeper-1"><signalEventDefinition signalRef="alarm"/></intermediateCatchEvent>`
	e := run(t, fmt.Sprintf(door, "begin"),
		signal+process("sleeper", start("sleeper", "begin"), catch, `<endEvent id="sleeper-2"/>`)+
			process("woken", `<startEvent id="woken-0"><signalEventDefinition signalRef="alarm"/></startEvent>`, `<endEvent id="woken-1"/>`),
	)
	for i := range 3 {
		e.sendBeside("begin", fmt.Sprintf(`{"key": %d}`, i)) // it is answered when the instance ends
	}
	e.ended(map[string]int{"sleeper suspended": 3})
	if _, err := e.Intake.Broadcast(t.Context(), tenant, "alarm", e.incoming(`{"loud": true}`)); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"sleeper completed": 3, "woken completed": 1})
}

func TestAMessageBeforeItsWaitIsKept(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"), `<message id="paid" name="paid"><extensionElements><zeebe:subscription correlationKey="=payload.key"/></extensionElements></message>`+
		process("order", start("order", "begin"), `<intermediateCatchEvent id="order-1"><messageEventDefinition messageRef="paid"/></intermediateCatchEvent>`, `<endEvent id="order-2"/>`))
	if _, err := e.Intake.Publish(t.Context(), tenant, "paid", "9", time.Minute, e.incoming(`{}`)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // it finds nobody
	e.send("begin", `{"key": 9}`)
	e.ended(map[string]int{"order completed": 1})
}

func TestABroadcastReachesEveryWaitingInstance(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: all, transport: http, broadcast: true, auth: {scheme: none}}\n",
		process("p", start("p", "begin"), `<task id="p-1"><extensionElements><q:reply contentType="application/json" body="{}"/></extensionElements></task>`,
			`<receiveTask id="p-2"><extensionElements><q:source channel="all"/></extensionElements></receiveTask>`, `<endEvent id="p-3"/>`))
	for range 3 {
		e.send("begin", `{}`)
	}
	e.send("all", `{}`)
	e.ended(map[string]int{"p completed": 3})
}

func TestACallOverAChannelIsAnswered(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"price": 12.5}`))
	}))
	defer server.Close()
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: pricing, transport: http, url: '"+server.URL+"'}\n",
		process("p", start("p", "begin"), `<serviceTask id="p-1" implementation="channel:pricing"/>`, end("p", 2, "{price: price}")))
	r := e.send("begin", `{"key": 1}`)
	if r.Answer == nil || string(r.Answer.Body) != `{"price":12.5}` {
		t.Fatalf("got %+v, want the price that the service gave", r.Answer)
	}
	e.ended(map[string]int{"p completed": 1})
}

func TestARejectedCallIsAnErrorOfTheModel(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: pricing, transport: http, url: '"+server.URL+"'}\n",
		`<error id="rejected" errorCode="SUTRA.CALL.REJECTED"/>`+process("p", start("p", "begin"), `<serviceTask id="p-1" implementation="channel:pricing"/>`,
			end("p", 2, "{ok: true}")+`<boundaryEvent id="b" attachedToRef="p-1"><errorEventDefinition errorRef="rejected"/></boundaryEvent>
			<sequenceFlow id="bf" sourceRef="b" targetRef="be"/>`+`<endEvent id="be"><extensionElements><q:reply contentType="application/json" body="{ok: false}"/></extensionElements></endEvent>`))
	r := e.send("begin", `{"key": 1}`)
	if r.Answer == nil || string(r.Answer.Body) != `{"ok":false}` {
		t.Fatalf("got %+v, want the path of the error boundary", r.Answer)
	}
}

func TestSchedulesStartInstances(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"),
		process("tick", `<startEvent id="tick-0"><timerEventDefinition><timeCycle>R2/PT0.2S</timeCycle></timerEventDefinition></startEvent>`, `<endEvent id="tick-1"/>`))
	e.ended(map[string]int{"tick completed": 2})
	time.Sleep(500 * time.Millisecond)
	e.ended(map[string]int{"tick completed": 2})
}

func TestAFailedInstanceComesBack(t *testing.T) {
	e := run(t, fmt.Sprintf(door+door, "begin", "go"), `<process id="p" isExecutable="true">`+start("p", "begin")+
		`<task id="t"><extensionElements><q:reply contentType="application/json" body="{}"/></extensionElements></task>`+wait("p", 1, "go")+
		`<exclusiveGateway id="g"/><endEvent id="e"/>
		<sequenceFlow id="f1" sourceRef="p-0" targetRef="t"/><sequenceFlow id="f2" sourceRef="t" targetRef="p-1"/><sequenceFlow id="f3" sourceRef="p-1" targetRef="g"/>
		<sequenceFlow id="f4" sourceRef="g" targetRef="e"><conditionExpression>= answer.ok = true</conditionExpression></sequenceFlow></process>`)
	id := e.send("begin", `{"key": 1}`).Instance
	in := e.incoming(`{"key": 1, "ok": false}`)
	in.Channel = "go"
	if _, err := e.Intake.Take(t.Context(), in); !errors.Is(err, fault.Code("SUTRA.RUNTIME.GATEWAY.NO_FLOW")) {
		t.Fatalf("got %v, want the code of the failure", err)
	}
	e.ended(map[string]int{"p failed": 1})
	refused := e.incoming(`{"key": 1, "ok": true}`)
	refused.Channel = "go"
	if _, err := e.Intake.Take(t.Context(), refused); err == nil {
		t.Error("a FAILED instance took a message")
	}
	if err := e.Operator.Resume(t.Context(), ports.Actor{}, id, false); err != nil { // the event is tried again, and fails again
		t.Fatal(err)
	}
	e.ended(map[string]int{"p failed": 1})
	if err := e.Operator.Resume(t.Context(), ports.Actor{}, id, true); err != nil {
		t.Fatal(err)
	}
	e.ended(map[string]int{"p suspended": 1})
	if err := e.Operator.Resume(t.Context(), ports.Actor{}, id, true); !errors.Is(err, fault.NotFailed) {
		t.Errorf("got %v, want %s", err, fault.NotFailed)
	}
	e.send("go", `{"key": 1, "ok": true}`)
	e.ended(map[string]int{"p completed": 1})
}

func TestAFailedStartIsNotResumedWithoutItsEvent(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin"), `<process id="p" isExecutable="true">`+start("p", "begin")+`<exclusiveGateway id="g"/><endEvent id="e"/>
		<sequenceFlow id="f1" sourceRef="p-0" targetRef="g"/>
		<sequenceFlow id="f2" sourceRef="g" targetRef="e"><conditionExpression>= payload.ok = true</conditionExpression></sequenceFlow></process>`)
	in := e.incoming(`{"key": 1, "ok": false}`)
	in.Channel = "begin"
	_, err := e.Intake.Take(t.Context(), in)
	e.ended(map[string]int{"p failed": 1})
	page, listed := e.store.Views().List(t.Context(), ports.InstanceQuery{Limit: 1})
	rows := page.Instances
	if listed != nil || len(rows) != 1 {
		t.Fatalf("got %v %v, want the instance that failed with %v", rows, listed, err)
	}
	if err := e.Operator.Resume(t.Context(), ports.Actor{}, rows[0].ID, true); !errors.Is(err, fault.ResumeStuck) {
		t.Errorf("got %v, want %s", err, fault.ResumeStuck)
	}
	e.ended(map[string]int{"p failed": 1})
}

func TestWorkersCompleteTasks(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: jobs, transport: pull}\n",
		process("p", start("p", "begin"), `<serviceTask id="p-1" implementation="channel:jobs"/>`, end("p", 2, "{sum: sum}")))
	heard := e.sendBeside("begin", `{"key": 1, "a": 2}`)
	tasks, err := e.Tasks.Fetch(t.Context(), ports.TaskFetch{
		TaskAsk: ports.TaskAsk{Worker: "w", Max: 1, Topics: []ports.TaskTopic{{Name: "jobs"}}}, Wait: 5 * time.Second,
	})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("got %v %v, want one task", tasks, err)
	}
	var inputs map[string]any
	if err := json.Unmarshal(tasks[0].Inputs, &inputs); err != nil {
		t.Fatalf("inputs %s: %v", tasks[0].Inputs, err)
	}
	lock := ports.TaskLock{ID: tasks[0].Task.ID, Worker: "w", Epoch: tasks[0].Epoch}
	stale := lock
	stale.Epoch++
	if _, err := e.Tasks.Complete(t.Context(), nil, stale, []byte(`{}`)); err == nil {
		t.Error("a stale token completed the task")
	}
	if _, err := e.Tasks.Complete(t.Context(), nil, lock, []byte(`{"sum": 5}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Tasks.Complete(t.Context(), nil, lock, []byte(`{"sum": 6}`)); err == nil {
		t.Error("a completion was taken twice")
	}
	if r := <-heard; r.Answer == nil || string(r.Answer.Body) != `{"sum":5}` {
		t.Fatalf("got %+v, want the worker's result", r.Answer)
	}
}

// TestCompletionsOfOneInstanceInOneFold: a step proves only one lock, and every worker hears how its own completion went.
func TestCompletionsOfOneInstanceInOneFold(t *testing.T) {
	const n = 20
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: jobs, transport: pull}\n",
		process("p", start("p", "begin"), fmt.Sprintf(`<serviceTask id="p-1" implementation="channel:jobs"><multiInstanceLoopCharacteristics>
			<loopCardinality>%d</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>`, n), end("p", 2, "{}")))
	heard := e.sendBeside("begin", `{"key": 1}`)
	e.ended(map[string]int{"p suspended": 1})
	tasks, err := e.Tasks.Fetch(t.Context(), ports.TaskFetch{TaskAsk: ports.TaskAsk{Worker: "w", Max: n, Topics: []ports.TaskTopic{{Name: "jobs"}}}})
	if err != nil || len(tasks) != n {
		t.Fatalf("got %d tasks, %v; want %d", len(tasks), err, n)
	}
	var workers sync.WaitGroup
	for _, task := range tasks {
		workers.Go(func() {
			if _, err := e.Tasks.Complete(t.Context(), nil, ports.TaskLock{ID: task.Task.ID, Worker: "w", Epoch: task.Epoch}, nil); err != nil {
				t.Errorf("task %s: %v", task.Task.ID, err)
			}
		})
	}
	workers.Wait()
	if r := <-heard; r.Answer == nil {
		t.Errorf("got %+v, want the instance ended", r)
	}
	e.ended(map[string]int{"p completed": 1})
}

func TestALocalMessageStartsAnotherProcess(t *testing.T) {
	e := run(t, fmt.Sprintf(door, "begin")+"  - {name: inner, transport: local}\n",
		process("p", start("p", "begin"), `<sendTask id="p-1"><extensionElements><q:send channel="inner" body="{key: payload.key}"/></extensionElements></sendTask>`, `<endEvent id="p-2"/>`),
		process("q", start("q", "inner"), `<endEvent id="q-1"/>`))
	e.send("begin", `{"key": 1}`)
	e.ended(map[string]int{"p completed": 1, "q completed": 1})
}

// picky is a store whose database cannot store an emission of some content, as one whose packets are too small cannot.
type picky struct{ ports.Store }

const unstorable = "unstorable"

func (p picky) Instances() ports.Instances { return pickyInstances{p.Store.Instances()} }

type pickyInstances struct{ ports.Instances }

func (p pickyInstances) Start(ctx context.Context, all []ports.NewInstance) []ports.Answer {
	return pick(all, func(n ports.NewInstance) ports.Rows { return n.Rows }, func(good []ports.NewInstance) []ports.Answer {
		return p.Instances.Start(ctx, good)
	})
}

func (p pickyInstances) Commit(ctx context.Context, all []ports.Step) []ports.Answer {
	return pick(all, func(s ports.Step) ports.Rows { return s.Rows }, func(good []ports.Step) []ports.Answer {
		return p.Instances.Commit(ctx, good)
	})
}

// pick refuses the elements that cannot be stored and hands on the others.
func pick[T any](all []T, rows func(T) ports.Rows, store func([]T) []ports.Answer) []ports.Answer {
	out := make([]ports.Answer, len(all))
	var good []T
	var at []int
	for i, one := range all {
		if slices.ContainsFunc(rows(one).Outbox, func(e ports.Emission) bool { return bytes.Contains(e.Body, []byte(unstorable)) }) {
			out[i].Err = fault.StoreTooLarge.With("a value is larger than the database takes")
			continue
		}
		good, at = append(good, one), append(at, i)
	}
	for i, answer := range store(good) {
		out[at[i]] = answer
	}
	return out
}

// TestWhatTheDatabaseCannotStoreFailsItsInstanceAlone: it is neither sent again for ever nor lost, and its neighbours of the batch and
// of the fold are not held up.
func TestWhatTheDatabaseCannotStoreFailsItsInstanceAlone(t *testing.T) {
	const n = 12
	reply := `<task id="%s"><extensionElements><q:reply contentType="application/json" body="{}"/></extensionElements></task>`
	send := `<sendTask id="%[1]s"><extensionElements><q:send channel="out" body="{text: %[2]s.text}"/></extensionElements></sendTask>`
	e := runOn(t, func(s ports.Store) ports.Store { return picky{s} }, ports.Blind{},
		fmt.Sprintf(door, "begin")+fmt.Sprintf(door, "note")+"  - {name: letter, transport: http, ack-mode: on-persist, auth: {scheme: none}}\n"+
			"  - {name: out, transport: http, url: 'http://127.0.0.1:1/'}\n",
		process("p", start("p", "begin"), fmt.Sprintf(reply, "p-1"), wait("p", 2, "note"), fmt.Sprintf(reply, "p-3"),
			fmt.Sprintf(send, "p-4", "answer"), wait("p", 5, "letter"), fmt.Sprintf(send, "p-6", "answer"), `<endEvent id="p-7"/>`),
		process("s", start("s", "letter"), fmt.Sprintf(send, "s-1", "payload"), `<endEvent id="s-2"/>`))
	for i := range n {
		e.send("begin", fmt.Sprintf(`{"key": %d}`, i))
	}
	var all sync.WaitGroup
	for i := range n {
		text := "fine"
		if i%4 == 0 {
			text = unstorable
		}
		in := e.incoming(fmt.Sprintf(`{"key": %d, "text": %q}`, i, text))
		in.Channel = "note"
		all.Go(func() {
			_, err := e.Intake.Take(t.Context(), in)
			if got := errors.Is(err, fault.StoreTooLarge); got != (text == unstorable) {
				t.Errorf("note %d: got %v", i, err)
			}
		})
	}
	all.Wait()
	e.ended(map[string]int{"p failed": n / 4, "p suspended": n - n/4})
	for i := range n {
		text := "fine"
		key := i
		switch i % 4 {
		case 1:
			text = unstorable
		case 3: // for no instance: it starts one
			key, text = n+i, unstorable
		}
		e.send("letter", fmt.Sprintf(`{"key": %d, "text": %q}`, key, text))
	}
	// The first of four found its instance FAILED, and started another.
	e.ended(map[string]int{"p failed": n / 2, "p completed": n / 4, "p suspended": n / 4, "s completed": n / 4, "s failed": n / 4})
}
