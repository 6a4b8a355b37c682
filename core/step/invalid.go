package step

import (
	"cmp"
	"strings"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Violation is one thing in which a payload violates its channel's schema.
type Violation struct {
	Path string `cbor:"1,keyasint,omitempty"` // JSON pointer
	Text string `cbor:"2,keyasint,omitempty"`
}

// violations is the variable of what is wrong with a payload, for models that route by it.
const violations = "validationErrors"

// admits says that a node takes a message although its payload may violate the schema.
func admits(n *bpmn.Node, ev *Event) bool {
	return len(ev.Violations) == 0 || n.Source != nil && n.Source.OnValidation != "reject"
}

// erring says that a node answers this message with a BPMN error.
func erring(n *bpmn.Node, ev *Event) bool {
	return ev != nil && len(ev.Violations) > 0 && n.Source != nil && n.Source.OnValidation == "error"
}

// wrongs lists what is wrong with a payload; nothing: an empty list.
func wrongs(ev *Event) feel.List {
	out := feel.List{}
	for _, v := range ev.Violations {
		out = append(out, feel.Context{"path": feel.String(v.Path), "message": feel.String(v.Text)})
	}
	return out
}

// invalid throws the BPMN error of a payload that violates its schema, where the message would have been taken: at the activity of a
// boundary event, in the scope of an event sub-process.
func (r *run) invalid(w *wait, ev *Event) {
	t := w.token
	if t == nil {
		t = r.place(w.scope, w.node.Scope.Node)
		t.state = token.Active
	}
	r.raise(t, refusal(w.node, ev))
}

// refusal is the error that a node throws for a payload.
func refusal(n *bpmn.Node, ev *Event) *Event {
	texts := make([]string, len(ev.Violations))
	for i, v := range ev.Violations {
		texts[i] = strings.TrimPrefix(v.Path+": ", ": ") + v.Text
	}
	return &Event{
		Code: cmp.Or(n.Source.ErrorCode, string(fault.SchemaViolated)), Message: strings.Join(texts, "; "), Payload: ev.Payload,
	}
}
