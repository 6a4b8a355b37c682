package step_test

import (
	encoding "encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
)

// A block is a piece of a random model. The oracle knows what blocks mean without tokens: it plays them as a tree.
type block struct {
	kind  string // task, pass, send, catch, seq, par, xor, inc, sub, multi, serial, loop, guard, side, term, err, beside, instead
	id    string
	parts []*block
	taken []bool // xor, inc: which branches
	times int    // multi, serial, loop
}

// grow makes a random block.
func grow(r *rand.Rand, depth int, next *int) *block {
	*next++
	b := &block{id: fmt.Sprintf("n%d", *next), kind: "task"}
	if depth == 0 || *next > 40 {
		b.kind = []string{"task", "task", "pass", "send", "catch"}[r.IntN(5)]
		return b
	}
	b.kind = []string{"task", "seq", "seq", "par", "xor", "inc", "sub", "multi", "serial", "loop", "guard", "side", "term", "err", "beside", "instead"}[r.IntN(16)]
	parts := 1
	switch b.kind {
	case "task":
		parts = 0
	case "seq", "par", "xor", "inc":
		parts = 2 + r.IntN(2)
	case "guard", "side", "err", "beside", "instead":
		parts = 2 // what is guarded, and the handler
	case "multi", "serial", "loop":
		b.times = 1 + r.IntN(3)
	}
	for range parts {
		b.parts = append(b.parts, grow(r, depth-1, next))
		b.taken = append(b.taken, r.IntN(2) == 0)
	}
	switch b.kind {
	case "xor":
		first := r.IntN(parts)
		for i := range b.taken {
			b.taken[i] = i == first
		}
	case "inc":
		b.taken[r.IntN(parts)] = true
	}
	return b
}

// draw writes the block as BPMN between two nodes, and answers its XML.
func (b *block) draw(from, to string) string {
	ending := func(how string, more ...string) string {
		return sub(b.id, append([]string{start(b.id + "s"), b.parts[0].draw(b.id+"s", b.id+"e"), end(b.id+"e", how)}, more...)...)
	}
	inner := func(more ...string) string { return ending("", more...) }
	switch b.kind {
	case "task":
		return worker(b.id) + path(from, b.id, to)
	case "pass":
		return pass(b.id) + path(from, b.id, to)
	case "send":
		return el("sendTask", b.id, send("out")) + path(from, b.id, to)
	case "catch":
		return catch(b.id, message("m1")) + path(from, b.id, to)
	case "seq":
		var out strings.Builder
		for i, p := range b.parts {
			at, then := from, to
			if i > 0 {
				at = fmt.Sprintf("%sj%d", b.id, i)
			}
			if i < len(b.parts)-1 {
				then = fmt.Sprintf("%sj%d", b.id, i+1)
				out.WriteString(pass(then))
			}
			out.WriteString(p.draw(at, then))
		}
		return out.String()
	case "par", "xor", "inc":
		return b.drawGateway(from, to)
	case "multi":
		return inner(multi("", over(fmt.Sprintf("for i in 1..%d return i", b.times), "item"))) + path(from, b.id, to)
	case "serial":
		return inner(multi(`isSequential="true"`, over(fmt.Sprintf("for i in 1..%d return i", b.times), "item"))) + path(from, b.id, to)
	case "loop":
		return inner(fmt.Sprintf(`<standardLoopCharacteristics loopMaximum="%d"/>`, b.times)) + path(from, b.id, to)
	case "guard", "side":
		event := boundary(b.id+"b", b.id, after("PT1H"))
		if b.kind == "side" {
			event = boundaryOn(b.id+"b", b.id, after("PT1H"))
		}
		out := inner() + event + pass(b.id+"x") + pass(b.id+"h") + path(b.id, b.id+"x", to)
		if b.kind == "guard" {
			return out + path(from, b.id) + path(b.id+"b", b.id+"h") + b.parts[1].draw(b.id+"h", b.id+"x")
		}
		return out + path(from, b.id) + path(b.id+"b", b.id+"h") + end(b.id+"z") + b.parts[1].draw(b.id+"h", b.id+"z")
	case "term":
		return ending(terminate()) + path(from, b.id, to)
	case "err":
		return ending(errorDef("e1")) + boundary(b.id+"c", b.id, errorDef("e1")) + pass(b.id+"x") + pass(b.id+"h") + path(from, b.id, b.id+"x", to) + path(b.id+"c", b.id+"h") +
			b.parts[1].draw(b.id+"h", b.id+"x")
	case "beside", "instead":
		begin := start
		if b.kind == "beside" {
			begin = startOn
		}
		return inner(eventSub(b.id+"v", begin(b.id+"b", after("PT1H")), b.parts[1].draw(b.id+"b", b.id+"z"), end(b.id+"z"))) + path(from, b.id, to)
	default: // sub
		return inner() + path(from, b.id, to)
	}
}

