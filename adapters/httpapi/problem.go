package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports/fault"
)

// retryAfter is what a sender of refused work is told to wait, in seconds.
const retryAfter = "1"

// gone is the status of a request whose caller has hung up: nobody reads it, and it is nobody's fault (nginx has it so).
const gone = 499

// refuse turns the error of a handler into a problem document. It is where an error stops, so here it is logged.
func (s *Server) refuse(ctx context.Context, w http.ResponseWriter, req *http.Request, err error) error {
	if err == nil {
		return nil
	}
	if req.Context().Err() != nil && errors.Is(err, context.Canceled) {
		w.WriteHeader(gone)
		return nil
	}
	p := problem(err)
	if p.Status >= 500 {
		s.Log.ErrorContext(ctx, "request failed", "method", req.Method, "path", req.URL.Path, "code", p.Code, "error", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable || p.Status == http.StatusConflict && p.Retryable {
		h.Set("Retry-After", retryAfter)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(req))
	}
	w.WriteHeader(p.Status)
	return json.NewEncoder(w).Encode(p)
}

// challenge says how to prove who calls (RFC 6750, section 3): a request that brought a token is told that it is not a good one.
func challenge(req *http.Request) string {
	if bearer(req) == "" {
		return `Bearer realm="sutra"`
	}
	return `Bearer realm="sutra", error="invalid_token"`
}

func problem(err error) wire.Problem {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fault.BodyTooLarge.With("the body has more than the %d bytes that are taken here", large.Limit)
	}
	f := fault.Of(err)
	disposition := f.Code.Disposition()
	p := wire.Problem{
		Type: "urn:sutra:problem:" + strings.ToLower(string(f.Code)), Title: title(f.Code), Status: f.Code.Status(), Detail: f.Detail,
		Code: string(f.Code), Retryable: disposition == fault.Redeliver || disposition == fault.Uncertain,
	}
	if f.Instance != "" {
		p.Instance = "/sutra/instances/" + f.Instance
	}
	all := f.All
	if f.File != "" {
		all = append([]fault.Fault{*f}, all...)
	}
	p.Violations = violations(all)
	return p
}

func violations(all []fault.Fault) (out []wire.Violation) {
	for _, v := range all {
		out = append(out, wire.Violation{Code: string(v.Code), Detail: v.Detail, File: v.File, Line: v.Line, Element: v.Element})
	}
	return out
}

// title is the last parts of a code as words: CLAIM_HELD of RESUME is "Resume: claim held".
func title(code fault.Code) string {
	parts := strings.Split(string(code), ".")
	words := strings.ToLower(strings.ReplaceAll(parts[len(parts)-1], "_", " "))
	if len(parts) < 3 {
		return words
	}
	operation := strings.ToLower(strings.ReplaceAll(parts[len(parts)-2], "_", " "))
	return strings.ToUpper(operation[:1]) + operation[1:] + ": " + words
}

func write(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(body)
}
