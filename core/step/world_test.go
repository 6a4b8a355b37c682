package step_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
)

// world is a store in small: it keeps the bytes and rows of instances, and hands deliveries around. Between any two steps an
// instance exists as bytes alone, so every test restarts everywhere.
type world struct {
	t         testing.TB
	programs  map[string]*step.Program
	now       time.Time
	steps     int
	instances map[ports.InstanceID]*instance
	order     []*instance
	pending   []ports.Message
	dead      map[ports.Key]bool
	emitted   []ports.Emission
	replies   map[ports.Key]ports.Response
}

type instance struct {
	w       *world
	p       *step.Program
	ref     ports.Ref
	data    []byte
	status  ports.Status
	fault   *ports.Fault
	waits   map[ports.WaitID]ports.Wait
	tasks   map[ports.TaskID]ports.Task
	aliases map[ports.Alias]bool
	history int
	last    step.Result
}

var channels = map[string]channel.Channel{
	"orders": {Name: "orders", Transport: channel.HTTP, AckMode: channel.OnComplete}, "decisions": {Name: "decisions", Transport: channel.HTTP, AckMode: channel.OnComplete},
	"persist": {Name: "persist", Transport: channel.HTTP, AckMode: channel.OnPersist}, "out": {Name: "out", Transport: channel.HTTP, URL: "http://out"},
	"near": {Name: "near", Transport: channel.Local}, "pull": {Name: "pull", Transport: channel.Pull},
}

func newWorld(t testing.TB, xml string) *world {
	t.Helper()
	processes := read(t, xml)
	w := &world{
		t: t, programs: map[string]*step.Program{}, now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		instances: map[ports.InstanceID]*instance{}, dead: map[ports.Key]bool{}, replies: map[ports.Key]ports.Response{},
	}
	for id, p := range processes {
		w.programs[id] = &step.Program{Deployment: "d1", Module: "mod", Process: p, Processes: processes, Channels: channels}
	}
	return w
}

func (w *world) stepID() ports.StepID {
	w.steps++
	var id ports.ID
	copy(id[:], fmt.Sprintf("%06d-step-uuid", w.steps))
	return id
}

// start starts the process "p" at its none start event.
func (w *world) start(vars string) *instance {
	w.t.Helper()
	return w.startAt("p", step.Event{Kind: step.KindStart, Payload: value(w.t, vars)})
}

func (w *world) startAt(process string, ev step.Event) *instance {
	w.t.Helper()
	id := w.stepID()
	id[15] = 'i'
	return w.startAs(id, process, ev)
}

func (w *world) startAs(id ports.InstanceID, process string, ev step.Event) *instance {
	w.t.Helper()
	i := &instance{
		w: w, p: w.programs[process], ref: ports.Ref{Tenant: "t1", ID: id},
		waits: map[ports.WaitID]ports.Wait{}, tasks: map[ports.TaskID]ports.Task{}, aliases: map[ports.Alias]bool{},
	}
	ev.At = w.now
	stepID := w.stepID()
	begin := step.Begin{Ref: i.ref, Step: stepID, Event: ev}
	i.last = step.New(i.p, begin)
	if i.last.Err != nil {
		w.t.Fatalf("start: %v", i.last.Err)
	}
	if again := step.New(i.p, begin); !reflect.DeepEqual(again.Start, i.last.Start) {
		w.t.Fatalf("the same start gave something else:\n%+v\n%+v", i.last.Start, again.Start)
	}
	n := i.last.Start
	if n == nil {
		return i
	}
	w.instances[id] = i
	w.order = append(w.order, i)
	i.commit(n.Snapshot, n.Status, n.Fault, n.Rows, ports.Dropped{}, nil)
	if n.Consumed != nil && n.Consumed.Reply != nil {
		w.replied(n.Consumed.InboxRef, n.Consumed.Reply)
	}
	return i
}

// drive folds events into one step.
func (i *instance) drive(events ...step.Event) []step.Outcome {
	i.w.t.Helper()
	for k := range events {
		if events[k].At.IsZero() {
			events[k].At = i.w.now
		}
	}
	claimed := step.Claimed{
		Claim: ports.Claim{Ref: i.ref, Owner: "r/1", Epoch: 1}, Row: ports.Instance{Ref: i.ref, Snapshot: i.data}, Step: i.w.stepID(), At: i.w.now,
	}
	before := bytes.Clone(i.data)
	i.last = step.Resume(i.p, claimed, events)
	if i.last.Err != nil {
		i.w.t.Fatalf("resume: %v", i.last.Err)
	}
	if again := step.Resume(i.p, claimed, events); !reflect.DeepEqual(again, i.last) {
		i.w.t.Fatalf("the same step gave something else:\n%+v\n%+v", i.last.Commit, again.Commit)
	}
	if !bytes.Equal(before, i.data) {
		i.w.t.Fatal("the step wrote to the snapshot it was given")
	}
	i.take(i.last.Commit)
	return i.last.Outcomes
}

