package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// channel answers every path that is not the engine's own: a channel's door, if there is one.
func (s *Server) channel(w http.ResponseWriter, req bunrouter.Request) error {
	entrance, err := s.find(req)
	if err != nil {
		return s.watched(unknown, func(http.ResponseWriter, bunrouter.Request) error { return err })(w, req)
	}
	return s.watched("channel "+entrance.Channel, func(w http.ResponseWriter, req bunrouter.Request) error {
		return s.enter(w, req, entrance)
	})(w, req)
}

func (s *Server) find(req bunrouter.Request) (ports.Entrance, error) {
	if own(req.URL.Path) {
		return ports.Entrance{}, fault.RouteUnknown.With("there is no %s %s", req.Method, req.URL.Path)
	}
	return s.Intake.Enter(req.Context(), "http "+req.Method+" "+req.URL.Path)
}

// enter takes a request as a message of its channel.
func (s *Server) enter(w http.ResponseWriter, req bunrouter.Request, entrance ports.Entrance) error {
	if err := s.admit(entrance.Auth, req.Request); err != nil {
		return err
	}
	in, err := incoming(w, req.Request, entrance)
	if err != nil {
		return err
	}
	in.Tenant, in.Channel, in.Received = entrance.Tenant, entrance.Channel, s.Clock.Now()
	receipt, err := s.Intake.Take(req.Context(), in)
	if err != nil {
		return err
	}
	return answer(w, receipt)
}

// admit checks a channel's callers: by their token, or by its key, in constant time.
func (s *Server) admit(a ports.Auth, req *http.Request) error {
	switch {
	case a.Scheme == "none":
		return nil
	case a.Audience != "":
		return s.Tokens.admit(req.Context(), a, bearer(req))
	}
	given := bearer(req)
	if a.Scheme != "bearer" {
		given = req.Header.Get(a.Header)
	}
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(a.Key))
	if a.Key == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return fault.Unauthorized.With("the key of this channel is missing or wrong")
	}
	return nil
}

// incoming reads a request as a message. Headers that prove who calls stay outside.
func incoming(w http.ResponseWriter, req *http.Request, at ports.Entrance) (ports.Incoming, error) {
	body, err := all(w, req, at.Limit)
	if err != nil {
		return ports.Incoming{}, err
	}
	in := ports.Incoming{ContentType: req.Header.Get("Content-Type"), Body: body}
	if key := req.Header.Get("Idempotency-Key"); key != "" {
		in.EventID = []byte(key)
	}
	proofs := []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", http.CanonicalHeaderKey(at.Auth.Header)}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		if slices.Contains(proofs, name) {
			continue
		}
		in.Headers = append(in.Headers, ports.Header{Name: name, Value: strings.Join(req.Header[name], ", ")})
	}
	return in, nil
}

// answer is the reply the model gave, or 202 with where to look.
func answer(w http.ResponseWriter, r ports.Receipt) error {
	h := w.Header()
	if !r.Instance.IsZero() {
		h.Set("Sutra-Instance", r.Instance.String())
		h.Set("Location", "/sutra/instances/"+r.Instance.String())
	}
	if r.Duplicate {
		h.Set("Sutra-Duplicate", "true")
	}
	if r.Answer == nil {
		out := wire.Accepted{Duplicate: r.Duplicate}
		if !r.Instance.IsZero() {
			out.Instance = r.Instance.String()
		}
		return write(w, http.StatusAccepted, out)
	}
	for _, header := range r.Answer.Headers {
		h.Add(header.Name, header.Value)
	}
	if r.Answer.ContentType != "" {
		h.Set("Content-Type", r.Answer.ContentType)
	}
	w.WriteHeader(max(r.Answer.Status, 200))
	_, err := w.Write(r.Answer.Body)
	return err
}
