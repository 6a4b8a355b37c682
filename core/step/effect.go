package step

import (
	"strconv"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/token"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// effects are what a step does to the world, in the order it did it.
type effects struct {
	ordinal    int // of ids and deliveries
	emissions  []ports.Emission
	deliveries []ports.Message
	replies    []ports.Reply
	consumed   []ports.Consumed
	void       []ports.InboxRef
	task       *ports.TaskLock
}

// derive makes the next id of this step.
func (r *run) derive() ports.ID {
	r.effects.ordinal++
	return r.step.Derive(r.effects.ordinal)
}

// emit sends a message to the world.
func (r *run) emit(e ports.Emission, n *bpmn.Node) {
	if e.ID.IsZero() {
		e.ID = r.derive()
	}
	e.Tenant, e.Deployment, e.Instance = r.ref.Tenant, r.p.Deployment, r.ref.ID
	e.Seq, e.Trace = r.head.Step<<20|int64(r.effects.ordinal), r.trace
	r.effects.emissions = append(r.effects.emissions, e)
	r.note("emitted "+e.Destination, n, 0)
}

// delivery is a message to another instance.
func (r *run) delivery(kind ports.MessageKind, target ports.InstanceID, w ports.WaitID, ev Event) ports.Message {
	r.effects.ordinal++
	ev.From, ev.Trace = Source{Instance: r.ref.ID, Step: r.head.Step, Ordinal: r.effects.ordinal}, r.trace
	payload, err := EncodeEvent(ev)
	if err != nil {
		r.fail(fault.ValueNotStorable, nil, "the payload of a %s: %w", kind, err)
	}
	key := ports.NewKey(r.ref.Tenant, ports.DeliveryChannel, r.step.Derive(r.effects.ordinal).String())
	return ports.Message{
		InboxRef: ports.InboxRef{Tenant: r.ref.Tenant, Channel: ports.DeliveryChannel, Event: key},
		Kind:     kind, Target: target, Wait: w, Source: r.ref.ID, Deployment: r.p.Deployment, Payload: payload, Accepted: r.at,
	}
}

func (r *run) deliver(kind ports.MessageKind, target ports.InstanceID, w ports.WaitID, ev Event) {
	r.effects.deliveries = append(r.effects.deliveries, r.delivery(kind, target, w, ev))
}

// broadcast leaves a signal to the fan-out, which passes over the waits of this instance: they were served in this step.
func (r *run) broadcast(name string, payload feel.Value) {
	m := r.delivery(ports.KindSignal, ports.InstanceID{}, 0, Event{Kind: KindSignal, Payload: payload})
	m.Name = ports.NewKey(string(ports.WaitSignal), name)
	r.effects.deliveries = append(r.effects.deliveries, m)
}

// throwLocal sends a message to a local channel of the tenant: it is routed there like any other.
func (r *run) throwLocal(name string, payload feel.Value, headers []ports.Header) {
	m := r.delivery(ports.KindMessage, ports.InstanceID{}, 0, Event{Kind: KindMessage, Payload: payload, Headers: headers})
	m.Channel = name
	m.EventID = []byte(r.step.Derive(r.effects.ordinal).String())
	m.Event = ports.NewKey(r.ref.Tenant, name, string(m.EventID))
	r.effects.deliveries = append(r.effects.deliveries, m)
}

// send is q:send.
func (r *run) send(s *bpmn.Send, t *tok) {
	n := t.node
	if s.Channel != "" {
		ch, known := r.p.Channels[s.Channel]
		if !known {
			r.fail(fault.ChannelUnknown, n, "there is no channel %q; add it to channels.yaml", s.Channel)
			return
		}
		if ch.Transport == channel.Local {
			var payload feel.Value = r.taken(t)
			if s.Body != nil {
				payload = r.eval(s.Body, t.local(), nil, n)
			}
			r.throwLocal(s.Channel, payload, r.headers(s.Headers, t.local(), n))
			return
		}
	}
	e := ports.Emission{ID: r.derive(), Destination: "channel:" + s.Channel}
	if s.Destination != nil {
		if e.Destination = r.text(s.Destination, t.local(), nil, n); e.Destination == "" {
			r.fail(fault.ExpressionFailed, n, "the destination of %q is null", n.ID)
			return
		}
	}
	out := content{headers: r.headers(s.Headers, t.local(), n)}
	out.kind, out.body = r.body(s.ContentType, s.Template, s.Body, r.taken(t), t.local(), n)
	out = r.wrap(s.Mode, e.ID, out, n)
	e.ContentType, e.Body, e.Headers = out.kind, out.body, out.headers
	r.emit(e, n)
}

func (r *run) headers(headers []bpmn.Header, c *scope, n *bpmn.Node) []ports.Header {
	var out []ports.Header
	for _, h := range headers {
		out = append(out, ports.Header{Name: h.Name, Value: r.text(h.Value, c, nil, n)})
	}
	return out
}

// body renders a template, or a value: text as it is when the content type is no JSON, else JSON.
func (r *run) body(contentType, template string, body *bpmn.Expression, otherwise feel.Value, c *scope, n *bpmn.Node) (string, []byte) {
	if contentType == "" {
		contentType = "application/json"
	}
	if template != "" {
		return contentType, []byte(r.render(template, c, nil, n))
	}
	v := otherwise
	if body != nil {
		v = r.eval(body, c, nil, n)
	}
	if text, ok := v.(feel.String); ok && !isJSON(contentType) {
		return contentType, []byte(text)
	}
	data, err := feel.ToJSON(v)
	if err != nil {
		r.fail(fault.ValueNotStorable, n, "the body of %q: %w", n.ID, err)
	}
	return contentType, data
}

// reply answers the latest message that still waits for an answer; without one nothing happens.
func (r *run) reply(x *bpmn.Reply, c *scope, n *bpmn.Node) {
	if len(r.head.Open) == 0 {
		r.note("reply without a question", n, 0)
		return
	}
	response := ports.Response{Status: 200}
	if x.Status != nil {
		status, err := strconv.Atoi(r.text(x.Status, c, nil, n))
		if err != nil || status < 100 || status > 599 {
			r.fail(fault.ExpressionFailed, n, "the status of the reply of %q is no HTTP status", n.ID)
			return
		}
		response.Status = status
	}
	last := len(r.head.Open) - 1
	open := r.head.Open[last]
	r.head.Open = r.head.Open[:last]
	out := content{headers: r.headers(x.Headers, c, n)}
	out.kind, out.body = r.body(x.ContentType, x.Template, x.Body, r.shown(visible(c)), c, n)
	mode := x.Mode
	if mode == matchInbound {
		mode = open.Mode
	}
	if mode == eventBinary || mode == eventStructured {
		out = r.wrap(mode, r.derive(), out, n)
	}
	response.ContentType, response.Body, response.Headers = out.kind, out.body, out.headers
	r.answer(open, response)
	r.note("replied", n, 0)
}

// answer gives a response to a message: with the message when this very step takes it, else to its row.
func (r *run) answer(open token.Open, response ports.Response) {
	document, err := EncodeReply(response)
	if err != nil {
		r.fail(fault.ValueNotStorable, nil, "a reply: %w", err)
		return
	}
	ref := ports.InboxRef{Tenant: r.ref.Tenant, Channel: open.Channel, Event: open.Event}
	for i := range r.effects.consumed {
		if r.effects.consumed[i].InboxRef == ref {
			r.effects.consumed[i].Reply = document
			return
		}
	}
	r.effects.replies = append(r.effects.replies, ports.Reply{InboxRef: ref, Document: document})
}

// answerAll answers every message that still waits with the variables of the process: the instance has ended.
func (r *run) answerAll() {
	if len(r.head.Open) == 0 {
		return
	}
	body, err := feel.ToJSON(r.shown(r.root.variables))
	if err != nil {
		r.fail(fault.ValueNotStorable, nil, "the reply: %w", err)
		return
	}
	for _, open := range r.head.Open {
		r.answer(open, ports.Response{Status: 200, ContentType: "application/json", Body: body})
	}
	r.head.Open = nil
}

// shown is variables without those that nobody outside may see.
func (r *run) shown(variables feel.Context) feel.Context {
	out := feel.Context{}
	for name, v := range variables {
		if x := r.g.Variable(name); !x.Sensitive && !x.Transient {
			out[name] = v
		}
	}
	return out
}

// asked remembers a message that waits for an answer.
func (r *run) asked(ev *Event) {
	ref := ev.Asked
	if ref == (ports.InboxRef{}) && ev.Consumed != nil {
		ref = ev.Consumed.InboxRef
	}
	if ref.Channel == "" || ref.Channel == ports.DeliveryChannel || ev.Answered {
		return
	}
	if ch, known := r.p.Channels[ref.Channel]; known && ch.AckMode == channel.OnPersist {
		return
	}
	r.head.Open = append(r.head.Open, token.Open{Channel: ref.Channel, Event: ref.Event, Mode: ev.Mode})
}
