package migrate_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/migrate"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// world is one instance between two revisions. Between any two steps it exists as bytes alone.
type world struct {
	*testing.T
	program *step.Program
	data    []byte
	status  ports.Status
	now     time.Time
	steps   int
	last    *ports.Step
	notes   []string
}

var channels = map[string]channel.Channel{
	"orders": {Name: "orders", Transport: channel.HTTP}, "letters": {Name: "letters", Transport: channel.HTTP},
	"out": {Name: "out", Transport: channel.HTTP, URL: "http://out"}, "near": {Name: "near", Transport: channel.Local}, "pull": {Name: "pull", Transport: channel.Pull},
}

// read compiles the parts of the process "p" as a revision.
func read(t *testing.T, revision string, parts ...string) *step.Program {
	t.Helper()
	xml := `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
<message id="m1" name="m1"/><message id="m2" name="m2"/><signal id="s1" name="s1"/><signal id="s2" name="s2"/><error id="e1" errorCode="E1"/>
<message id="keyed" name="keyed"><extensionElements><zeebe:subscription correlationKey="=key"/></extensionElements></message>
<message id="keyed2" name="keyed"><extensionElements><zeebe:subscription correlationKey="=other"/></extensionElements></message>
<process id="p" isExecutable="true">` + strings.Join(parts, "\n") + `</process>
<process id="child" isExecutable="true"><startEvent id="cs"/>` + path("cs", "cw") + task("cw") + `</process></definitions>`
	model, findings := bpmn.Read("test.bpmn", []byte(xml), bpmn.Limits{})
	if model == nil {
		t.Fatal(findings)
	}
	processes := map[string]*bpmn.Process{}
	for _, p := range model.Processes {
		processes[p.ID] = p
	}
	return &step.Program{Deployment: ports.DeploymentID(revision), Module: "mod", Process: processes["p"], Processes: processes, Channels: channels}
}

func path(ids ...string) string {
	var b strings.Builder
	for i := 1; i < len(ids); i++ {
		fmt.Fprintf(&b, `<sequenceFlow id="%s-%s" sourceRef="%s" targetRef="%s"/>`, ids[i-1], ids[i], ids[i-1], ids[i])
	}
	return b.String()
}

func el(kind, id string, inside ...string) string {
	return fmt.Sprintf(`<%s id="%s">%s</%s>`, kind, id, strings.Join(inside, ""), strings.Fields(kind)[0])
}

// with is el with attributes.
func with(kind, id, attributes string, inside ...string) string {
	return fmt.Sprintf(`<%s id="%s" %s>%s</%s>`, kind, id, attributes, strings.Join(inside, ""), kind)
}

func ext(inside ...string) string {
	return "<extensionElements>" + strings.Join(inside, "") + "</extensionElements>"
}

// task is an external task on the topic of its id.
func task(id string, inside ...string) string { return taskOn(id, id, inside...) }

func taskOn(id, topic string, inside ...string) string {
	return el("serviceTask", id, ext(`<zeebe:taskDefinition type="`+topic+`"/>`)+strings.Join(inside, ""))
}

func start(inside ...string) string { return el("startEvent", "s", inside...) }
func end() string                   { return el("endEvent", "e") }

func onMessage(ref string) string { return `<messageEventDefinition messageRef="` + ref + `"/>` }
func onSignal(ref string) string  { return `<signalEventDefinition signalRef="` + ref + `"/>` }
func after(duration string) string {
	return `<timerEventDefinition><timeDuration>` + duration + `</timeDuration></timerEventDefinition>`
}

func when(condition string) string {
	return `<conditionalEventDefinition><condition>` + condition + `</condition></conditionalEventDefinition>`
}

func boundary(id, host string, inside ...string) string {
	return with("boundaryEvent", id, `attachedToRef="`+host+`"`, inside...)
}

// undoing is a compensation handler with its boundary event.
func undoing(host string) string {
	return boundary("b_"+host, host, `<compensateEventDefinition/>`) +
		with("serviceTask", "undo_"+host, `isForCompensation="true"`, ext(`<zeebe:taskDefinition type="undo"/>`)) +
		fmt.Sprintf(`<association id="a_%s" sourceRef="b_%s" targetRef="undo_%s"/>`, host, host, host)
}

func catching(id string, inside ...string) string {
	return el("intermediateCatchEvent", id, inside...)
}