func (b *block) drawGateway(from, to string) string {
	kind := map[string]string{"par": "parallelGateway", "xor": "exclusiveGateway", "inc": "inclusiveGateway"}[b.kind]
	split, join := b.id+"f", b.id+"j"
	out := el(kind, split) + el(kind, join) + path(from, split) + path(join, to)
	for i, p := range b.parts {
		at := fmt.Sprintf("%sb%d", b.id, i)
		out += pass(at) + p.draw(at, join)
		if b.kind == "par" {
			out += path(split, at)
		} else {
			out += pathIf(split, at, fmt.Sprint(b.taken[i]))
		}
	}
	return out
}

// play is a block that runs, as the oracle sees it: a tree of what has begun, without tokens.
type play struct {
	b     *block
	scope *play // the sub-process it runs in
	stamp int   // age
	kids  []*play
	sides []*play // of a sub-process: handlers of non-interrupting events
	event *play   // of a sub-process: its event sub-process, when that runs
	fired bool    // guard, side: its event has happened
	done  bool
}

type oracle struct{ stamp int }

func (o *oracle) begin(b *block, scope *play) *play {
	o.stamp++
	return &play{b: b, scope: scope, stamp: o.stamp}
}

// inside is a block's first part as a sub-process of its own.
func (b *block) inside() *block { return &block{kind: "sub", parts: b.parts} }

// cut is the inside of a block that ends by killing what still runs in it.
func (b *block) cut() *block { return &block{kind: "cut", parts: b.parts} }

// tick lets everything go on that can, and says whether the block's flow has gone on.
func (o *oracle) tick(p *play) bool {
	if p.done {
		return true
	}
	b := p.b
	switch b.kind {
	case "task", "catch":
		return false
	case "pass", "send":
		p.done = true
	case "seq":
		p.done = o.series(p, len(b.parts), func(i int) *block { return b.parts[i] })
	case "serial", "loop":
		p.done = o.series(p, b.times, func(int) *block { return b.inside() })
	case "multi":
		for len(p.kids) < b.times {
			p.kids = append(p.kids, o.begin(b.inside(), p.scope))
		}
		p.done = o.all(p.kids)
	case "par", "xor", "inc":
		for i, part := range b.parts {
			if !p.fired && (b.kind == "par" || b.taken[i]) {
				p.kids = append(p.kids, o.begin(part, p.scope))
			}
		}
		p.fired = true
		p.done = o.all(p.kids)
	case "sub":
		event := p.event == nil || o.tick(p.event)
		p.done = o.outside(p) && event
	case "cut":
		main := o.series(p, 1, func(int) *block { return b.parts[0] }, p)
		o.all(p.sides)
		if main {
			p.kill()
		}
	case "term", "beside", "instead":
		inside := b.inside
		if b.kind == "term" {
			inside = b.cut
		}
		p.done = o.series(p, 1, func(int) *block { return inside() })
	case "err":
		p.done = o.series(p, 2, func(i int) *block { return []*block{b.cut(), b.parts[1]}[i] })
	case "guard":
		if !p.fired {
			p.done = o.series(p, 1, func(int) *block { return b.inside() })
		} else {
			p.done = o.series(p, 2, func(int) *block { return b.parts[1] })
		}
	case "side":
		p.done = o.series(p, 1, func(int) *block { return b.inside() })
	}
	return p.done
}

// outside lets what stands outside event sub-processes go on; true: it is all gone, and no event sub-process starts any more.
func (o *oracle) outside(p *play) bool {
	main := o.series(p, 1, func(int) *block { return p.b.parts[0] }, p)
	return o.all(p.sides) && main
}

// series runs one after the other.
func (o *oracle) series(p *play, n int, part func(i int) *block, scope ...*play) bool {
	in := p.scope
	if len(scope) > 0 {
		in = scope[0]
	}
	for i := range n {
		if len(p.kids) == i {
			p.kids = append(p.kids, o.begin(part(i), in))
		}
		if !o.tick(p.kids[i]) {
			return false
		}
	}
	return true
}

