package step

import (
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

// scope is a living scope instance. What is dead stays in the lists of its run until the step is saved.
type scope struct {
	id          token.ID
	parent      *scope
	kind        token.ScopeKind
	node        *bpmn.Node  // the activity; nil: the process
	inside      *bpmn.Scope // what runs in it, where that is a part of the graph
	owner       *tok        // the activity's token; nil: the process, and iterations
	variables   feel.Context
	interrupted bool
	body        *token.Body
	log         []token.Entry
	gates       []token.Gate
	toStart     []string
	children    []*scope
	tokens      []*tok
	waits       []*wait // of its event sub-processes
	live        int     // tokens in it
	running     int     // those outside event sub-processes
	dead        bool
	shared      bool // variables belong to the snapshot: copy before writing
}

// tok is a living token.
type tok struct {
	id    token.ID
	scope *scope
	node  *bpmn.Node
	flow  *bpmn.Flow
	state token.State
	inner *scope
	undo  token.ID
	tries int64
	waits []*wait
	dead  bool
}

// wait is an armed wait.
type wait struct {
	token.Wait
	token *tok   // its owner, or
	scope *scope // the owner of an event sub-process's wait
	node  *bpmn.Node
	dead  bool
}

// home is the scope that a wait's expressions see: of an activity and its boundary events what its inputs made.
func (w *wait) home() *scope {
	if w.token != nil {
		return w.token.local()
	}
	return w.scope
}

// local is the innermost scope a token sees.
func (t *tok) local() *scope {
	if t.inner != nil {
		return t.inner
	}
	return t.scope
}

// state is an instance while it runs: the snapshot as a tree.
type state struct {
	head    token.Snapshot // without its lists
	root    *scope
	scopes  []*scope // in order of id, dead ones included
	tokens  []*tok
	waits   []*wait
	aliases []token.Alias
	undoing []*token.Undoing
}

func (s *state) id() token.ID {
	s.head.Next++
	return s.head.Next
}

// load turns a snapshot into a tree. It never writes to the snapshot.
func load(g *bpmn.Process, snap *token.Snapshot) (*state, error) {
	s := &state{head: *snap, aliases: slices.Clone(snap.Aliases)}
	s.head.Open = slices.Clone(snap.Open)
	for _, u := range snap.Undoing {
		u.Left = slices.Clone(u.Left)
		s.undoing = append(s.undoing, &u)
	}
	l := loader{g: g, s: s, scopes: map[token.ID]*scope{}, tokens: map[token.ID]*tok{}}
	for _, c := range snap.Scopes {
		l.scope(c)
	}
	for _, t := range snap.Tokens {
		l.token(t)
	}
	for _, w := range snap.Waits {
		l.wait(w)
	}
	return s, l.err
}

type loader struct {
	g      *bpmn.Process
	s      *state
	scopes map[token.ID]*scope
	tokens map[token.ID]*tok
	err    error
}

// node finds a BPMN id of the snapshot in the graph.
func (l *loader) node(id string) *bpmn.Node {
	n := l.g.Node(id)
	if n == nil && l.err == nil {
		l.err = fault.NodeUnknown.With("the snapshot is at %q, which process %q does not have", id, l.g.ID)
	}
	return n
}

func (l *loader) scope(c token.Scope) {
	sc := &scope{
		id: c.ID, parent: l.scopes[c.Parent], kind: c.Kind, variables: c.Variables, interrupted: c.Interrupted,
		log: slices.Clone(c.Log), gates: slices.Clone(c.Gates), toStart: slices.Clone(c.ToStart), shared: true,
	}
	if c.Body != nil {
		body := *c.Body
		body.Results = slices.Clone(body.Results)
		sc.body = &body
	}
	if c.Kind == token.ProcessScope {
		sc.inside, l.s.root = l.g.Root, sc
	} else if sc.node = l.node(c.Node); sc.node != nil {
		sc.inside = insideOf(sc.kind, sc.node)
	}
	if sc.parent != nil {
		sc.parent.children = append(sc.parent.children, sc)
	}
	l.scopes[c.ID] = sc
	l.s.scopes = append(l.s.scopes, sc)
}

// insideOf is the part of the graph that a scope of this kind runs.
func insideOf(kind token.ScopeKind, n *bpmn.Node) *bpmn.Scope {
	switch kind {
	case token.SubScope, token.TransactionScope, token.AdHocScope, token.EventScope:
		return n.Inner
	}
	return nil
}

func (l *loader) token(t token.Token) {
	sc := l.scopes[t.Scope]
	k := &tok{
		id: t.ID, scope: sc, node: l.node(t.Node), flow: l.g.Flow(t.Flow), state: t.State, inner: l.scopes[t.Inner], undo: t.Undo, tries: t.Tries,
	}
	if k.node == nil {
		return
	}
	if k.inner != nil {
		k.inner.owner = k
	}
	sc.add(k)
	l.tokens[t.ID] = k
	l.s.tokens = append(l.s.tokens, k)
}

func (c *scope) add(t *tok) {
	c.tokens = append(c.tokens, t)
	c.live++
	if t.node.Kind != bpmn.EventProcess {
		c.running++
	}
}

func (l *loader) wait(w token.Wait) {
	x := &wait{Wait: w, token: l.tokens[w.Token], scope: l.scopes[w.Scope], node: l.node(w.Node)}
	if x.node == nil {
		return
	}
	if x.token != nil {
		x.token.waits = append(x.token.waits, x)
	} else {
		x.scope.waits = append(x.scope.waits, x)
	}
	l.s.waits = append(l.s.waits, x)
}

// save turns the tree into a snapshot. Transient variables end here.
func (s *state) save(transient func(name string) bool) *token.Snapshot {
	snap := s.head
	snap.Scopes, snap.Tokens, snap.Waits, snap.Undoing = nil, nil, nil, nil
	snap.Aliases = s.aliases
	for _, c := range s.scopes {
		if !c.dead {
			snap.Scopes = append(snap.Scopes, c.save(transient))
		}
	}
	for _, t := range s.tokens {
		if !t.dead {
			snap.Tokens = append(snap.Tokens, t.save())
		}
	}
	for _, w := range s.waits {
		if !w.dead {
			snap.Waits = append(snap.Waits, w.Wait)
		}
	}
	for _, u := range s.undoing {
		snap.Undoing = append(snap.Undoing, *u)
	}
	return &snap
}

func (c *scope) save(transient func(name string) bool) token.Scope {
	out := token.Scope{
		ID: c.id, Kind: c.kind, Variables: c.variables, Interrupted: c.interrupted, Body: c.body, Log: c.log, Gates: c.gates, ToStart: c.toStart,
	}
	if c.parent != nil {
		out.Parent = c.parent.id
	}
	if c.node != nil {
		out.Node = c.node.ID
	}
	for name := range c.variables {
		if transient(name) {
			out.Variables = maps.Clone(c.variables)
			maps.DeleteFunc(out.Variables, func(name string, _ feel.Value) bool { return transient(name) })
			break
		}
	}
	return out
}

func (t *tok) save() token.Token {
	out := token.Token{ID: t.id, Scope: t.scope.id, Node: t.node.ID, State: t.state, Undo: t.undo, Tries: t.tries}
	if t.flow != nil {
		out.Flow = t.flow.ID
	}
	if t.inner != nil {
		out.Inner = t.inner.id
	}
	return out
}
