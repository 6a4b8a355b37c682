package step

import (
	"maps"
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// SubscriptionAlias is the alias under which a wait with a zeebe:subscription is found.
func SubscriptionAlias(message string) string { return "message:" + message }

// watchMessage names what a message wait waits for, and registers the key of its subscription.
func (r *run) watchMessage(w *wait) {
	n := w.node
	if n.Source != nil {
		w.Name = n.Source.Channel
		return
	}
	w.Name = r.text(n.Event.Name, w.home(), nil, n)
	if n.Event.Key == nil {
		return
	}
	key := r.eval(n.Event.Key, w.home(), nil, n)
	if key == nil {
		r.fail(fault.KeyMissing, n, "the correlation key %q is null", n.Event.Key.Source)
		return
	}
	r.aliases = append(r.aliases, token.Alias{Name: SubscriptionAlias(w.Name), Value: feel.Text(key), Wait: w.ID})
}

// register makes aliases of the instance. Null is no key. An alias made inside an iteration belongs to it, so that a message wakes
// its own iteration.
func (r *run) register(aliases []bpmn.Alias, c, at *scope, extra feel.Context) {
	owner := token.ID(0)
	for s := at; s != nil; s = s.parent {
		if s.kind == token.IterationScope {
			owner = s.id
			break
		}
	}
	for _, a := range aliases {
		v := r.eval(a.Expr, c, extra, nil)
		values := feel.List{v}
		if list, ok := v.(feel.List); ok && a.Multi {
			values = list
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			made := token.Alias{Name: a.Name, Value: feel.Text(v), Unique: a.Unique, Scope: owner}
			if !slices.Contains(r.aliases, made) {
				r.aliases = append(r.aliases, made)
			}
		}
	}
}

func (r *run) forgetWait(w *wait) {
	if w.Kind == ports.WaitMessage && len(r.aliases) > 0 {
		r.aliases = slices.DeleteFunc(r.aliases, func(a token.Alias) bool { return a.Wait == w.ID })
	}
}

func (r *run) forgetScope(c *scope) {
	if c.kind == token.IterationScope && len(r.aliases) > 0 {
		r.aliases = slices.DeleteFunc(r.aliases, func(a token.Alias) bool { return a.Scope == c.id })
	}
}

// messageWait finds the one wait that a message feeds: the one it names, or where that is gone since it was routed or none is named, by
// name and key the innermost guarded scope's, there an event sub-process's before a boundary's, then the oldest. To look again here,
// under the claim, is to route it again: of many messages for one loop, each finds the next round's wait.
func (r *run) messageWait(ev *Event) *wait {
	if named := r.waitByID(ev.Wait, ports.WaitMessage); named != nil && admits(named.node, ev) {
		return named
	}
	keys := heldKeys{run: r, ev: ev, found: map[waitsFor][]token.Alias{}}
	var best *wait
	for _, w := range r.waits {
		if w.dead || w.Kind != ports.WaitMessage || r.nameKey(w.Name) != ev.Name || best != nil && w.guards() <= best.guards() || !admits(w.node, ev) || !keys.fit(w) {
			continue
		}
		best = w
	}
	return best
}

// nameKey is what the waits of a message are named, remembered for the step.
func (r *run) nameKey(name string) ports.Key {
	key, known := r.names[name]
	if !known {
		key = ports.NewKey(string(ports.WaitMessage), name)
		r.names[name] = key
	}
	return key
}

// valueKey is the key of an alias's value, remembered for the step.
func (r *run) valueKey(value string) ports.Key {
	key, known := r.values[value]
	if !known {
		key = ports.NewKey(value)
		r.values[value] = key
	}
	return key
}

// guards ranks a message wait: the depth of the scope it guards, and for event sub-processes a little more.
func (w *wait) guards() int {
	if w.token == nil {
		return 2*w.scope.depth() + 1
	}
	return 2 * (w.token.scope.depth() + 1)
}

// waitsFor is what waits of one node and name have in common.
type waitsFor struct {
	node *bpmn.Node
	name string
}

// heldKeys finds the aliases that the instance holds and a message brings, once for all waits of a node.
type heldKeys struct {
	*run
	ev    *Event
	found map[waitsFor][]token.Alias
}

// fit says that the instance holds, for this wait, a key that the message brings. A wait without keys takes any message.
func (h heldKeys) fit(w *wait) bool {
	if w.node.Source == nil && w.node.Event.Key == nil || w.node.Source != nil && len(w.node.Aliases) == 0 {
		return true
	}
	at := waitsFor{w.node, w.Name}
	held, known := h.found[at]
	if !known {
		held = h.search(at)
		h.found[at] = held
	}
	return slices.ContainsFunc(held, func(a token.Alias) bool {
		return (a.Wait == 0 || a.Wait == w.ID) && w.home().within(a.Scope)
	})
}

// search gathers the aliases by which waits of a node may be found.
func (h heldKeys) search(at waitsFor) []token.Alias {
	brought := map[string][]ports.Key{}
	if at.node.Source == nil {
		brought[SubscriptionAlias(at.name)] = []ports.Key{h.ev.Match}
	}
	for _, a := range at.node.Aliases {
		if at.node.Source != nil {
			brought[a.Name] = append(brought[a.Name], h.ev.Match, keyIn(a, at.node.Source, h.ev.Payload))
		}
	}
	var held []token.Alias
	for _, a := range h.aliases {
		if keys := brought[a.Name]; len(keys) > 0 && slices.Contains(keys, h.valueKey(a.Value)) {
			held = append(held, a)
		}
	}
	return held
}

// keyIn evaluates a matching alias on a payload, as the door does.
func keyIn(a bpmn.Alias, source *bpmn.Source, payload feel.Value) ports.Key {
	v, err := a.Expr.Eval(feel.Env{Scope: atDoor(source, payload)})
	if err != nil || v == nil {
		return ports.Key{}
	}
	return ports.NewKey(feel.Text(v))
}

// atDoor is what an alias sees of a message: the payload under its names, and its entries.
func atDoor(source *bpmn.Source, payload feel.Value) feel.Context {
	seen := feel.Context{}
	if entries, ok := payload.(feel.Context); ok {
		maps.Copy(seen, entries)
	}
	if source != nil {
		seen[source.Name], seen["payload"] = payload, payload
	}
	return seen
}

// within says that a scope is, or stands inside, the scope with this id; 0 is the instance.
func (c *scope) within(id token.ID) bool {
	for ; c != nil; c = c.parent {
		if c.id == id {
			return true
		}
	}
	return id == 0
}

func (r *run) waitByID(id ports.WaitID, kinds ...ports.WaitKind) *wait {
	i, found := slices.BinarySearchFunc(r.waits, token.ID(id), func(w *wait, id token.ID) int { return int(w.ID - id) })
	if !found || r.waits[i].dead || !slices.Contains(kinds, r.waits[i].Kind) {
		return nil
	}
	return r.waits[i]
}
