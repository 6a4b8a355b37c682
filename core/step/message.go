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

// messageWait finds the one wait that a message feeds: the one it names, or by name and key the innermost guarded scope's, there an
// event sub-process's before a boundary's, then the oldest.
func (r *run) messageWait(ev *Event) *wait {
	if ev.Wait != 0 {
		return r.waitByID(ev.Wait, ports.WaitMessage)
	}
	var best *wait
	for _, w := range r.waits {
		if w.dead || w.Kind != ports.WaitMessage || ports.NewKey(string(ports.WaitMessage), w.Name) != ev.Name || !r.fits(w, ev) {
			continue
		}
		if best == nil || w.guards() > best.guards() {
			best = w
		}
	}
	return best
}

// guards ranks a message wait: the depth of the scope it guards, and for event sub-processes a little more.
func (w *wait) guards() int {
	if w.token == nil {
		return 2*w.scope.depth() + 1
	}
	return 2 * (w.token.scope.depth() + 1)
}

// fits says that the instance holds, for this wait, a key that the message brings. A wait without keys takes any message.
func (r *run) fits(w *wait, ev *Event) bool {
	if w.node.Source == nil {
		return w.node.Event.Key == nil || r.holdsKey(w, SubscriptionAlias(w.Name), ev.Match)
	}
	for _, a := range w.node.Aliases {
		if r.holdsKey(w, a.Name, ev.Match) || r.holdsKey(w, a.Name, keyIn(a, w.node.Source, ev.Payload)) {
			return true
		}
	}
	return len(w.node.Aliases) == 0
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

// holdsKey says that the instance holds an alias of this name and value that a wait may be found by.
func (r *run) holdsKey(w *wait, name string, key ports.Key) bool {
	return !key.IsZero() && slices.ContainsFunc(r.aliases, func(a token.Alias) bool {
		return a.Name == name && ports.NewKey(a.Value) == key && (a.Wait == 0 || a.Wait == w.ID) && w.home().within(a.Scope)
	})
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
