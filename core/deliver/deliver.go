// Package deliver turns the end of a send into what the calling instance hears: a delivery, written with the settling of the send. It
// sends nothing.
package deliver

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// The BPMN error codes of a call that ended without an answer (catchable by an error boundary).
const (
	CallRejected  = "SUTRA.CALL.REJECTED"
	CallExhausted = "SUTRA.CALL.EXHAUSTED"
)

// Reply is the answer to a call as a delivery to the wait that called. JSON is read as values, other text as text, the rest as base64.
func Reply(e ports.Emission, r ports.Response) *ports.Message {
	payload, err := step.EncodeEvent(step.Event{Attempt: e.Attempt, Status: r.Status, Headers: r.Headers, Payload: value(r), Trace: e.Trace})
	if err != nil {
		return Failed(e, fault.SendRefused.With("the answer cannot be kept: %w", err))
	}
	return message(e, ports.KindCallReply, payload)
}

// Failed is the final failure of a call as a delivery to the wait that called.
func Failed(e ports.Emission, f *fault.Fault) *ports.Message {
	code := CallExhausted
	if f.Code.Disposition() == fault.Reject {
		code = CallRejected
	}
	payload, err := step.EncodeEvent(step.Event{Attempt: e.Attempt, Code: code, Message: f.Detail, Trace: e.Trace})
	if err != nil {
		payload = nil // texts and numbers can be written
	}
	return message(e, ports.KindCallFailed, payload)
}

// message is keyed by the emission: settling twice makes one delivery.
func message(e ports.Emission, kind ports.MessageKind, payload []byte) *ports.Message {
	return &ports.Message{
		InboxRef: ports.InboxRef{
			Tenant: e.Tenant, Channel: ports.DeliveryChannel,
			Event: ports.NewKey("call", e.ID.String(), strconv.Itoa(e.Attempt)),
		},
		Kind: kind, Target: e.Instance, Wait: e.Wait, Deployment: e.Deployment, Payload: payload,
	}
}

func value(r ports.Response) feel.Value {
	if len(r.Body) == 0 {
		return nil
	}
	if strings.Contains(r.ContentType, "json") {
		if v, err := feel.FromJSON(r.Body); err == nil {
			return v
		}
	}
	if utf8.Valid(r.Body) {
		return feel.String(r.Body)
	}
	return feel.String(base64.StdEncoding.EncodeToString(r.Body))
}