func (o *oracle) all(plays []*play) bool {
	done := true
	for _, p := range plays {
		done = o.tick(p) && done
	}
	return done
}

// fire lets the event of a guard or side happen.
func (o *oracle) fire(p *play) {
	p.fired = true
	switch p.b.kind {
	case "guard":
		p.kids[0].kill()
	case "side":
		p.scope.sides = append(p.scope.sides, o.begin(p.b.parts[1], p.scope))
	default:
		inner := p.kids[0]
		if p.b.kind == "instead" {
			for _, k := range append(inner.kids, inner.sides...) {
				k.kill()
			}
		}
		inner.event = o.begin(&block{kind: "sub", parts: p.b.parts[1:]}, inner)
	}
}

func (p *play) kill() {
	p.done = true
	for _, k := range p.all() {
		k.kill()
	}
}

// all are the plays inside one.
func (p *play) all() []*play {
	inside := slices.Concat(p.kids, p.sides)
	if p.event != nil {
		inside = append(inside, p.event)
	}
	return inside
}

// listens says that the event of the block can still happen.
func (p *play) listens() bool {
	switch p.b.kind {
	case "guard", "side":
		return !p.fired && !p.done
	case "beside", "instead":
		return !p.fired && !p.done && len(p.kids) > 0 && p.kids[0].busy()
	}
	return false
}

// busy says that something outside event sub-processes still runs in a scope.
func (p *play) busy() bool {
	return slices.ContainsFunc(slices.Concat(p.kids, p.sides), func(k *play) bool { return !k.done })
}

// waits says that the block is a wait of its own.
func (b *block) waits() bool { return b.kind == "task" || b.kind == "catch" }

// open gathers what waits, by the node where it waits.
func (p *play) open(into map[string][]*play) {
	if p.done && p.b.kind != "side" {
		return
	}
	switch {
	case p.b.waits():
		into[p.b.id] = append(into[p.b.id], p)
	case p.listens():
		into[p.b.id+"b"] = append(into[p.b.id+"b"], p)
	}
	for _, k := range p.all() {
		k.open(into)
	}
}

func waitingOf(into map[string][]*play) string {
	var out []string
	for id, plays := range into {
		kind := "task "
		if strings.HasSuffix(id, "b") {
			kind = "timer "
		} else if plays[0].b.kind == "catch" {
			kind = "message "
		}
		for range plays {
			out = append(out, kind+id)
		}
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// Every random model does what the oracle says after every step, with a restart between any two of them: one event a step, or two folded.
// All its events folded into one step without a restart do the same things in the same order, and end the same.
// SUTRA_SEEDS says how many models, as SUTRA_SEEDS=10000.
func TestRestartAtEveryCommitChangesNothing(t *testing.T) {
	models, shards := seeds(t), uint64(runtime.GOMAXPROCS(0))
	var steps, played atomic.Int64
	t.Cleanup(func() { t.Logf("%d models, %d steps", played.Load(), steps.Load()) })
	for shard := range shards {
		t.Run(fmt.Sprint("shard", shard), func(t *testing.T) {
			t.Parallel()
			seed := shard
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("it was seed %d", seed)
				}
			})
			for ; seed < models; seed += shards {
				steps.Add(int64(playModel(t, seed)))
				played.Add(1)
			}
		})
	}
}

func seeds(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("SUTRA_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatalf("SUTRA_SEEDS=%q is no number of models", text)
		}
		return n
	}
	if testing.Short() {
		return 50
	}
	return 200
}

// playModel plays one random model to its end, and says in how many steps.
func playModel(t *testing.T, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	next := 0
	b := &block{kind: "sub", id: "root", parts: []*block{grow(r, 5, &next)}}
	xml := process(start("s"), b.parts[0].draw("s", "e"), end("e"))
	w := newWorld(t, xml)
	o := &oracle{}
	root := o.begin(b, nil)
	o.tick(root)
	i := w.start("")
	whole := uninterrupted{begun: i.data, sent: len(w.emitted)}
	for n := 0; !root.done; n++ {
		open := map[string][]*play{}
		root.open(open)
		if got, want := i.waiting(), waitingOf(open); got != want {
			t.Fatalf("seed %d, after %d steps: the engine waits for\n%s\nthe oracle for\n%s\nmodel:\n%s", seed, n, got, want, xml)
		}
		events := o.play(r, root, pair(i, open))
		for k := range events {
			events[k].From = step.Source{Instance: i.ref.ID, Step: int64(n + 1), Ordinal: k + 1} // in this order
		}
		i.applied(events...)
		whole.events, whole.did = append(whole.events, events...), append(whole.did, things(t, i.lastHistory())...)
		if n > 2000 {
			t.Fatalf("seed %d does not end", seed)
		}
	}
	i.want("completed")
	if len(whole.events) > 0 {
		whole.compare(t, i)
	}
	return w.steps
}

