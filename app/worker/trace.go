package worker

import (
	"net/url"
	"strings"

	"github.com/sutra-engine/sutra/ports"
)

// sending is the span of one attempt: of a client where the transport answers, else of a producer.
func sending(e *ports.Emission) ports.Span {
	if overHTTP(e) {
		return ports.Span{Name: "POST", Kind: ports.SpanClient, Parent: e.Trace}
	}
	return ports.Span{Name: "send", Kind: ports.SpanProducer, Parent: e.Trace}
}

// sent says what became of an attempt. Where it went is told without what an address may hide: user, path and query.
func sent(e *ports.Emission, r ports.Response, err error) ports.Ending {
	out := ports.Ending{Err: err, Attributes: []any{
		"sutra.tenant", e.Tenant, "sutra.emission.id", e.ID.String(),
	}}
	if !e.Instance.IsZero() {
		out.Attributes = append(out.Attributes, "sutra.instance.id", e.Instance.String())
	}
	to, bad := url.Parse(e.Destination)
	if bad != nil {
		return out
	}
	out.Attributes = append(out.Attributes, "server.address", to.Hostname())
	if !overHTTP(e) {
		out.Attributes = append(out.Attributes, "messaging.operation.type", "send", "messaging.destination.name", e.Topic,
			"messaging.message.id", e.ID.String())
		return out
	}
	out.Attributes = append(out.Attributes, "http.request.method", "POST")
	if r.Status != 0 {
		out.Attributes = append(out.Attributes, "http.response.status_code", r.Status)
	}
	return out
}

func overHTTP(e *ports.Emission) bool {
	scheme, _, _ := strings.Cut(e.Destination, ":")
	return strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https")
}
