package step

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/ports"
)

// The modes of CloudEvents 1.0: attributes beside the body, or around it.
const (
	eventBinary     = "cloudevent-binary"
	eventStructured = "cloudevent-structured"
	matchInbound    = "match-inbound"
)

const structuredType = "application/cloudevents+json"

// content is a body on its way out, with its headers.
type content struct {
	kind    string // content type
	body    []byte
	headers []ports.Header
}

// wrap makes a CloudEvent of what goes out, in one of its modes; in any other it goes out as it is. Headers named ce-… are attributes,
// and change those that the engine gives: id, source (the process), type (the message's name, else the node), subject (the instance)
// and time.
func (r *run) wrap(mode string, id ports.ID, c content, n *bpmn.Node) content {
	if mode != eventBinary && mode != eventStructured {
		return c
	}
	attributes := map[string]string{
		"specversion": "1.0", "id": id.String(), "source": "/sutra/" + r.p.Module + "/" + r.g.ID, "type": r.eventType(n),
		"subject": r.ref.ID.String(), "time": r.at.Format(time.RFC3339Nano),
	}
	out := content{kind: c.kind, body: c.body}
	for _, h := range c.headers {
		if name, found := strings.CutPrefix(strings.ToLower(h.Name), "ce-"); found {
			attributes[name] = h.Value
		} else {
			out.headers = append(out.headers, h)
		}
	}
	if mode == eventStructured {
		out.kind, out.body = structuredType, enveloped(attributes, c)
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		out.headers = append(out.headers, ports.Header{Name: "ce-" + name, Value: attributes[name]})
	}
	return out
}

func (r *run) eventType(n *bpmn.Node) string {
	if n.Event != nil && n.Event.Name != nil && n.Event.Name.Expr == nil && n.Event.Name.Literal != "" {
		return n.Event.Name.Literal
	}
	return n.ID
}

// enveloped writes the structured form: JSON stays JSON, text is a string, all else base64.
func enveloped(attributes map[string]string, c content) []byte {
	envelope := map[string]any{"datacontenttype": c.kind}
	for name, value := range attributes {
		envelope[name] = value
	}
	switch {
	case isJSON(c.kind) && json.Valid(c.body):
		envelope["data"] = json.RawMessage(c.body)
	case utf8.Valid(c.body):
		envelope["data"] = string(c.body)
	default:
		envelope["data_base64"] = base64.StdEncoding.EncodeToString(c.body)
	}
	data, err := json.Marshal(envelope)
	if err != nil {
		return c.body // texts, and JSON that was found valid
	}
	return data
}
