package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func (s *Server) outbox(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	after, limit, only, err := cursor(req, "poisoned")
	if err != nil {
		return err
	}
	rows, err := s.Views.Emissions(req.Context(), p.Tenants, only, after, limit)
	if err != nil {
		return err
	}
	page := wire.Page[wire.Emission]{Items: []wire.Emission{}}
	for _, e := range rows {
		page.Items = append(page.Items, wire.Emission{
			ID: e.ID.String(), Tenant: e.Tenant, Instance: e.Instance.String(), Destination: e.Destination, Attempts: e.Attempts, Next: e.Next,
			Poisoned: e.Poisoned, LastError: e.LastError, Created: e.Created,
		})
	}
	if len(rows) == limit {
		page.Next = rows[len(rows)-1].ID.String()
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) redrive(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	tenant, err := p.tenant(req)
	if err != nil {
		return err
	}
	if err := s.Reviver.Redrive(req.Context(), p.actor(), tenant, id); err != nil {
		return err
	}
	return write(w, http.StatusOK, struct{}{})
}

func (s *Server) tasks(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	after, limit, only, err := cursor(req, "terminal")
	if err != nil {
		return err
	}
	rows, err := s.Views.ListTasks(req.Context(), p.Tenants, only, after, limit)
	if err != nil {
		return err
	}
	page := wire.Page[wire.Task]{Items: []wire.Task{}}
	for _, t := range rows {
		page.Items = append(page.Items, task(t))
	}
	if len(rows) == limit {
		page.Next = rows[len(rows)-1].Task.ID.String()
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) retry(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	retries := 1
	if text := req.URL.Query().Get("retries"); text != "" {
		if retries, err = strconv.Atoi(text); err != nil || retries < 1 {
			return fault.RequestInvalid.With("retries is %q; use a whole number from 1", text)
		}
	}
	if err := s.Reviver.Retry(req.Context(), p.actor(), id, retries); err != nil {
		return err
	}
	return write(w, http.StatusOK, struct{}{})
}

func (s *Server) correct(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	var in wire.Correction
	if err := s.body(w, req, &in); err != nil {
		return err
	}
	if err := s.Operator.Correct(req.Context(), p.actor(), id, in.Variables); err != nil {
		return err
	}
	return s.instance(w, req, p)
}

func (s *Server) retryNow(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	wait := int64(0)
	if text := req.URL.Query().Get("wait"); text != "" {
		if wait, err = strconv.ParseInt(text, 10, 64); err != nil || wait < 1 {
			return fault.RequestInvalid.With("wait is %q; use the id of one of the instance's waits", text)
		}
	}
	if err := s.Operator.RetryNow(req.Context(), p.actor(), id, ports.WaitID(wait)); err != nil {
		return err
	}
	return s.instance(w, req, p)
}

func (s *Server) audit(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	after, limit, _, err := cursor(req, "")
	if err != nil {
		return err
	}
	values := req.URL.Query()
	q := ports.AuditQuery{Tenants: p.Tenants, Actor: values.Get("actor"), Action: values.Get("action"), After: after, Limit: limit}
	if tenant := values.Get("tenant"); tenant != "" {
		if p.Tenants != nil && !slices.Contains(p.Tenants, tenant) {
			return write(w, http.StatusOK, wire.Page[wire.Audit]{Items: []wire.Audit{}})
		}
		q.Tenants = []string{tenant}
	}
	if text := values.Get("instance"); text != "" {
		if q.Instance, err = ports.ParseID(text); err != nil {
			return fault.RequestInvalid.With("instance: %w", err)
		}
	}
	if q.Since, q.Until, err = between(values); err != nil {
		return err
	}
	rows, err := s.Audits.List(req.Context(), q)
	if err != nil {
		return err
	}
	page := wire.Page[wire.Audit]{Items: []wire.Audit{}}
	for _, a := range rows {
		page.Items = append(page.Items, audited(a))
	}
	if len(rows) == limit {
		page.Next = rows[len(rows)-1].ID.String()
	}
	return write(w, http.StatusOK, page)
}

func audited(a ports.Audit) wire.Audit {
	out := wire.Audit{ID: a.ID.String(), Tenant: a.Tenant, At: a.At, Actor: a.Actor, Action: a.Action, Subject: a.Subject, Detail: a.Detail}
	if !a.Instance.IsZero() {
		out.Instance = a.Instance.String()
	}
	return out
}

// between reads since and until.
func between(q url.Values) (since, until time.Time, err error) {
	for name, into := range map[string]*time.Time{"since": &since, "until": &until} {
		if text := q.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339, text); err != nil {
				return since, until, fault.RequestInvalid.With("%s is %q; use an RFC 3339 time", name, text)
			}
		}
	}
	return since, until, nil
}

// cursor reads a page of a list of ids, and whether only those are asked for that an operator has to look at.
func cursor(req bunrouter.Request, only string) (after ports.ID, most int, set bool, err error) {
	q := req.URL.Query()
	if most, err = limit(q.Get("limit")); err != nil {
		return after, most, false, err
	}
	if text := q.Get("after"); text != "" {
		if after, err = ports.ParseID(text); err != nil {
			return after, most, false, fault.RequestInvalid.With("after is no cursor of this list: %w", err)
		}
	}
	return after, most, q.Get(only) == "true", nil
}
