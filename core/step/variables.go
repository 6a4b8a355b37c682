package step

import (
	"maps"
	"slices"
	"strings"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports/fault"
)

// view is what an expression sees: some values of the moment, then variables from a scope outward.
type view struct {
	extra feel.Context
	scope *scope
}

// Lookup implements feel.Scope.
func (v view) Lookup(name string) (feel.Value, bool) {
	if value, ok := v.extra[name]; ok {
		return value, true
	}
	for c := v.scope; c != nil; c = c.parent {
		if value, ok := c.variables[name]; ok {
			return value, true
		}
	}
	return nil, false
}

// visible gathers all variables that are seen from a scope.
func visible(c *scope) feel.Context {
	all := feel.Context{}
	for ; c != nil; c = c.parent {
		for name, v := range c.variables {
			if _, hidden := all[name]; !hidden {
				all[name] = v
			}
		}
	}
	return all
}

func (r *run) eval(x *bpmn.Expression, c *scope, extra feel.Context, n *bpmn.Node) feel.Value {
	if r.failure != nil {
		return nil
	}
	v, err := x.Eval(feel.Env{Scope: view{extra, c}, Now: r.at, Steps: r.limits.Budget})
	if err != nil {
		r.fail(fault.ExpressionFailed, n, "%q: %w", x.Source, err)
	}
	return v
}

// holds evaluates a condition that has to be boolean.
func (r *run) holds(x *bpmn.Expression, c *scope, extra feel.Context, n *bpmn.Node) bool {
	v := r.eval(x, c, extra, n)
	b, ok := v.(feel.Boolean)
	if !ok {
		r.fail(fault.ExpressionNotBoolean, n, "%q is %s, and has to be true or false", x.Source, r.describe(x, v))
	}
	return bool(b)
}

// truth evaluates a condition in which null is false.
func (r *run) truth(x *bpmn.Expression, c *scope, extra feel.Context, n *bpmn.Node) bool {
	v := r.eval(x, c, extra, n)
	if v == nil {
		return false
	}
	b, ok := v.(feel.Boolean)
	if !ok {
		r.fail(fault.ExpressionNotBoolean, n, "%q is %s, and has to be true or false", x.Source, r.describe(x, v))
	}
	return bool(b)
}

// text gives a literal or computed text; null is empty.
func (r *run) text(t *bpmn.Text, c *scope, extra feel.Context, n *bpmn.Node) string {
	switch {
	case t == nil:
		return ""
	case t.Expr == nil:
		return t.Literal
	}
	v := r.eval(t.Expr, c, extra, n)
	if v == nil {
		return ""
	}
	return feel.Text(v)
}

// value gives what a mapping computes.
func (r *run) value(m bpmn.Mapping, c *scope, extra feel.Context, n *bpmn.Node) feel.Value {
	if m.Expr == nil {
		return feel.String(m.Text)
	}
	return r.eval(m.Expr, c, extra, n)
}

// declare makes a variable of this scope.
func (r *run) declare(c *scope, name string, v feel.Value) {
	if !r.storable(name, v) {
		return
	}
	if c.shared || c.variables == nil {
		c.variables, c.shared = maps.Clone(c.variables), false
		if c.variables == nil {
			c.variables = feel.Context{}
		}
	}
	c.variables[name] = v
	r.dirty[name] = true
	r.wrote(name, v, c)
}

// write writes to the nearest scope that has the name, from c outward, else to the process. A target a.b changes an entry of a.
func (r *run) write(c *scope, target string, v feel.Value) {
	name, path, nested := strings.Cut(target, ".")
	at := r.root
	for s := c; s != nil; s = s.parent {
		if _, has := s.variables[name]; has {
			at = s
			break
		}
	}
	if nested {
		v = put(at.variables[name], strings.Split(path, "."), v)
	}
	r.declare(at, name, v)
}

// assign makes or changes a variable of this very scope.
func (r *run) assign(c *scope, target string, v feel.Value) {
	name, path, nested := strings.Cut(target, ".")
	if nested {
		old, _ := view{scope: c}.Lookup(name)
		v = put(old, strings.Split(path, "."), v)
	}
	r.declare(c, name, v)
}

// put changes an entry inside a context; what is no context becomes one.
func put(into feel.Value, path []string, v feel.Value) feel.Value {
	if len(path) == 0 {
		return v
	}
	old, _ := into.(feel.Context)
	changed := maps.Clone(old)
	if changed == nil {
		changed = feel.Context{}
	}
	changed[path[0]] = put(old[path[0]], path[1:], v)
	return changed
}

// merge writes the entries of a context, each by itself. What is no context is written under a name.
func (r *run) merge(v feel.Value, name string, write func(name string, v feel.Value)) {
	entries, ok := v.(feel.Context)
	if !ok {
		if v != nil {
			write(name, v)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		write(key, entries[key])
	}
}

// maxDepth bounds lists and contexts inside one another, so that what is stored can be read again.
const maxDepth = 150

func (r *run) storable(name string, v feel.Value) bool {
	if why := unstorable(v, 0); why != "" {
		r.fail(fault.ValueNotStorable, nil, "variable %q cannot be stored: %s", name, why)
		return false
	}
	return true
}

// unstorable says why a value cannot be stored; empty: it can.
func unstorable(v feel.Value, depth int) string {
	if depth > maxDepth {
		return "it is nested too deep"
	}
	switch v := v.(type) {
	case feel.List:
		for _, item := range v {
			if why := unstorable(item, depth+1); why != "" {
				return why
			}
		}
	case feel.Context:
		for _, item := range v {
			if why := unstorable(item, depth+1); why != "" {
				return why
			}
		}
	case feel.Range:
		if why := unstorable(v.Low, depth+1); why != "" {
			return why
		}
		return unstorable(v.High, depth+1)
	case nil, feel.Boolean, feel.String, feel.Number, feel.Date, feel.Time, feel.DateTime, feel.DaysTime, feel.YearsMonths:
	default:
		return "a " + string(v.Kind()) + " is no data"
	}
	return ""
}