func (i *instance) take(c *ports.Step) {
	i.w.t.Helper()
	if c == nil {
		return
	}
	for _, v := range c.Void {
		i.w.dead[v.Event] = true
	}
	i.commit(c.Snapshot, c.Status, c.Fault, c.Rows, c.Drop, c.Consumed)
}

// commit writes what a step says, and checks what has to hold after every commit.
func (i *instance) commit(data []byte, status ports.Status, f *ports.Fault, rows ports.Rows, drop ports.Dropped, consumed []ports.Consumed) {
	i.w.t.Helper()
	i.data, i.status, i.fault = data, status, f
	i.history++
	if drop.All {
		clear(i.waits)
		clear(i.tasks)
		clear(i.aliases)
	}
	for _, id := range drop.Waits {
		delete(i.waits, id)
	}
	for _, id := range drop.Tasks {
		delete(i.tasks, id)
	}
	for _, a := range drop.Aliases {
		delete(i.aliases, a)
	}
	for _, x := range rows.Waits {
		i.waits[x.ID] = x
	}
	for _, x := range rows.Tasks {
		i.tasks[x.ID] = x
	}
	for _, a := range rows.Aliases {
		i.aliases[a] = true
	}
	i.w.emitted = append(i.w.emitted, rows.Outbox...)
	i.w.pending = append(i.w.pending, rows.Deliveries...)
	for _, r := range rows.Replies {
		i.w.replied(r.InboxRef, r.Document)
	}
	for _, c := range consumed {
		if c.Reply != nil {
			i.w.replied(c.InboxRef, c.Reply)
		}
	}
	i.check()
}

func (w *world) replied(ref ports.InboxRef, document []byte) {
	r, err := step.DecodeReply(document)
	if err != nil {
		w.t.Fatal(err)
	}
	w.replies[ref.Event] = r
}

// check holds after every commit: bytes are canonical, every token is parked, and the rows are those of the snapshot.
func (i *instance) check() {
	i.w.t.Helper()
	s := i.snapshot()
	again, err := token.Encode(s)
	if err != nil || !bytes.Equal(again, i.data) {
		i.w.t.Fatalf("decode then encode changed the snapshot: %v", err)
	}
	for _, t := range s.Tokens {
		if t.State == 0 {
			i.w.t.Fatalf("token %d at %s is not parked", t.ID, t.Node)
		}
	}
	want := token.RowsOf(i.p.Process, i.p.Module, s)
	if len(want.Waits) != len(i.waits) || len(want.Tasks) != len(i.tasks) || len(want.Aliases) != len(i.aliases) {
		i.w.t.Fatalf("rows differ from the store: want %d waits, %d tasks, %d aliases; have %d, %d, %d", len(want.Waits), len(want.Tasks), len(want.Aliases), len(i.waits), len(i.tasks), len(i.aliases))
	}
	for _, x := range want.Waits {
		if i.waits[x.ID] != x {
			i.w.t.Fatalf("wait %d: the store has %+v, the snapshot gives %+v", x.ID, i.waits[x.ID], x)
		}
	}
	for _, x := range want.Tasks {
		if have := i.tasks[x.ID]; have.Wait != x.Wait || have.Topic != x.Topic {
			i.w.t.Fatalf("task %v: the store has %+v, the snapshot gives %+v", x.ID, have, x)
		}
	}
	for _, a := range want.Aliases {
		if !i.aliases[a] {
			i.w.t.Fatalf("alias %+v is not in the store", a)
		}
	}
}

func (i *instance) snapshot() *token.Snapshot {
	i.w.t.Helper()
	return snapshotOf(i.w.t, i.data)
}

func snapshotOf(t testing.TB, data []byte) *token.Snapshot {
	t.Helper()
	s, err := token.Decode(data)
	if err != nil {
		t.Fatalf("the committed snapshot cannot be read: %v", err)
	}
	return s
}

