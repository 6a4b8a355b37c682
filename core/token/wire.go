package token

import (
	"fmt"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// The wire records are the snapshot with integer keys, empty parts left out, and BPMN ids as places in one sorted table, from 1.
// A key, once released, keeps its meaning for ever.
type (
	wire struct {
		Names   []string      `cbor:"1,keyasint,omitempty"`
		Process uint          `cbor:"2,keyasint,omitempty"`
		Next    ID            `cbor:"3,keyasint,omitempty"`
		Step    int64         `cbor:"4,keyasint,omitempty"`
		Status  ports.Status  `cbor:"5,keyasint,omitempty"`
		Open    []wireOpen    `cbor:"6,keyasint,omitempty"`
		Parent  *wireParent   `cbor:"7,keyasint,omitempty"`
		Failure *wireFailure  `cbor:"8,keyasint,omitempty"`
		Scopes  []wireScope   `cbor:"9,keyasint,omitempty"`
		Tokens  []wireToken   `cbor:"10,keyasint,omitempty"`
		Waits   []wireWait    `cbor:"11,keyasint,omitempty"`
		Aliases []wireAlias   `cbor:"12,keyasint,omitempty"`
		Undoing []wireUndoing `cbor:"13,keyasint,omitempty"`
		Trace   ports.Trace   `cbor:"14,keyasint,omitempty"`
	}
	wireOpen struct {
		Channel string `cbor:"1,keyasint,omitempty"`
		Event   []byte `cbor:"2,keyasint,omitempty"`
		Mode    string `cbor:"3,keyasint,omitempty"`
	}
	wireParent struct {
		Instance []byte   `cbor:"1,keyasint,omitempty"`
		Wait     ID       `cbor:"2,keyasint,omitempty"`
		Root     []byte   `cbor:"3,keyasint,omitempty"`
		Depth    int      `cbor:"4,keyasint,omitempty"`
		Catches  []string `cbor:"5,keyasint,omitempty"`
		CatchAny bool     `cbor:"6,keyasint,omitempty"`
		Wants    []string `cbor:"7,keyasint,omitempty"`
		WantAll  bool     `cbor:"8,keyasint,omitempty"`
	}
	wireFailure struct {
		Code   string   `cbor:"1,keyasint,omitempty"`
		Detail string   `cbor:"2,keyasint,omitempty"`
		Node   string   `cbor:"3,keyasint,omitempty"`
		Trace  []string `cbor:"4,keyasint,omitempty"`
		Event  []byte   `cbor:"5,keyasint,omitempty"`
	}
	wireScope struct {
		ID          ID               `cbor:"1,keyasint,omitempty"`
		Parent      ID               `cbor:"2,keyasint,omitempty"`
		Node        uint             `cbor:"3,keyasint,omitempty"`
		Kind        uint8            `cbor:"4,keyasint,omitempty"`
		Variables   map[string]boxed `cbor:"5,keyasint,omitempty"`
		Interrupted bool             `cbor:"6,keyasint,omitempty"`
		Body        *wireBody        `cbor:"7,keyasint,omitempty"`
		Log         []wireEntry      `cbor:"8,keyasint,omitempty"`
		Gates       []wireGate       `cbor:"9,keyasint,omitempty"`
		ToStart     []uint           `cbor:"10,keyasint,omitempty"`
	}
	wireBody struct {
		Sequential bool         `cbor:"1,keyasint,omitempty"`
		Total      int64        `cbor:"2,keyasint,omitempty"`
		Next       int64        `cbor:"3,keyasint,omitempty"`
		Completed  int64        `cbor:"4,keyasint,omitempty"`
		Terminated int64        `cbor:"5,keyasint,omitempty"`
		Items      []boxed      `cbor:"6,keyasint,omitempty"`
		Results    []wireResult `cbor:"7,keyasint,omitempty"`
	}
	wireResult struct {
		Index int64 `cbor:"1,keyasint,omitempty"`
		Value boxed `cbor:"2,keyasint"`
	}
	wireGate struct {
		Node     uint   `cbor:"1,keyasint,omitempty"`
		Consumed []uint `cbor:"2,keyasint,omitempty"`
	}
	wireToken struct {
		ID    ID    `cbor:"1,keyasint,omitempty"`
		Scope ID    `cbor:"2,keyasint,omitempty"`
		Node  uint  `cbor:"3,keyasint,omitempty"`
		Flow  uint  `cbor:"4,keyasint,omitempty"`
		State uint8 `cbor:"5,keyasint,omitempty"`
		Inner ID    `cbor:"6,keyasint,omitempty"`
		Undo  ID    `cbor:"7,keyasint,omitempty"`
		Tries int64 `cbor:"8,keyasint,omitempty"`
	}
	wireWait struct {
		ID      ID               `cbor:"1,keyasint,omitempty"`
		Token   ID               `cbor:"2,keyasint,omitempty"`
		Scope   ID               `cbor:"3,keyasint,omitempty"`
		Node    uint             `cbor:"4,keyasint,omitempty"`
		Kind    uint8            `cbor:"5,keyasint,omitempty"`
		Group   ID               `cbor:"6,keyasint,omitempty"`
		Name    string           `cbor:"7,keyasint,omitempty"`
		Due     *int64           `cbor:"8,keyasint,omitempty"`
		Anchor  *int64           `cbor:"9,keyasint,omitempty"`
		Period  string           `cbor:"10,keyasint,omitempty"`
		Fired   int64            `cbor:"11,keyasint,omitempty"`
		Left    int64            `cbor:"12,keyasint,omitempty"`
		Topic   string           `cbor:"13,keyasint,omitempty"`
		Task    []byte           `cbor:"14,keyasint,omitempty"`
		Retries int64            `cbor:"15,keyasint,omitempty"`
		Headers map[string]boxed `cbor:"16,keyasint,omitempty"`
		Child   []byte           `cbor:"17,keyasint,omitempty"`
		Attempt int64            `cbor:"18,keyasint,omitempty"`
		Truth   bool             `cbor:"19,keyasint,omitempty"`
		Trace   ports.Trace      `cbor:"20,keyasint,omitempty"`
	}
	wireAlias struct {
		Name   string `cbor:"1,keyasint,omitempty"`
		Value  string `cbor:"2,keyasint,omitempty"`
		Unique bool   `cbor:"3,keyasint,omitempty"`
		Scope  ID     `cbor:"4,keyasint,omitempty"`
		Wait   ID     `cbor:"5,keyasint,omitempty"`
	}
	wireEntry struct {
		Node      uint             `cbor:"1,keyasint,omitempty"`
		Kind      uint8            `cbor:"2,keyasint,omitempty"`
		Variables map[string]boxed `cbor:"3,keyasint,omitempty"`
		Together  bool             `cbor:"4,keyasint,omitempty"`
		Log       []wireEntry      `cbor:"5,keyasint,omitempty"`
	}
	wireUndoing struct {
		ID       ID          `cbor:"1,keyasint,omitempty"`
		Scope    ID          `cbor:"2,keyasint,omitempty"`
		Token    ID          `cbor:"3,keyasint,omitempty"`
		Together bool        `cbor:"4,keyasint,omitempty"`
		Left     []wireEntry `cbor:"5,keyasint,omitempty"`
	}
)

// waitKinds numbers the kinds of waits; a number, once released, keeps its meaning.
var waitKinds = []ports.WaitKind{
	"", ports.WaitMessage, ports.WaitSignal, ports.WaitTimer, ports.WaitTask, ports.WaitCall, ports.WaitRetry, Condition,
}

// wiring writes a wire record: it gives BPMN ids their places, and boxes values. The first trouble stays.
type wiring struct {
	names []string
	err   error
}

func (w *wiring) place(name string) uint {
	if name == "" {
		return 0
	}
	i, _ := slices.BinarySearch(w.names, name)
	return uint(i) + 1
}

func (w *wiring) places(list []string) []uint {
	var out []uint
	for _, name := range list {
		out = append(out, w.place(name))
	}
	return out
}

func (w *wiring) value(v feel.Value) boxed {
	b, err := box(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	return b
}

func (w *wiring) values(c feel.Context) map[string]boxed {
	if len(c) == 0 {
		return nil
	}
	out := make(map[string]boxed, len(c))
	for k, v := range c {
		out[k] = w.value(v)
	}
	return out
}

// namesOf gathers every BPMN id in a snapshot, sorted.
func namesOf(s *Snapshot) []string {
	all := append(make([]string, 0, 1+len(s.Scopes)+2*len(s.Tokens)+len(s.Waits)), s.Process)
	var entries func(log []Entry)
	entries = func(log []Entry) {
		for _, e := range log {
			all = append(all, e.Node)
			entries(e.Log)
		}
	}
	for _, c := range s.Scopes {
		all = append(append(all, c.Node), c.ToStart...)
		entries(c.Log)
		for _, g := range c.Gates {
			all = append(append(all, g.Node), g.Consumed...)
		}
	}
	for _, t := range s.Tokens {
		all = append(all, t.Node, t.Flow)
	}
	for _, w := range s.Waits {
		all = append(all, w.Node)
	}
	for _, u := range s.Undoing {
		entries(u.Left)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 0 && all[0] == "" {
		all = all[1:]
	}
	return all
}

func wireOf(s *Snapshot) (*wire, error) {
	w := wiring{names: namesOf(s)}
	out := &wire{
		Names: w.names, Process: w.place(s.Process), Next: s.Next, Step: s.Step, Status: s.Status,
		Parent: wireParentOf(s.Parent), Failure: (*wireFailure)(s.Failure), Trace: s.Trace,
		Scopes: make([]wireScope, len(s.Scopes)), Tokens: make([]wireToken, len(s.Tokens)), Waits: make([]wireWait, len(s.Waits)),
	}
	for _, o := range s.Open {
		out.Open = append(out.Open, wireOpen{o.Channel, o.Event[:], o.Mode})
	}
	for i, c := range s.Scopes {
		out.Scopes[i] = wireScope{
			ID: c.ID, Parent: c.Parent, Node: w.place(c.Node), Kind: uint8(c.Kind), Variables: w.values(c.Variables),
			Interrupted: c.Interrupted, Body: w.body(c.Body), Log: w.entries(c.Log), Gates: w.gates(c.Gates), ToStart: w.places(c.ToStart),
		}
	}
	for i, t := range s.Tokens {
		out.Tokens[i] = wireToken{t.ID, t.Scope, w.place(t.Node), w.place(t.Flow), uint8(t.State), t.Inner, t.Undo, t.Tries}
	}
	for i := range s.Waits {
		out.Waits[i] = w.wait(&s.Waits[i])
	}
	for _, a := range s.Aliases {
		out.Aliases = append(out.Aliases, wireAlias(a))
	}
	for _, u := range s.Undoing {
		out.Undoing = append(out.Undoing, wireUndoing{u.ID, u.Scope, u.Token, u.Together, w.entries(u.Left)})
	}
	return out, w.err
}

func (w *wiring) wait(x *Wait) wireWait {
	kind := slices.Index(waitKinds, x.Kind)
	if kind < 1 && w.err == nil {
		w.err = fmt.Errorf("a wait of kind %q cannot be stored", x.Kind)
	}
	return wireWait{
		ID: x.ID, Token: x.Token, Scope: x.Scope, Node: w.place(x.Node), Kind: uint8(max(kind, 0)), Group: x.Group, Name: x.Name,
		Due: micros(x.Due), Anchor: micros(x.Anchor), Period: x.Period, Fired: x.Fired, Left: x.Left, Topic: x.Topic,
		Task: idBytes(x.Task), Retries: x.Retries, Headers: w.values(x.Headers), Child: idBytes(x.Child), Attempt: x.Attempt, Truth: x.Truth,
		Trace: x.Trace,
	}
}

func wireParentOf(p *Parent) *wireParent {
	if p == nil {
		return nil
	}
	return &wireParent{idBytes(p.Instance), p.Wait, idBytes(p.Root), p.Depth, p.Catches, p.CatchAny, p.Wants, p.WantAll}
}

func (w *wiring) body(b *Body) *wireBody {
	if b == nil {
		return nil
	}
	out := &wireBody{Sequential: b.Sequential, Total: b.Total, Next: b.Next, Completed: b.Completed, Terminated: b.Terminated}
	for _, item := range b.Items {
		out.Items = append(out.Items, w.value(item))
	}
	for _, r := range b.Results {
		out.Results = append(out.Results, wireResult{r.Index, w.value(r.Value)})
	}
	return out
}

func (w *wiring) entries(log []Entry) []wireEntry {
	var out []wireEntry
	for _, e := range log {
		out = append(out, wireEntry{w.place(e.Node), uint8(e.Kind), w.values(e.Variables), e.Together, w.entries(e.Log)})
	}
	return out
}

func (w *wiring) gates(gates []Gate) []wireGate {
	var out []wireGate
	for _, g := range gates {
		out = append(out, wireGate{w.place(g.Node), w.places(g.Consumed)})
	}
	return out
}

func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

func idBytes(id ports.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}
