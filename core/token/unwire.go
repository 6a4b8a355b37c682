package token

import (
	"fmt"
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// unwiring reads a wire record; the first trouble stays.
type unwiring struct {
	names []string
	err   error
}

func (u *unwiring) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf(format, args...)
	}
}

func (u *unwiring) name(place uint) string {
	if place == 0 {
		return ""
	}
	if place > uint(len(u.names)) {
		u.fail("name %d of %d", place, len(u.names))
		return ""
	}
	return u.names[place-1]
}

func (u *unwiring) list(places []uint) []string {
	var out []string
	for _, p := range places {
		out = append(out, u.name(p))
	}
	return out
}

func (u *unwiring) id(data []byte) (id ports.ID) {
	if len(data) != 0 && copy(id[:], data) != len(data) || len(data) != 0 && len(data) != len(id) {
		u.fail("an id of %d bytes", len(data))
	}
	return id
}

// snapshot turns the wire record into a snapshot, and refuses references that lead nowhere.
func (w *wire) snapshot() (*Snapshot, error) {
	u := &unwiring{names: w.Names}
	s := &Snapshot{
		Process: u.name(w.Process), Next: w.Next, Step: w.Step, Status: w.Status, Parent: u.parent(w.Parent), Failure: (*Failure)(w.Failure),
		Trace: w.Trace,
	}
	for _, o := range w.Open {
		s.Open = append(s.Open, Open{o.Channel, u.key(o.Event), o.Mode})
	}
	for _, c := range w.Scopes {
		s.Scopes = append(s.Scopes, Scope{
			ID: c.ID, Parent: c.Parent, Node: u.name(c.Node), Kind: ScopeKind(c.Kind), Variables: u.values(c.Variables),
			Interrupted: c.Interrupted, Body: u.body(c.Body), Log: u.entries(c.Log), Gates: u.gates(c.Gates), ToStart: u.list(c.ToStart),
		})
	}
	for _, t := range w.Tokens {
		s.Tokens = append(s.Tokens, Token{t.ID, t.Scope, u.name(t.Node), u.name(t.Flow), State(t.State), t.Inner, t.Undo, t.Tries})
	}
	for _, x := range w.Waits {
		s.Waits = append(s.Waits, u.wait(x))
	}
	for _, a := range w.Aliases {
		s.Aliases = append(s.Aliases, Alias(a))
	}
	for _, x := range w.Undoing {
		s.Undoing = append(s.Undoing, Undoing{x.ID, x.Scope, x.Token, x.Together, u.entries(x.Left)})
	}
	if u.err == nil {
		u.err = s.check()
	}
	return s, u.err
}

func (u *unwiring) wait(x wireWait) Wait {
	if int(x.Kind) >= len(waitKinds) || x.Kind == 0 {
		u.fail("wait %d has the unknown kind %d", x.ID, x.Kind)
		return Wait{}
	}
	return Wait{
		ID: x.ID, Token: x.Token, Scope: x.Scope, Node: u.name(x.Node), Kind: waitKinds[x.Kind], Group: x.Group, Name: x.Name,
		Due: instant(x.Due), Anchor: instant(x.Anchor), Period: x.Period, Fired: x.Fired, Left: x.Left, Topic: x.Topic,
		Task: u.id(x.Task), Retries: x.Retries, Headers: u.values(x.Headers), Child: u.id(x.Child), Attempt: x.Attempt, Truth: x.Truth,
		Trace: x.Trace,
	}
}

func (u *unwiring) parent(p *wireParent) *Parent {
	if p == nil {
		return nil
	}
	return &Parent{u.id(p.Instance), p.Wait, u.id(p.Root), p.Depth, p.Catches, p.CatchAny, p.Wants, p.WantAll}
}

func (u *unwiring) key(data []byte) (k ports.Key) {
	if len(data) != len(k) {
		u.fail("a key of %d bytes", len(data))
		return k
	}
	copy(k[:], data)
	return k
}

func (u *unwiring) entries(log []wireEntry) []Entry {
	var out []Entry
	for _, e := range log {
		out = append(out, Entry{u.name(e.Node), EntryKind(e.Kind), u.values(e.Variables), e.Together, u.entries(e.Log)})
	}
	return out
}

func (u *unwiring) gates(gates []wireGate) []Gate {
	var out []Gate
	for _, g := range gates {
		out = append(out, Gate{u.name(g.Node), u.list(g.Consumed)})
	}
	return out
}

func (u *unwiring) body(w *wireBody) *Body {
	if w == nil {
		return nil
	}
	b := &Body{Sequential: w.Sequential, Total: w.Total, Next: w.Next, Completed: w.Completed, Terminated: w.Terminated}
	for _, item := range w.Items {
		b.Items = append(b.Items, u.value(item))
	}
	for _, r := range w.Results {
		b.Results = append(b.Results, Result{r.Index, u.value(r.Value)})
	}
	return b
}

func (u *unwiring) value(b boxed) feel.Value {
	v, err := unbox(b)
	if err != nil {
		u.fail("stored value: %w", err)
	}
	return v
}

func (u *unwiring) values(m map[string]boxed) feel.Context {
	if len(m) == 0 {
		return nil
	}
	out := make(feel.Context, len(m))
	for k, b := range m {
		out[k] = u.value(b)
	}
	return out
}

func instant(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}

// check refuses a snapshot whose ids are not in order, or lead nowhere.
func (s *Snapshot) check() error {
	scopes, tokens := map[ID]bool{0: true}, map[ID]bool{0: true}
	last := ID(0)
	for _, c := range s.Scopes {
		if c.ID <= last || c.ID > s.Next || !scopes[c.Parent] {
			return fmt.Errorf("scope %d is out of order or has no parent", c.ID)
		}
		last, scopes[c.ID] = c.ID, true
	}
	last = 0
	for _, t := range s.Tokens {
		if t.ID <= last || t.ID > s.Next || t.Scope == 0 || !scopes[t.Scope] || !scopes[t.Inner] {
			return fmt.Errorf("token %d is out of order or has no scope", t.ID)
		}
		last, tokens[t.ID] = t.ID, true
	}
	last = 0
	for _, w := range s.Waits {
		if w.ID <= last || w.ID > s.Next || !tokens[w.Token] || !scopes[w.Scope] || (w.Token == 0) == (w.Scope == 0) {
			return fmt.Errorf("wait %d is out of order or has no owner", w.ID)
		}
		last = w.ID
	}
	for _, u := range s.Undoing {
		if !scopes[u.Scope] || u.Scope == 0 || !tokens[u.Token] {
			return fmt.Errorf("compensation %d has no scope, or waits for a token that is gone", u.ID)
		}
	}
	return nil
}
