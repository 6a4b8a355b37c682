package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func (s *Server) migrate(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	var in wire.Migration
	if err := s.body(w, req, &in); err != nil {
		return err
	}
	m, err := migration(in)
	if err != nil {
		return err
	}
	r := s.Migrator.Migrate(req.Context(), p.actor(), id, m)
	if r.Err != nil {
		return r.Err
	}
	return write(w, http.StatusOK, s.migrated(req.Context(), r))
}

func (s *Server) migrateBatch(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	var in wire.MigrationBatch
	if err := s.body(w, req, &in); err != nil {
		return err
	}
	batch, err := migrationBatch(in, p)
	if err != nil {
		return err
	}
	results, next, err := s.Migrator.MigrateBatch(req.Context(), p.actor(), batch)
	if err != nil {
		return err
	}
	page := wire.MigrationPage{Counts: map[string]int{}, Items: []wire.Migrated{}}
	for _, r := range results {
		page.Counts[string(r.Outcome)]++
		page.Items = append(page.Items, s.migrated(req.Context(), r))
	}
	if !next.IsZero() {
		page.Next = next.String()
	}
	return write(w, http.StatusOK, page)
}

func migration(in wire.Migration) (ports.Migration, error) {
	m := ports.Migration{To: in.To, Process: in.Process, Nodes: in.Mapping, DryRun: in.DryRun, Resume: in.Resume}
	for _, choice := range []struct {
		name, given, plain, other string
		into                      *bool
	}{
		{"event", in.Event, "replay", "drop", &m.DropEvent},
		{"timers", in.Timers, "keep", "recompute", &m.RecomputeTimers},
		{"compensation", in.Compensation, "keep", "drop", &m.DropCompensation},
	} {
		switch choice.given {
		case "", choice.plain:
		case choice.other:
			*choice.into = true
		default:
			return m, fault.RequestInvalid.With("%s is %q; use %s or %s", choice.name, choice.given, choice.plain, choice.other)
		}
	}
	return m, nil
}

func migrationBatch(in wire.MigrationBatch, p Principal) (ports.MigrationBatch, error) {
	m, err := migration(in.Migration)
	out := ports.MigrationBatch{Migration: m}
	if err != nil {
		return out, err
	}
	if (in.Filter == nil) == (len(in.Instances) == 0) {
		return out, fault.RequestInvalid.With("name the instances, or a filter, and not both")
	}
	if len(in.Instances) > pageMost {
		return out, fault.RequestInvalid.With("%d instances are named; at most %d go into one batch", len(in.Instances), pageMost)
	}
	for _, text := range in.Instances {
		id, err := ports.ParseID(text)
		if err != nil {
			return out, fault.RequestInvalid.With("instances: %w", err)
		}
		out.Instances = append(out.Instances, id)
	}
	if in.Filter == nil {
		return out, nil
	}
	out.Filter, err = migrationFilter(in, p)
	return out, err
}

// migrationFilter chooses living instances alone: others cannot move.
func migrationFilter(in wire.MigrationBatch, p Principal) (ports.InstanceQuery, error) {
	q := ports.InstanceQuery{Tenants: p.Tenants, Deployment: ports.DeploymentID(in.Filter.DeploymentID), Process: in.Filter.Process, Limit: pageDefault}
	if in.Limit != 0 {
		q.Limit = in.Limit
	}
	if q.Limit < 1 || q.Limit > pageMost {
		return q, fault.RequestInvalid.With("limit is %d; use 1 to %d", q.Limit, pageMost)
	}
	if tenant := in.Filter.Tenant; tenant != "" {
		if p.Tenants != nil && !slices.Contains(p.Tenants, tenant) {
			return q, fault.AdminForbidden.With("you may not act for tenant %q", tenant)
		}
		q.Tenants = []string{tenant}
	}
	for _, status := range in.Filter.Status {
		if status != string(ports.Suspended) && status != string(ports.Failed) {
			return q, fault.RequestInvalid.With("status is %q; only suspended and failed instances can be moved", status)
		}
		q.Statuses = append(q.Statuses, ports.Status(status))
	}
	if q.Statuses == nil {
		q.Statuses = []ports.Status{ports.Suspended, ports.Failed}
	}
	if in.After != "" {
		after, err := ports.ParseID(in.After)
		if err != nil {
			return q, fault.RequestInvalid.With("after is no cursor of this batch: %w", err)
		}
		q.After = after
	}
	return q, nil
}

// migrated is a result on the wire. In a batch no error stops at a problem document, so trouble is logged here.
func (s *Server) migrated(ctx context.Context, r ports.MigrationResult) wire.Migrated {
	out := wire.Migrated{Instance: r.Instance.String(), Outcome: string(r.Outcome), From: string(r.From), To: string(r.To), Notes: r.Notes}
	if r.Err == nil {
		return out
	}
	f := fault.Of(r.Err)
	out.Code, out.Detail, out.Violations = string(f.Code), f.Detail, violations(f.All)
	if r.Outcome == ports.MigrationError {
		s.Log.ErrorContext(ctx, "an instance was not moved", slog.String("instance", out.Instance), slog.String("code", out.Code), slog.Any("error", r.Err))
	}
	return out
}
