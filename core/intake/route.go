package intake

import (
	"slices"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Lookups answers what to ask the store: who waits for this message. None: nobody can.
func (m *Message) Lookups() ([]ports.Lookup, error) {
	var out []ports.Lookup
	add := func(l ports.Lookup) {
		l.Tenant, l.Wait, l.Module = m.Inbox.Tenant, deploy.WaitName(m.Name), m.Rev.Slot.Module
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	for _, c := range m.catches() {
		if len(c.Aliases) == 0 {
			add(ports.Lookup{})
		}
		for _, a := range c.Aliases {
			if a.Subscriber {
				if !m.Match.IsZero() {
					add(ports.Lookup{Alias: "message:" + m.Name, Value: m.Match})
				}
				continue
			}
			v, err := a.Expr.Eval(feel.Env{Scope: m.scope()})
			if err != nil {
				return nil, fault.BodyUndecodable.With("alias %q of %s cannot be computed from this payload: %w", a.Name, c.Node.ID, err)
			}
			if v != nil {
				add(ports.Lookup{Alias: a.Name, Value: ports.NewKey(feel.Text(v))})
			}
		}
	}
	return out, nil
}

// Route is where a message goes: to waiting instances, or to a start.
type Route struct {
	Relays []Relay
	Start  *deploy.Start
}

// Relay is one instance that takes the message.
type Relay struct {
	Ref        ports.Ref
	Deployment ports.DeploymentID
	Wait       ports.WaitID // 0: the step chooses among several, by name
}

// Decide routes a message from what the store answered to its lookups. A wait comes before a start.
func (m *Message) Decide(waiting [][]ports.Waiting) (Route, error) {
	relays := gather(waiting)
	switch {
	case len(relays) == 1, len(relays) > 1 && m.Channel.Broadcast:
		return Route{Relays: relays}, nil
	case len(relays) > 1:
		return Route{}, fault.Ambiguous.With("%d instances wait for this message; correlate by a key that only one has, or make channel %q a broadcast",
			len(relays), m.Channel.Name)
	}
	var starts []deploy.Start
	for _, s := range m.Rev.Routes(m.Name).Starts {
		if m.typed(s.Node.Source) && m.admitted(s.Node.Source) {
			starts = append(starts, s)
		}
	}
	switch len(starts) {
	case 0:
		return Route{}, fault.NoMatch.With("no instance waits for this message, and it starts none")
	case 1:
		return Route{Start: &starts[0]}, nil
	}
	return Route{}, fault.Ambiguous.With("%d start events take this message; tell them apart by messageTypeValue", len(starts))
}

// gather makes one relay of each instance, whatever number of its waits was found.
func gather(waiting [][]ports.Waiting) []Relay {
	var out []Relay
	at := map[ports.Ref]int{}
	for _, found := range waiting {
		for _, w := range found {
			i, twice := at[w.Ref]
			if !twice {
				at[w.Ref] = len(out)
				out = append(out, Relay{w.Ref, w.Deployment, w.Wait})
			} else if out[i].Wait != w.Wait {
				out[i].Wait = 0
			}
		}
	}
	return out
}

// Event is the message as the step takes it. Match is the correlation value it was found by, where there is one lookup.
func (m *Message) Event(wait ports.WaitID, lookups []ports.Lookup) step.Event {
	e := step.Event{
		Kind: step.KindMessage, Wait: wait, Name: deploy.WaitName(m.Name), Payload: m.Value, Headers: m.Headers, Violations: m.Violations, Mode: m.Mode, Trace: m.Trace,
	}
	if len(lookups) == 1 {
		e.Match = lookups[0].Value
	}
	return e
}

// StartEvent is the message as it starts an instance at a node.
func (m *Message) StartEvent(node string) step.Event {
	return step.Event{
		Kind: step.KindStart, Node: node, Payload: m.Value, Headers: m.Headers, Violations: m.Violations, Mode: m.Mode, Trace: m.Trace,
	}
}

func (m *Message) catches() []deploy.Catch {
	var out []deploy.Catch
	for _, c := range m.Rev.Routes(m.Name).Catches {
		if m.typed(c.Node.Source) && m.admitted(c.Node.Source) {
			out = append(out, c)
		}
	}
	return out
}

// admitted says that a q:source takes this message, whatever is wrong with its payload.
func (m *Message) admitted(s *bpmn.Source) bool {
	return len(m.Violations) == 0 || s != nil && s.OnValidation != "reject"
}

// sources are the q:source elements that this message can meet.
func (m *Message) sources() []*bpmn.Source {
	var out []*bpmn.Source
	r := m.Rev.Routes(m.Name)
	for _, s := range r.Starts {
		if s.Node.Source != nil && m.typed(s.Node.Source) {
			out = append(out, s.Node.Source)
		}
	}
	for _, c := range r.Catches {
		if c.Node.Source != nil && m.typed(c.Node.Source) {
			out = append(out, c.Node.Source)
		}
	}
	return out
}

// typed says that a q:source takes messages of this type.
func (m *Message) typed(s *bpmn.Source) bool {
	switch {
	case s == nil:
		return true
	case s.TypeValue != nil:
		return s.TypeValue.Literal == m.Type
	case s.TypePattern != "":
		return m.Rev.Pattern(s.TypePattern).MatchString(m.Type)
	}
	return true
}