// play lets one event happen, or two, and answers them for the engine to take in one step.
func (o *oracle) play(r *rand.Rand, root *play, waits map[*play]ports.WaitID) []step.Event {
	var events []step.Event
	for range 1 + r.IntN(2) {
		p := pick(r, waits, root)
		if p == nil {
			break
		}
		kind := step.KindTaskDone
		switch {
		case p.b.kind == "catch":
			kind = step.KindMessage
			p.done = true
		case p.b.waits():
			p.done = true
		default:
			kind = step.KindTimer
			o.fire(p)
		}
		events = append(events, step.Event{Kind: kind, Wait: waits[p]})
		delete(waits, p)
		o.tick(root)
	}
	return events
}

// uninterrupted is what happened to an instance since it began, to be done again in one step without a restart.
type uninterrupted struct {
	begun  []byte
	sent   int // emissions before
	events []step.Event
	did    []string
}

func (u *uninterrupted) compare(t *testing.T, i *instance) {
	t.Helper()
	claimed := step.Claimed{Claim: ports.Claim{Ref: i.ref, Owner: "r/1", Epoch: 1}, Row: ports.Instance{Ref: i.ref, Snapshot: u.begun}, Step: i.w.stepID(), At: i.w.now}
	got := step.Resume(i.p, claimed, u.events)
	if got.Err != nil || got.Commit == nil || got.Commit.Status != i.status {
		t.Fatalf("without a restart it ends as %+v, with restarts %s", got, i.status)
	}
	if did := things(t, string(got.Commit.History)); len(u.did) <= 1000 && !slices.Equal(did, u.did) { // a history lists 1,000 things
		t.Fatalf("without a restart it did\n%s\nwith restarts\n%s", strings.Join(did, "\n"), strings.Join(u.did, "\n"))
	}
	sent, with := got.Commit.Outbox, i.w.emitted[u.sent:]
	same := func(a, b ports.Emission) bool {
		return a.Destination == b.Destination && string(a.Body) == string(b.Body)
	}
	if !slices.EqualFunc(sent, with, same) {
		t.Fatalf("without a restart it sent %+v, with restarts %+v", sent, with)
	}
	after, before := snapshotOf(t, got.Commit.Snapshot), i.snapshot()
	if after.Step, before.Step = 0, 0; !reflect.DeepEqual(after, before) { // steps are counted, and there were fewer
		t.Fatalf("without a restart it ended with %+v, with restarts with %+v", after, before)
	}
}

// things lists what a history document says was done.
func things(t *testing.T, document string) []string {
	t.Helper()
	var history struct{ Did []encoding.RawMessage }
	if err := encoding.Unmarshal([]byte(document), &history); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(history.Did))
	for i, did := range history.Did {
		out[i] = string(did)
	}
	return out
}

// pair finds the wait of everything that the oracle says waits: at one node, by age.
func pair(i *instance, open map[string][]*play) map[*play]ports.WaitID {
	waits := map[*play]ports.WaitID{}
	for id, plays := range open {
		slices.SortFunc(plays, func(a, b *play) int { return a.stamp - b.stamp })
		for n, x := range i.all(id) {
			waits[plays[n]] = x.ID
		}
	}
	return waits
}

// pick chooses one of the waits that are still there.
func pick(r *rand.Rand, waits map[*play]ports.WaitID, root *play) *play {
	open := map[string][]*play{}
	root.open(open)
	var still []*play
	for _, plays := range open {
		for _, p := range plays {
			if waits[p] != 0 {
				still = append(still, p)
			}
		}
	}
	if len(still) == 0 {
		return nil
	}
	slices.SortFunc(still, func(a, b *play) int { return a.stamp - b.stamp })
	return still[r.IntN(len(still))]
}