// waiting lists what the instance waits for: "task a, timer b".
func (i *instance) waiting() string {
	var out []string
	for _, x := range i.waits {
		out = append(out, string(x.Kind)+" "+x.Node)
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// at finds the oldest wait at a node.
func (i *instance) at(node string) ports.Wait {
	i.w.t.Helper()
	var found []ports.Wait
	for _, x := range i.waits {
		if x.Node == node {
			found = append(found, x)
		}
	}
	if len(found) == 0 {
		i.w.t.Fatalf("nothing waits at %s; waiting: %s; status %s %+v", node, i.waiting(), i.status, i.fault)
	}
	return slices.MinFunc(found, func(a, b ports.Wait) int { return int(a.ID - b.ID) })
}

// all gives the waits at a node, oldest first.
func (i *instance) all(node string) []ports.Wait {
	var found []ports.Wait
	for _, x := range i.waits {
		if x.Node == node {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b ports.Wait) int { return int(a.ID - b.ID) })
	return found
}

func (i *instance) complete(node, vars string) {
	i.w.t.Helper()
	i.applied(i.completion(node, vars))
}

func (i *instance) completion(node, vars string) step.Event {
	i.w.t.Helper()
	return step.Event{Kind: step.KindTaskDone, Wait: i.at(node).ID, Payload: value(i.w.t, vars)}
}

func (i *instance) applied(events ...step.Event) {
	i.w.t.Helper()
	for k, o := range i.drive(events...) {
		if o != step.Applied {
			i.w.t.Fatalf("event %d (%s) was %s: %+v", k, events[k].Kind, o, i.fault)
		}
	}
}

// fails drives one event that has to make the instance FAILED with this code.
func (i *instance) fails(code error, ev step.Event) {
	i.w.t.Helper()
	if got := i.drive(ev); got[0] != step.Failed {
		i.w.t.Fatalf("%s was %s, want failed with %s", ev.Kind, got[0], code)
	}
	i.isFailed(code)
}

func (i *instance) isFailed(code error) {
	i.w.t.Helper()
	if i.status != ports.Failed || i.fault == nil || i.fault.Code != code.Error() {
		i.w.t.Fatalf("status %s, fault %+v; want failed with %s", i.status, i.fault, code)
	}
}

func messageEvent(t testing.TB, name, key, payload string) step.Event {
	t.Helper()
	ev := step.Event{Kind: step.KindMessage, Name: ports.NewKey("message", name), Payload: value(t, payload)}
	if key != "" {
		ev.Match = ports.NewKey(key)
	}
	return ev
}

func (i *instance) message(name, key, payload string) step.Outcome {
	i.w.t.Helper()
	return i.drive(messageEvent(i.w.t, name, key, payload))[0]
}

func (i *instance) timerEvent(node string) step.Event {
	i.w.t.Helper()
	x := i.at(node)
	kind := step.KindTimer
	if x.Kind == ports.WaitRetry {
		kind = step.KindRetryDue
	}
	return step.Event{Kind: kind, Wait: x.ID, At: x.Due}
}

// fire moves the clock to the timer at a node and fires it.
func (i *instance) fire(node string) {
	i.w.t.Helper()
	ev := i.timerEvent(node)
	if ev.At.After(i.w.now) {
		i.w.now = ev.At
	}
	i.applied(ev)
}

// deliver hands out pending deliveries until none is left.
func (w *world) deliver() {
	w.t.Helper()
	for len(w.pending) > 0 {
		m := w.pending[0]
		w.pending = w.pending[1:]
		w.deliverOne(m)
	}
}

func (w *world) deliverOne(m ports.Message) {
	w.t.Helper()
	if w.dead[m.Event] {
		return
	}
	switch m.Kind {
	case ports.KindSignal:
		w.fanOut(m)
		return
	case ports.KindMessage:
		return
	}
	ev, err := step.EventOf(m)
	if err != nil {
		w.t.Fatal(err)
	}
	if m.Kind == ports.KindChildStart {
		w.startAs(m.Target, ev.Process, ev)
		return
	}
	if i := w.instances[m.Target]; i != nil {
		i.drive(ev)
	}
}

// fanOut delivers a signal to every wait that there is.
func (w *world) fanOut(m ports.Message) {
	for _, i := range w.order {
		var ids []ports.WaitID
		for _, x := range i.waits {
			if x.Kind == ports.WaitSignal && x.Name == m.Name {
				ids = append(ids, x.ID)
			}
		}
		slices.Sort(ids)
		ev, err := step.EventOf(ports.Message{Kind: ports.KindSignalled, Source: m.Source, Payload: m.Payload, Accepted: w.now})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, id := range ids {
			ev.Wait = id
			i.drive(ev)
		}
	}
}

// child is the n-th instance started, from 0.
func (w *world) nth(n int) *instance { w.t.Helper(); return w.order[n] }

func (i *instance) variable(name string) string {
	for _, c := range i.snapshot().Scopes {
		if v, ok := c.Variables[name]; ok && c.Kind == token.ProcessScope {
			data, err := feel.ToJSON(v)
			if err != nil {
				i.w.t.Fatal(err)
			}
			return string(data)
		}
	}
	return ""
}

// stands says what an instance waits for, or how it ended.
func (i *instance) stands() string {
	if i.status != ports.Suspended {
		return string(i.status)
	}
	return i.waiting()
}

// want compares what an instance waits for, or how it ended.
func (i *instance) want(expected string) {
	i.w.t.Helper()
	if got := i.stands(); got != expected {
		i.w.t.Fatalf("got %q, want %q (fault %+v)\nhistory of the last step: %s", got, expected, i.fault, i.lastHistory())
	}
}

func (i *instance) lastHistory() string {
	switch {
	case i.last.Commit != nil:
		return string(i.last.Commit.History)
	case i.last.Start != nil:
		return string(i.last.Start.History)
	}
	return ""
}

func value(t testing.TB, text string) feel.Value {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := feel.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func time10(n int) time.Duration { return time.Duration(n) * 10 * time.Minute }

// json shows one entry of a JSON object.
func json(t testing.TB, object, name string) string {
	t.Helper()
	entries, _ := value(t, object).(feel.Context)
	data, err := feel.ToJSON(entries[name])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func time10At() time.Time { return time.Date(2026, 1, 1, 0, 10, 0, 1000, time.UTC) }
