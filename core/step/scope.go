package step

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// open makes a scope inside parent, owned by a token or by nobody.
func (r *run) open(parent *scope, owner *tok, kind token.ScopeKind, n *bpmn.Node) *scope {
	c := &scope{id: r.id(), parent: parent, kind: kind, node: n, owner: owner}
	if n == nil {
		c.inside = r.g.Root
	} else {
		c.inside = insideOf(kind, n)
	}
	if parent != nil {
		parent.children = append(parent.children, c)
	}
	if owner != nil {
		owner.inner = c
	}
	r.scopes = append(r.scopes, c)
	if depth := c.depth(); depth > r.limits.Scopes {
		r.fail(fault.ScopeLimit, n, "scopes are nested more than %d deep", r.limits.Scopes)
	}
	return c
}

func (c *scope) depth() int {
	n := 0
	for ; c != nil; c = c.parent {
		n++
	}
	return n
}

// spawn puts a new token at a node and on the work list.
func (r *run) spawn(c *scope, n *bpmn.Node) *tok {
	t := r.place(c, n)
	r.queue = append(r.queue, t)
	return t
}

// place puts a new token at a node, without work to do.
func (r *run) place(c *scope, n *bpmn.Node) *tok {
	t := &tok{id: r.id(), scope: c, node: n}
	c.add(t)
	r.tokens = append(r.tokens, t)
	if r.alive++; r.alive > r.limits.Tokens {
		r.fail(fault.TokenLimit, n, "more than %d tokens are alive", r.limits.Tokens)
	}
	return t
}

// populate starts what runs in a scope: its data objects, its event sub-processes, then its first tokens.
func (r *run) populate(c *scope) {
	for _, name := range c.inside.Objects {
		r.declare(c, name, nil)
	}
	r.armEventProcesses(c)
	for _, n := range c.inside.Roots() {
		r.spawn(c, n)
	}
	if c.live == 0 {
		r.complete(c)
	}
}

// lose takes a token off the counts of its scope.
func (c *scope) lose(t *tok) {
	c.live--
	if t.node.Kind != bpmn.EventProcess {
		c.running--
	}
}

// drop ends a token as it is; its scope does not notice. It answers whether there was anything to end.
func (r *run) drop(t *tok) bool {
	if t.dead {
		return false
	}
	t.dead = true
	t.scope.lose(t)
	r.alive--
	r.disarm(&t.waits)
	return true
}

// kill removes a token with its scopes, waits, aliases and tasks: no output, no log entry. Called children are told.
func (r *run) kill(t *tok) {
	for _, w := range t.waits {
		if w.Kind == ports.WaitCall && !w.dead {
			r.cancelCalled(w)
		}
	}
	if !r.drop(t) {
		return
	}
	r.note("killed", t.node, t.id)
	if t.inner != nil {
		r.close(t.inner)
	}
	r.abandon(t.id)
}

// close ends a scope and kills all that is in it.
func (r *run) close(c *scope) {
	if c.dead {
		return
	}
	c.dead = true
	for _, t := range c.tokens {
		r.kill(t)
	}
	for _, inner := range c.children {
		r.close(inner)
	}
	r.disarm(&c.waits)
	r.dropUndoing(c)
	r.forgetScope(c)
}

// killOthers kills every token of a scope but one, event sub-processes too, and disarms them.
func (r *run) killOthers(c *scope, but *tok) {
	for _, t := range c.tokens {
		if t != but {
			r.kill(t)
		}
	}
	r.dropUndoing(c)
	r.disarm(&c.waits)
}

// consume ends a token that has arrived. With the last token outside event sub-processes no more of them start; with the last token
// the scope completes.
func (r *run) consume(t *tok) {
	if !r.drop(t) {
		return
	}
	c := t.scope
	if t.undo != 0 {
		r.undone(t.undo)
	}
	if c.dead {
		return
	}
	if c.running == 0 {
		r.disarm(&c.waits)
	}
	if c.live == 0 {
		r.complete(c)
	}
}

// complete ends a scope whose last token is gone, and lets its activity go on.
func (r *run) complete(c *scope) {
	switch c.kind {
	case token.ProcessScope:
		r.end(ports.Completed)
	case token.IterationScope:
		r.roundDone(c)
	case token.AdHocScope:
		if !r.startNext(c) {
			r.finishAdHoc(c.owner)
		}
	case token.EventScope, token.HandlerScope, token.RestoredScope:
		if c.kind == token.EventScope && len(c.node.Outputs) > 0 {
			r.outputs(c.owner, nil)
		}
		c.dead = true
		r.disarm(&c.waits)
		r.forgetScope(c)
		r.consume(c.owner)
	default:
		r.finish(c.owner, nil)
	}
}

// disarm removes waits.
func (r *run) disarm(waits *[]*wait) {
	for _, w := range *waits {
		if !w.dead {
			w.dead = true
			r.forgetWait(w)
		}
	}
	*waits = nil
}

// unwait removes one wait from its owner.
func (r *run) unwait(w *wait) {
	list := &w.home().waits
	if w.token != nil {
		list = &w.token.waits
	}
	*list = slices.DeleteFunc(*list, func(x *wait) bool { return x == w })
	w.dead = true
	r.forgetWait(w)
}
