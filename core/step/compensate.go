package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
)

// logDone remembers a completed run of an activity, when there is something that could undo it.
func (r *run) logDone(t *tok) {
	if !t.node.Kind.IsActivity() {
		return
	}
	e, undoable := entryOf(t)
	if !undoable {
		return
	}
	if t.round() {
		r.logged(t.scope.parent, e)
	} else {
		r.logged(t.scope, e)
	}
}

// entryOf is what a completed run leaves in the log, and whether anything could undo it.
func entryOf(t *tok) (token.Entry, bool) {
	e := token.Entry{Node: t.node.ID, Kind: token.HandlerEntry}
	switch {
	case t.round():
		e.Variables = visibleBetween(t.local(), t.scope.parent)
	case t.inner != nil:
		e.Variables = t.inner.variables
	}
	if t.node.Inner == nil {
		return e, t.node.Compensation != nil
	}
	nested := e
	nested.Kind, nested.Log = token.NestedEntry, t.inner.log
	if undoProcess(t.node) != nil {
		return nested, true
	}
	if t.node.Compensation != nil { // its handler runs first, then what completed inside it
		nested.Log = append(slices.Clone(nested.Log), e)
	}
	return nested, len(nested.Log) > 0
}

func (r *run) logged(c *scope, e token.Entry) { c.log = append(c.log, e) }

// visibleBetween gathers the variables of scopes from inner outward, end not included.
func visibleBetween(inner, end *scope) feel.Context {
	all := feel.Context{}
	for c := inner; c != end; c = c.parent {
		for name, v := range c.variables {
			if _, hidden := all[name]; !hidden {
				all[name] = v
			}
		}
	}
	return all
}

// undoProcess is the compensation event sub-process of a sub-process, or nil.
func undoProcess(n *bpmn.Node) *bpmn.Node {
	for _, e := range n.Inner.Events {
		if s := e.Inner.Start; s != nil && s.Event != nil && s.Event.Kind == bpmn.Compensation {
			return s
		}
	}
	return nil
}

// compensate undoes what has completed where the event was thrown, last completed first; in an event sub-process first its own
// activities, then those of the scope that it stands in. Nothing to do: the token goes on.
func (r *run) compensate(t *tok) {
	ev, c := t.node.Event, t.scope
	if ev.Wait {
		r.compensateIn(t, c)
		return
	}
	for ; c != nil; c = c.around() { // before it leaves, perhaps as the last of its scope
		if taken := c.take(ev.Activity); len(taken) > 0 {
			r.undo(c, nil, taken, false)
		}
	}
	r.leave(t)
}

// compensateIn undoes a scope while the token waits, and then the one around it.
func (r *run) compensateIn(t *tok, c *scope) {
	for ; c != nil; c = c.around() {
		if taken := c.take(t.node.Event.Activity); len(taken) > 0 {
			t.state = token.Throw
			r.undo(c, t, taken, false)
			return
		}
	}
	r.depart(t)
}

// around is the scope that a compensation thrown in an event sub-process goes on to; nil: it ends here.
func (c *scope) around() *scope {
	if c.kind == token.EventScope {
		return c.parent
	}
	return nil
}

// take takes the log of a scope, or its entries of one activity.
func (c *scope) take(only *bpmn.Node) []token.Entry {
	var taken, kept []token.Entry
	for _, e := range c.log {
		if only == nil || e.Node == only.ID {
			taken = append(taken, e)
		} else {
			kept = append(kept, e)
		}
	}
	c.log = kept
	return taken
}

// undo starts a compensation in a scope; t goes on when it has ended.
func (r *run) undo(c *scope, t *tok, log []token.Entry, together bool) {
	u := &token.Undoing{ID: r.id(), Scope: c.id, Left: slices.Clone(log), Together: together}
	if t != nil {
		u.Token = t.id
	}
	r.undoing = append(r.undoing, u)
	r.undone(u.ID)
}

