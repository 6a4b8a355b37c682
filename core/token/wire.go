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
		ID          ID                `cbor:"1,keyasint,omitempty"`
		Parent      ID                `cbor:"2,keyasint,omitempty"`
		Node        uint              `cbor:"3,keyasint,omitempty"`
		Kind        uint8             `cbor:"4,keyasint,omitempty"`
		Variables   map[string]Stored `cbor:"5,keyasint,omitempty"`
		Interrupted bool              `cbor:"6,keyasint,omitempty"`
		Body        *wireBody         `cbor:"7,keyasint,omitempty"`
		Log         []wireEntry       `cbor:"8,keyasint,omitempty"`
		Gates       []wireGate        `cbor:"9,keyasint,omitempty"`
		ToStart     []uint            `cbor:"10,keyasint,omitempty"`
	}
	wireBody struct {
		Sequential bool         `cbor:"1,keyasint,omitempty"`
		Total      int64        `cbor:"2,keyasint,omitempty"`
		Next       int64        `cbor:"3,keyasint,omitempty"`
		Completed  int64        `cbor:"4,keyasint,omitempty"`
		Terminated int64        `cbor:"5,keyasint,omitempty"`
		Items      []Stored     `cbor:"6,keyasint,omitempty"`
		Results    []wireResult `cbor:"7,keyasint,omitempty"`
	}
	wireResult struct {
		Index int64  `cbor:"1,keyasint,omitempty"`
		Value Stored `cbor:"2,keyasint"`
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
		ID      ID                `cbor:"1,keyasint,omitempty"`
		Token   ID                `cbor:"2,keyasint,omitempty"`
		Scope   ID                `cbor:"3,keyasint,omitempty"`
		Node    uint              `cbor:"4,keyasint,omitempty"`
		Kind    uint8             `cbor:"5,keyasint,omitempty"`
		Group   ID                `cbor:"6,keyasint,omitempty"`
		Name    string            `cbor:"7,keyasint,omitempty"`
		Due     *int64            `cbor:"8,keyasint,omitempty"`
		Anchor  *int64            `cbor:"9,keyasint,omitempty"`
		Period  string            `cbor:"10,keyasint,omitempty"`
		Fired   int64             `cbor:"11,keyasint,omitempty"`
		Left    int64             `cbor:"12,keyasint,omitempty"`
		Topic   string            `cbor:"13,keyasint,omitempty"`
		Task    []byte            `cbor:"14,keyasint,omitempty"`
		Retries int64             `cbor:"15,keyasint,omitempty"`
		Headers map[string]Stored `cbor:"16,keyasint,omitempty"`
		Child   []byte            `cbor:"17,keyasint,omitempty"`
		Attempt int64             `cbor:"18,keyasint,omitempty"`
		Truth   bool              `cbor:"19,keyasint,omitempty"`
	}
	wireAlias struct {
		Name   string `cbor:"1,keyasint,omitempty"`
		Value  string `cbor:"2,keyasint,omitempty"`
		Unique bool   `cbor:"3,keyasint,omitempty"`
		Scope  ID     `cbor:"4,keyasint,omitempty"`
		Wait   ID     `cbor:"5,keyasint,omitempty"`
	}
	wireEntry struct {
		Node      uint              `cbor:"1,keyasint,omitempty"`
		Kind      uint8             `cbor:"2,keyasint,omitempty"`
		Variables map[string]Stored `cbor:"3,keyasint,omitempty"`
		Together  bool              `cbor:"4,keyasint,omitempty"`
		Log       []wireEntry       `cbor:"5,keyasint,omitempty"`
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

// names gives BPMN ids their places while a snapshot is written.
type names struct{ table []string }

func (n *names) place(name string) uint {
	if name == "" {
		return 0
	}
	i, _ := slices.BinarySearch(n.table, name)
	return uint(i) + 1
}

func (n *names) places(list []string) []uint {
	var out []uint
	for _, name := range list {
		out = append(out, n.place(name))
	}
	return out
}

// namesOf gathers every BPMN id in a snapshot.
func namesOf(s *Snapshot) *names {
	all := []string{s.Process}
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
	return &names{all}
}

func wireOf(s *Snapshot) (*wire, error) {
	n := namesOf(s)
	w := &wire{
		Names: n.table, Process: n.place(s.Process), Next: s.Next, Step: s.Step, Status: s.Status,
		Parent: wireParentOf(s.Parent), Failure: (*wireFailure)(s.Failure),
	}
	for _, o := range s.Open {
		w.Open = append(w.Open, wireOpen{o.Channel, o.Event[:], o.Mode})
	}
	for _, c := range s.Scopes {
		w.Scopes = append(w.Scopes, wireScope{
			ID: c.ID, Parent: c.Parent, Node: n.place(c.Node), Kind: uint8(c.Kind), Variables: stored(c.Variables),
			Interrupted: c.Interrupted, Body: wireBodyOf(c.Body), Log: n.entries(c.Log), Gates: n.gates(c.Gates), ToStart: n.places(c.ToStart),
		})
	}
	for _, t := range s.Tokens {
		w.Tokens = append(w.Tokens, wireToken{t.ID, t.Scope, n.place(t.Node), n.place(t.Flow), uint8(t.State), t.Inner, t.Undo, t.Tries})
	}
	for _, x := range s.Waits {
		kind := slices.Index(waitKinds, x.Kind)
		if kind < 1 {
			return nil, fmt.Errorf("a wait of kind %q cannot be stored", x.Kind)
		}
		w.Waits = append(w.Waits, wireWait{
			ID: x.ID, Token: x.Token, Scope: x.Scope, Node: n.place(x.Node), Kind: uint8(kind), Group: x.Group, Name: x.Name,
			Due: micros(x.Due), Anchor: micros(x.Anchor), Period: x.Period, Fired: x.Fired, Left: x.Left, Topic: x.Topic,
			Task: idBytes(x.Task), Retries: x.Retries, Headers: stored(x.Headers), Child: idBytes(x.Child), Attempt: x.Attempt, Truth: x.Truth,
		})
	}
	for _, a := range s.Aliases {
		w.Aliases = append(w.Aliases, wireAlias(a))
	}
	for _, u := range s.Undoing {
		w.Undoing = append(w.Undoing, wireUndoing{u.ID, u.Scope, u.Token, u.Together, n.entries(u.Left)})
	}
	return w, nil
}

func wireParentOf(p *Parent) *wireParent {
	if p == nil {
		return nil
	}
	return &wireParent{idBytes(p.Instance), p.Wait, idBytes(p.Root), p.Depth, p.Catches, p.CatchAny, p.Wants, p.WantAll}
}

func wireBodyOf(b *Body) *wireBody {
	if b == nil {
		return nil
	}
	w := &wireBody{Sequential: b.Sequential, Total: b.Total, Next: b.Next, Completed: b.Completed, Terminated: b.Terminated}
	for _, item := range b.Items {
		w.Items = append(w.Items, Stored{item})
	}
	for _, r := range b.Results {
		w.Results = append(w.Results, wireResult{r.Index, Stored{r.Value}})
	}
	return w
}

func (n *names) entries(log []Entry) []wireEntry {
	var out []wireEntry
	for _, e := range log {
		out = append(out, wireEntry{n.place(e.Node), uint8(e.Kind), stored(e.Variables), e.Together, n.entries(e.Log)})
	}
	return out
}

func (n *names) gates(gates []Gate) []wireGate {
	var out []wireGate
	for _, g := range gates {
		out = append(out, wireGate{n.place(g.Node), n.places(g.Consumed)})
	}
	return out
}

func stored(c feel.Context) map[string]Stored {
	if len(c) == 0 {
		return nil
	}
	out := make(map[string]Stored, len(c))
	for k, v := range c {
		out[k] = Stored{v}
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