// started is an instance of the old revision.
func started(t *testing.T, variables string, parts ...string) *world {
	t.Helper()
	w := &world{T: t, program: read(t, "old", parts...), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	res := step.New(w.program, step.Begin{Ref: w.ref(), Step: w.id(), Event: step.Event{Kind: step.KindStart, At: w.now, Payload: value(t, variables)}})
	if res.Err != nil || res.Start == nil {
		t.Fatalf("start: %+v", res)
	}
	w.data, w.status = res.Start.Snapshot, res.Start.Status
	return w
}

func value(t *testing.T, text string) feel.Value {
	t.Helper()
	v, err := feel.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *world) ref() ports.Ref { return ports.Ref{Tenant: "t", ID: ports.ID{1}} }

func (w *world) id() ports.StepID {
	w.steps++
	return ports.ID{0, 2, byte(w.steps)}
}

func (w *world) claimed() step.Claimed {
	return step.Claimed{
		Claim: ports.Claim{Ref: w.ref(), Owner: "r/operator/1", Epoch: 1}, Row: ports.Instance{Ref: w.ref(), Snapshot: w.data, Status: w.status}, Step: w.id(), At: w.now,
	}
}

func (w *world) snapshot() *token.Snapshot {
	w.Helper()
	s, err := token.Decode(w.data)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// at finds the oldest wait at a node.
func (w *world) at(node string) token.Wait {
	w.Helper()
	for _, x := range w.snapshot().Waits {
		if x.Node == node {
			return x
		}
	}
	w.Fatalf("nothing waits at %s; waiting: %s", node, w.waiting())
	return token.Wait{}
}

// waiting lists what is waited for: "task a, timer b".
func (w *world) waiting() string {
	if w.status != ports.Suspended {
		return string(w.status)
	}
	var out []string
	for _, x := range w.snapshot().Waits {
		out = append(out, string(x.Kind)+" "+x.Node)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (w *world) want(expected string) {
	w.Helper()
	if got := w.waiting(); got != expected {
		w.Fatalf("got %q, want %q; failure %+v", got, expected, w.snapshot().Failure)
	}
}

func (w *world) drive(ev step.Event) step.Outcome {
	w.Helper()
	if ev.At.IsZero() {
		ev.At = w.now
	}
	res := step.Resume(w.program, w.claimed(), []step.Event{ev})
	if res.Err != nil {
		w.Fatal(res.Err)
	}
	if res.Commit != nil {
		w.data, w.status, w.last = res.Commit.Snapshot, res.Commit.Status, res.Commit
	}
	return res.Outcomes[0]
}

// do completes the task at a node.
func (w *world) do(node string) {
	w.Helper()
	w.applied(step.Event{Kind: step.KindTaskDone, Wait: ports.WaitID(w.at(node).ID)})
}

func (w *world) applied(ev step.Event) {
	w.Helper()
	if got := w.drive(ev); got != step.Applied {
		w.Fatalf("%s was %s: %+v", ev.Kind, got, w.snapshot().Failure)
	}
}

func message(t *testing.T, name, key, payload string) step.Event {
	t.Helper()
	ev := step.Event{Kind: step.KindMessage, Name: ports.NewKey("message", name), Payload: value(t, payload)}
	if key != "" {
		ev.Match = ports.NewKey(key)
	}
	return ev
}

// consistent checks that the rows a step writes are the difference of what they were and what the new snapshot gives.
func (w *world) consistent(from *step.Program, before *token.Snapshot, st *ports.Step) {
	w.Helper()
	rows := map[ports.WaitID]ports.Wait{}
	aliases := map[ports.Alias]bool{}
	for _, x := range token.RowsOf(from.Process, from.Module, before).Waits {
		rows[x.ID] = x
	}
	for _, a := range token.RowsOf(from.Process, from.Module, before).Aliases {
		aliases[a] = true
	}
	for _, id := range st.Drop.Waits {
		delete(rows, id)
	}
	for _, a := range st.Drop.Aliases {
		delete(aliases, a)
	}
	for _, x := range append(slices.Clone(st.Waits), st.Move.Waits...) {
		rows[x.ID] = x
	}
	for _, a := range st.Aliases {
		aliases[a] = true
	}
	want := token.RowsOf(w.program.Process, w.program.Module, w.snapshot())
	if len(want.Waits) != len(rows) || len(want.Aliases) != len(aliases) {
		w.Fatalf("rows: %v, want %v; aliases %v, want %v", rows, want.Waits, aliases, want.Aliases)
	}
	for _, x := range want.Waits {
		if rows[x.ID] != x {
			w.Fatalf("wait %d has the row %+v, want %+v", x.ID, rows[x.ID], x)
		}
	}
	for _, a := range want.Aliases {
		if !aliases[a] {
			w.Fatalf("alias %+v has no row", a)
		}
	}
}

// try asks for a migration and does not take it.
func (w *world) try(to *step.Program, plan migrate.Plan, facts migrate.Facts) migrate.Result {
	w.Helper()
	c := w.claimed()
	res, err := migrate.Instance(w.program, to, c, w.snapshot(), plan, facts)
	if err != nil {
		w.Fatal(err)
	}
	again, err := migrate.Instance(w.program, to, c, w.snapshot(), plan, facts)
	if err != nil || (again.Step == nil) != (res.Step == nil) || again.Step != nil && hex.EncodeToString(again.Step.Snapshot) != hex.EncodeToString(res.Step.Snapshot) {
		w.Fatalf("the same migration gave something else: %+v, %+v, %v", res, again, err)
	}
	if (res.Step == nil) == (len(res.Violations) == 0) {
		w.Fatalf("a step %v and %d violations", res.Step, len(res.Violations))
	}
	return res
}

// move takes the instance to another revision.
func (w *world) move(plan migrate.Plan, parts ...string) {
	w.Helper()
	to := read(w.T, "new", parts...)
	res := w.try(to, plan, migrate.Facts{})
	if f := res.Refused(); f != nil {
		w.Fatalf("refused: %v %v", f, f.All)
	}
	from, before := w.program, w.snapshot()
	w.program, w.data, w.status, w.last, w.notes = to, res.Step.Snapshot, res.Step.Status, res.Step, res.Notes
	if w.last.Move == nil || w.last.Move.To != "new" || w.last.Deployment != "old" || w.last.Seq != before.Step+1 || w.last.History == nil {
		w.Fatalf("the step %+v does not move", w.last)
	}
	w.consistent(from, before, w.last)
}

// refused wants these codes, one for each violation, in order of their names.
func (w *world) refused(plan migrate.Plan, facts migrate.Facts, codes []fault.Code, parts ...string) {
	w.Helper()
	res := w.try(read(w.T, "new", parts...), plan, facts)
	var got []fault.Code
	for _, v := range res.Violations {
		got = append(got, v.Code)
	}
	slices.Sort(got)
	if !slices.Equal(got, codes) {
		w.Fatalf("got %v, want %v: %v", got, codes, res.Violations)
	}
}
