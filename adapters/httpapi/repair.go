package httpapi

import (
	"net/http"
	"strconv"

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
	if err := s.Operator.Redrive(req.Context(), tenant, id); err != nil {
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
	if err := s.Operator.Retry(req.Context(), p.Tenants, id, retries); err != nil {
		return err
	}
	return write(w, http.StatusOK, struct{}{})
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