// undone goes on with a compensation, one of whose handlers may have ended: the next entry, or its end.
func (r *run) undone(id token.ID) {
	at := slices.IndexFunc(r.undoing, func(u *token.Undoing) bool { return u.ID == id })
	if at < 0 {
		return
	}
	u := r.undoing[at]
	c := r.scopeByID(u.Scope)
	if slices.ContainsFunc(c.tokens, func(t *tok) bool { return !t.dead && t.undo == id }) {
		return
	}
	if len(u.Left) == 0 {
		r.undoing = slices.Delete(r.undoing, at, at+1)
		r.compensated(u)
		return
	}
	next := u.Left
	if !u.Together {
		next = u.Left[len(u.Left)-1:]
	}
	u.Left = u.Left[:len(u.Left)-len(next)]
	for _, n := range slices.Backward(next) {
		r.undoEntry(u, c, n)
	}
}

// compensated lets the throw event go on.
func (r *run) compensated(u *token.Undoing) {
	t := r.tokenByID(u.Token)
	if t == nil || t.dead || t.state != token.Throw {
		return
	}
	if t.node.Event.Kind == bpmn.Cancel {
		r.leaveTransaction(t)
		return
	}
	if t.node.Event.Kind == bpmn.Compensation {
		r.compensateIn(t, r.scopeByID(u.Scope).around())
		return
	}
	r.depart(t)
}

// undoEntry undoes one entry, in a scope that has what the activity had.
func (r *run) undoEntry(u *token.Undoing, c *scope, e token.Entry) {
	n := r.g.Node(e.Node)
	if n == nil {
		return
	}
	owner := r.place(c, n)
	owner.state, owner.undo = token.Active, u.ID
	if e.Kind == token.HandlerEntry {
		inner := r.open(c, owner, token.HandlerScope, n)
		inner.variables, inner.shared = e.Variables, true
		r.spawn(inner, n.Compensation)
		return
	}
	inner := r.open(c, owner, token.RestoredScope, n)
	inner.variables, inner.shared = e.Variables, true
	if start := undoStart(e, n); start != nil {
		inner.log = e.Log
		r.fireEventProcess(inner, start, nil, nil)
		return
	}
	r.undo(inner, owner, e.Log, e.Together)
}

// undoStart is where the compensation event sub-process of a completed sub-process starts, or nil.
func undoStart(e token.Entry, n *bpmn.Node) *bpmn.Node {
	if e.Kind != token.NestedEntry || n.Inner == nil {
		return nil
	}
	return undoProcess(n)
}

// abandon ends the compensation that a killed token waits for, with its handlers.
func (r *run) abandon(id token.ID) {
	for _, u := range slices.Clone(r.undoing) {
		if u.Token != id {
			continue
		}
		r.undoing = slices.DeleteFunc(r.undoing, func(x *token.Undoing) bool { return x == u })
		for _, t := range r.scopeByID(u.Scope).tokens {
			if t.undo == u.ID {
				r.kill(t)
			}
		}
	}
}

// cancelTransaction kills the other tokens of the transaction and compensates what it has completed; only then it leaves.
func (r *run) cancelTransaction(t *tok) {
	c := t.scope
	r.killOthers(c, t)
	log := c.log
	c.log = nil
	t.state = token.Throw
	r.undo(c, t, log, false)
}

// leaveTransaction leaves a cancelled transaction by its cancel boundary event.
func (r *run) leaveTransaction(t *tok) {
	owner := t.scope.owner
	for _, b := range owner.node.Boundaries {
		if b.Event != nil && b.Event.Kind == bpmn.Cancel {
			r.fireBoundary(outermost(owner), b, nil, nil)
			return
		}
	}
}

// outermost is the token of the whole activity, of which t may be one round.
func outermost(t *tok) *tok {
	if t.round() {
		return t.scope.parent.owner
	}
	return t
}

// dropUndoing forgets the compensations of a scope whose handlers have been killed.
func (r *run) dropUndoing(c *scope) {
	r.undoing = slices.DeleteFunc(r.undoing, func(u *token.Undoing) bool { return u.Scope == c.id })
}

func (r *run) scopeByID(id token.ID) *scope {
	i, found := slices.BinarySearchFunc(r.scopes, id, func(c *scope, id token.ID) int { return int(c.id - id) })
	if !found {
		return &scope{dead: true}
	}
	return r.scopes[i]
}

func (r *run) tokenByID(id token.ID) *tok {
	i, found := slices.BinarySearchFunc(r.tokens, id, func(t *tok, id token.ID) int { return int(t.id - id) })
	if !found {
		return nil
	}
	return r.tokens[i]
}
