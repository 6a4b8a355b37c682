package httpapi

import (
	"net/http"
	"slices"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// unknown is the route of all requests that find none: however many addresses are tried, they count as one.
const unknown = "unknown"

// watched answers for a route, and counts, times and traces what it answers, by the names that the route has: never by what a caller
// wrote. Probes and scrapes leave no spans.
func (s *Server) watched(route string, next bunrouter.HandlerFunc) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, req bunrouter.Request) error {
		began := s.Clock.Now()
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		method := methodOf(req.Request)
		end := func(ports.Ending) {}
		if !probe(route) {
			ctx := req.Context()
			ctx, end = s.Watch.Span(ctx, ports.Span{Name: method + " " + route, Kind: ports.SpanServer, Parent: traceOf(req.Header)})
			req = req.WithContext(ctx)
		}
		seen := &answered{ResponseWriter: w, status: http.StatusOK}
		refused, returned := error(fault.Internal), false
		defer func() {
			if !returned { // it panics, and the server cuts the connection
				seen.status = http.StatusInternalServerError
			}
			s.Watch.Count("sutra_http_requests_total", 1, "route", route, "method", method, "status", string(rune('0'+seen.status/100))+"xx")
			s.Watch.Observe("sutra_http_request_seconds", s.Clock.Now().Sub(began), "route", route, "method", method)
			end(seen.ending(method, route, refused))
		}()
		refused = next(seen, req)
		returned = true
		return s.refuse(req.Context(), seen, req.Request, refused)
	}
}

// InFlight is how many requests are being answered.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }

func probe(route string) bool {
	return route == "/metrics" || route == "/sutra/health/live" || route == "/sutra/health/ready"
}

func traceOf(h http.Header) ports.Trace {
	var all []ports.Header
	for _, name := range []string{"traceparent", "tracestate"} {
		all = append(all, ports.Header{Name: name, Value: h.Get(name)})
	}
	return ports.TraceOf(all)
}

// methodOf is the method, where it is one that there is: callers may write anything.
func methodOf(req *http.Request) string {
	known := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	if slices.Contains(known, req.Method) {
		return req.Method
	}
	return "_OTHER" // as OpenTelemetry has it
}

// answered remembers how a request was answered.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is beneath.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// ending is what the request has come to. What the caller did wrong is no error of this server.
func (a *answered) ending(method, route string, refused error) ports.Ending {
	out := ports.Ending{Attributes: []any{
		"http.request.method", method, "http.route", route, "http.response.status_code", a.status,
	}}
	if id := a.Header().Get("Sutra-Instance"); id != "" {
		out.Attributes = append(out.Attributes, "sutra.instance.id", id)
	}
	switch {
	case refused == nil:
	case a.status >= http.StatusInternalServerError:
		out.Err = refused
	default:
		out.Attributes = append(out.Attributes, "sutra.code", string(fault.Of(refused).Code))
	}
	return out
}
