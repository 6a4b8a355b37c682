package token

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// Rows are the store rows of a snapshot: a function of it and its graph, so a commit writes the difference of two of them, and
// whoever doubts a store compares.
type Rows struct {
	Waits   []ports.Wait
	Aliases []ports.Alias
	Tasks   []ports.Task // without inputs: those are of the moment a task was made
}

// RowsOf derives the rows of a snapshot. A FAILED instance keeps its own aliases and nothing else; one that has ended keeps nothing.
func RowsOf(p *bpmn.Process, module string, s *Snapshot) Rows {
	var r Rows
	if s.Status.Ended() {
		return r
	}
	seen := map[ports.Alias]bool{} // iterations may hold the same key: one row
	for _, a := range s.Aliases {
		row := ports.Alias{Module: module, Name: a.Name, Value: ports.NewKey(a.Value), Wait: ports.WaitID(a.Wait), Unique: a.Unique}
		if s.Failure != nil && a.Wait != 0 || seen[row] {
			continue
		}
		seen[row] = true
		r.Aliases = append(r.Aliases, row)
	}
	if s.Failure != nil {
		return r
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		if w.Kind == Condition {
			continue
		}
		r.Waits = append(r.Waits, waitRow(w))
		if w.Kind == ports.WaitTask {
			r.Tasks = append(r.Tasks, taskRow(p, w))
		}
	}
	return r
}

func waitRow(w *Wait) ports.Wait {
	row := ports.Wait{ID: ports.WaitID(w.ID), Kind: w.Kind, Node: w.Node}
	switch w.Kind {
	case ports.WaitMessage, ports.WaitSignal:
		row.Name = ports.NewKey(string(w.Kind), w.Name)
	case ports.WaitTimer, ports.WaitRetry:
		row.Due = w.Due
	}
	return row
}

func taskRow(p *bpmn.Process, w *Wait) ports.Task {
	row := ports.Task{ID: w.Task, Wait: ports.WaitID(w.ID), Node: w.Node, Topic: w.Topic, Retries: int(w.Retries)}
	headers := feel.Context{}
	if n := p.Node(w.Node); n != nil && n.Task != nil {
		row.Open = n.Task.Open
		if row.Topic == "" && n.Task.Topic != nil {
			row.Topic = n.Task.Topic.Literal
		}
		for _, h := range n.Task.Headers {
			if h.Value.Expr == nil {
				headers[h.Name] = feel.String(h.Value.Literal)
			}
		}
	}
	maps.Copy(headers, w.Headers)
	for _, h := range w.Trace.Headers() {
		headers[h.Name] = feel.String(h.Value)
	}
	if len(headers) > 0 {
		row.Headers, _ = feel.ToJSON(headers) // values that were computed have been stored, so they have JSON
	}
	return row
}

// TraceOf is the trace of the step that parked a task, as its headers tell it.
func TraceOf(t ports.Task) ports.Trace {
	var h struct{ Traceparent, Tracestate string }
	if json.Unmarshal(t.Headers, &h) != nil {
		return ""
	}
	return ports.TraceOf([]ports.Header{{Name: "traceparent", Value: h.Traceparent}, {Name: "tracestate", Value: h.Tracestate}})
}

// Change is the difference between the rows of an instance before and after a step: what its commit inserts and drops. after is the
// snapshot of now.
func Change(old, now Rows, after *Snapshot) (ports.Rows, ports.Dropped) {
	var insert ports.Rows
	var drop ports.Dropped
	insert.Waits, drop.Waits = difference(old.Waits, now.Waits, func(w ports.Wait) ports.WaitID { return w.ID })
	insert.Aliases, drop.Aliases = difference(old.Aliases, now.Aliases, func(a ports.Alias) ports.Alias { return a })
	insert.Tasks, drop.Tasks = difference(old.Tasks, now.Tasks, func(t ports.Task) ports.TaskID { return t.ID })
	if len(insert.Tasks) > 0 {
		seen := seesOf(after)
		for i, t := range insert.Tasks {
			insert.Tasks[i].Inputs = seen.inputs(ID(t.Wait))
		}
	}
	drop.All = after.Status.Ended()
	return insert, drop
}

// Moved are the waits and tasks that stay and say something else: under another revision a node may have another name. Topics are
// the tasks that other workers get now. What their rows alone know stays as it is.
func Moved(old, now Rows) (waits []ports.Wait, tasks, topics []ports.Task) {
	id := func(t ports.Task) ports.TaskID { return t.ID }
	waits = altered(old.Waits, now.Waits, func(w ports.Wait) ports.WaitID { return w.ID }, func(a, b ports.Wait) bool { return a == b })
	tasks = altered(old.Tasks, now.Tasks, id, func(a, b ports.Task) bool {
		return a.Node == b.Node && a.Open == b.Open && bytes.Equal(a.Headers, b.Headers)
	})
	topics = altered(old.Tasks, now.Tasks, id, func(a, b ports.Task) bool { return a.Topic == b.Topic })
	return waits, tasks, topics
}

// altered lists what is in both lists and not the same.
func altered[T any, K comparable](old, now []T, key func(T) K, same func(a, b T) bool) (out []T) {
	before := make(map[K]T, len(old))
	for _, x := range old {
		before[key(x)] = x
	}
	for _, x := range now {
		if was, there := before[key(x)]; there && !same(was, x) {
			out = append(out, x)
		}
	}
	return out
}

// difference compares two lists by key, in their own order.
func difference[T any, K comparable](old, now []T, key func(T) K) (added []T, gone []K) {
	before, after := make(map[K]bool, len(old)), make(map[K]bool, len(now))
	for _, x := range old {
		before[key(x)] = true
	}
	for _, x := range now {
		after[key(x)] = true
		if !before[key(x)] {
			added = append(added, x)
		}
	}
	for _, x := range old {
		if !after[key(x)] {
			gone = append(gone, key(x))
		}
	}
	return added, gone
}

// sees answers what the waits of a snapshot see.
type sees struct {
	scopes map[ID]*Scope
	from   map[ID]ID // wait → its innermost scope
}

func seesOf(s *Snapshot) sees {
	x := sees{make(map[ID]*Scope, len(s.Scopes)), make(map[ID]ID, len(s.Waits))}
	for i := range s.Scopes {
		x.scopes[s.Scopes[i].ID] = &s.Scopes[i]
	}
	inner := make(map[ID]ID, len(s.Tokens))
	for _, t := range s.Tokens {
		inner[t.ID] = max(t.Scope, t.Inner) // a token's own scope is younger than the one it stands in
	}
	for _, w := range s.Waits {
		x.from[w.ID] = max(w.Scope, inner[w.Token])
	}
	return x
}

// inputs is the JSON of all variables that a wait sees.
func (x sees) inputs(wait ID) []byte {
	seen := feel.Context{}
	for c := x.scopes[x.from[wait]]; c != nil; c = x.scopes[c.Parent] {
		for name, v := range c.Variables {
			if _, hidden := seen[name]; !hidden {
				seen[name] = v
			}
		}
	}
	data, err := feel.ToJSON(seen)
	if err != nil {
		return []byte("{}") // what is stored has JSON
	}
	return data
}
