package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Pages of lists.
const (
	pageDefault = 50
	pageMost    = 500
)

// examplesMost bounds what is named of each leg that holds a revision.
const examplesMost = 5

func (s *Server) live(w http.ResponseWriter, _ bunrouter.Request, _ Principal) error {
	return health(w, s.Health.Live())
}

func (s *Server) ready(w http.ResponseWriter, req bunrouter.Request, _ Principal) error {
	ctx, cancel := context.WithTimeout(req.Context(), 3*time.Second)
	defer cancel()
	return health(w, s.Health.Ready(ctx))
}

func (s *Server) metrics(w http.ResponseWriter, req bunrouter.Request, _ Principal) error {
	s.Metrics.ServeHTTP(w, req.Request)
	return nil
}

func health(w http.ResponseWriter, failing []string) error {
	if len(failing) > 0 {
		return write(w, http.StatusServiceUnavailable, wire.Health{Status: "failing", Failing: failing})
	}
	return write(w, http.StatusOK, wire.Health{Status: "ok"})
}

func (s *Server) deploy(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	q := req.URL.Query()
	body, err := all(w, req.Request, s.MaxArchive)
	if err != nil {
		return err
	}
	call := ports.Deploy{
		Archive: body, By: p.actor(), Supersedes: q.Get("supersedes"), Callback: q.Get("callback"), Notify: q.Get("notify"),
	}
	switch wait := q.Get("wait"); wait {
	case "":
	case "fleet":
		call.Fleet = true
	default:
		return fault.RequestInvalid.With("wait is %q; the one thing to wait for is fleet", wait)
	}
	switch mode := q.Get("mode"); mode {
	case "", "sync":
		done, err := s.Deployer.Deploy(req.Context(), call)
		if err != nil {
			return err
		}
		out := deployment(ports.RevisionView{Revision: done.Revision})
		out.Unchanged, out.Behind, out.Blockers = done.Unchanged, done.Behind, nil
		return write(w, http.StatusOK, out)
	case "async":
		if call.Fleet {
			return fault.RequestInvalid.With("wait=fleet is for a synchronous deploy; leave one of wait and mode out")
		}
		id, err := s.Deployer.Submit(req.Context(), call)
		if err != nil {
			return err
		}
		w.Header().Set("Location", "/admin/operations/"+id.String())
		return write(w, http.StatusAccepted, wire.Operation{ID: id.String(), State: "pending", Created: s.Clock.Now()})
	default:
		return fault.RequestInvalid.With("mode is %q; use sync or async", mode)
	}
}

func (s *Server) operation(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	o, err := s.Deployer.Operation(req.Context(), p.Tenants, id)
	if err != nil {
		return err
	}
	out := wire.Operation{ID: o.ID.String(), State: o.State, DeploymentID: string(o.Revision), Created: o.Created}
	if o.Fault != nil {
		out.Code, out.Detail = o.Fault.Code, o.Fault.Detail
	}
	return write(w, http.StatusOK, out)
}

func (s *Server) undeploy(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	r, err := s.Deployer.Undeploy(req.Context(), p.actor(), req.Param("id"))
	if err != nil {
		return err
	}
	out := deployment(ports.RevisionView{Revision: r})
	out.Blockers = nil
	return write(w, http.StatusOK, out)
}

func (s *Server) deployments(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	all, err := s.Deployer.Revisions(req.Context(), p.Tenants)
	if err != nil {
		return err
	}
	q := req.URL.Query()
	most, err := limit(cmp.Or(q.Get("limit"), strconv.Itoa(pageMost)))
	if err != nil {
		return err
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(all, func(r ports.RevisionView) bool { return string(r.ID) == after })
		if at < 0 {
			return fault.RequestInvalid.With("after is %q, no cursor of this list", after)
		}
		all = all[at+1:]
	}
	page := wire.Page[wire.Deployment]{Items: []wire.Deployment{}}
	for _, r := range all {
		d := deployment(r)
		if phases := q["phase"]; len(phases) > 0 && !slices.Contains(phases, d.Phase) {
			continue
		}
		if len(page.Items) == most {
			page.Next = page.Items[most-1].DeploymentID
			break
		}
		page.Items = append(page.Items, d)
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) deployment(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	all, err := s.Deployer.Revisions(req.Context(), p.Tenants)
	if err != nil {
		return err
	}
	name := req.Param("id")
	// The active revision stands for its slot, or the one that drains or retired last.
	for _, means := range []func(ports.RevisionView) bool{
		func(r ports.RevisionView) bool { return string(r.ID) == name },
		func(r ports.RevisionView) bool { return r.Slot.String() == name && r.Phase == ports.Active },
		func(r ports.RevisionView) bool { return r.Slot.String() == name },
	} {
		if i := slices.IndexFunc(all, means); i >= 0 {
			out := deployment(all[i])
			if out.Blockers != nil {
				few, err := s.Deployments.Examples(req.Context(), all[i].ID, examplesMost)
				if err != nil {
					return err
				}
				out.Blockers.Examples = &wire.Examples{Instances: names(few.Instances), Outbox: names(few.Outbox), Tasks: names(few.Tasks)}
			}
			return write(w, http.StatusOK, out)
		}
	}
	return fault.DeploymentUnknown.With("there is no deployment %q", name)
}

func names(ids []ports.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

func deployment(r ports.RevisionView) wire.Deployment {
	out := wire.Deployment{
		DeploymentID: string(r.ID), Slot: r.Slot.String(), Tenant: r.Slot.Tenant, Module: r.Slot.Module, Version: r.Slot.Version, Revision: r.Number,
		Phase: map[ports.Phase]string{ports.Active: "Active", ports.Draining: "Draining", ports.Retired: "Retired"}[r.Phase], Activated: at(r.Activated),
		Drained: at(r.Drained), Retired: at(r.Retired), Doors: r.Channels, ServedBy: r.Served, Behind: r.Behind, Broken: r.Failed,
	}
	if r.Phase != ports.Retired {
		out.Blockers = &wire.Blockers{LiveInstances: r.Counts.LiveInstances, PendingOutbox: r.Counts.PendingOutbox, ParkedTasks: r.Counts.ParkedTasks}
	}
	return out
}

func (s *Server) instances(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	q := req.URL.Query()
	limit, err := limit(q.Get("limit"))
	if err != nil {
		return err
	}
	query := ports.InstanceQuery{Tenants: p.Tenants, Deployment: ports.DeploymentID(q.Get("deployment")), Process: q.Get("process"), Limit: limit}
	if tenant := q.Get("tenant"); tenant != "" {
		if p.Tenants != nil && !slices.Contains(p.Tenants, tenant) {
			return write(w, http.StatusOK, wire.Page[wire.Instance]{Items: []wire.Instance{}})
		}
		query.Tenants = []string{tenant}
	}
	for _, status := range q["status"] {
		query.Statuses = append(query.Statuses, ports.Status(status))
	}
	if query.Since, query.Until, err = between(q); err != nil {
		return err
	}
	if after := q.Get("after"); after != "" {
		if query.After, err = ports.ParseID(after); err != nil {
			return fault.RequestInvalid.With("after is no cursor of this list: %w", err)
		}
	}
	if name := q.Get("alias"); name != "" {
		query.Alias = &ports.Alias{Module: q.Get("module"), Name: name, Value: ports.NewKey(q.Get("value"))}
	}
	found, err := s.Views.List(req.Context(), query)
	if err != nil {
		return err
	}
	page := wire.Page[wire.Instance]{Items: []wire.Instance{}}
	for _, row := range found.Instances {
		page.Items = append(page.Items, instance(row))
	}
	if !found.Next.IsZero() {
		page.Next = found.Next.String()
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) instance(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	e, err := s.Operator.Explain(req.Context(), p.Tenants, id)
	if err != nil {
		return err
	}
	out := instance(e.Instance)
	out.Next, out.Aliases = e.Next, e.Aliases
	for _, t := range e.Tasks {
		t.Inputs = nil
		out.Tasks = append(out.Tasks, task(t))
	}
	for _, m := range e.Pending {
		out.Pending = append(out.Pending, wire.Pending{
			Kind: string(m.Kind), Channel: m.Channel, Accepted: m.Accepted, Attempts: m.Attempts, Next: at(m.NextAttempt), Refused: refusal(m.Refused),
		})
	}
	for _, wait := range e.Waits {
		out.Waits = append(out.Waits, wire.Wait{
			ID: int64(wait.Wait.ID), Kind: string(wait.Kind), Node: wait.Node, Armed: wait.Armed, Due: at(wait.Due), Refused: refusal(wait.Refused),
		})
	}
	return write(w, http.StatusOK, out)
}

func refusal(r ports.Refusal) *wire.Refusal {
	if r.At.IsZero() {
		return nil
	}
	return &wire.Refusal{Code: r.Code, At: r.At}
}

func instance(i ports.Instance) wire.Instance {
	out := wire.Instance{
		ID: i.ID.String(), Tenant: i.Tenant, DeploymentID: string(i.Deployment), Module: i.Module, Process: i.Process, Status: string(i.Status),
		Created: i.Created, Updated: i.Updated, Ended: at(i.EndedAt),
	}
	if i.Parent != nil {
		out.Parent = i.Parent.Instance.String()
	}
	if i.Fault != nil {
		out.Failure = &wire.Failure{Code: i.Fault.Code, Detail: i.Fault.Detail, Node: i.Fault.Node}
	}
	if i.Owner != "" {
		out.Claim = &wire.Claim{Owner: string(i.Owner), Epoch: i.Epoch, Since: i.ClaimedAt}
	}
	return out
}

func (s *Server) history(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	q := req.URL.Query()
	limit, err := limit(q.Get("limit"))
	if err != nil {
		return err
	}
	after := int64(0)
	if text := q.Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fault.RequestInvalid.With("after is no cursor of this list: %w", err)
		}
	}
	ref, err := s.Views.Locate(req.Context(), p.Tenants, id)
	if err != nil {
		return err
	}
	if ref.ID.IsZero() {
		return fault.InstanceGone.With("there is no instance %s", id)
	}
	entries, err := s.Views.History(req.Context(), ref, after, limit)
	if err != nil {
		return err
	}
	page := wire.Page[wire.History]{Items: []wire.History{}}
	for _, e := range entries {
		page.Items = append(page.Items, wire.History{Seq: e.Seq, At: e.At, Step: e.Step.String(), Data: e.Document})
	}
	if len(entries) == limit {
		page.Next = strconv.FormatInt(entries[len(entries)-1].Seq, 10)
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) start(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	tenant, in, err := s.call(w, req, p)
	if err != nil {
		return err
	}
	receipt, err := s.Intake.Start(req.Context(), tenant, req.URL.Query().Get("module"), req.Param("process"), in)
	if err != nil {
		return err
	}
	return answer(w, receipt)
}

func (s *Server) publish(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	tenant, in, err := s.call(w, req, p)
	if err != nil {
		return err
	}
	q := req.URL.Query()
	var ttl time.Duration
	if text := q.Get("ttl"); text != "" {
		if ttl, err = s.Duration(text); err != nil {
			return fault.RequestInvalid.With("ttl: %w", err)
		}
	}
	receipt, err := s.Intake.Publish(req.Context(), tenant, req.Param("name"), q.Get("key"), ttl, in)
	if err != nil {
		return err
	}
	return answer(w, receipt)
}

func (s *Server) signal(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	tenant, in, err := s.call(w, req, p)
	if err != nil {
		return err
	}
	receipt, err := s.Intake.Broadcast(req.Context(), tenant, req.Param("name"), in)
	if err != nil {
		return err
	}
	return answer(w, receipt)
}

// call reads an API call that is a message: its body, and the one tenant it is for.
func (s *Server) call(w http.ResponseWriter, req bunrouter.Request, p Principal) (string, ports.Incoming, error) {
	tenant, err := p.tenant(req)
	if err != nil {
		return "", ports.Incoming{}, err
	}
	in, err := incoming(w, req.Request, ports.Entrance{Limit: s.MaxPayload})
	in.Tenant, in.Received = tenant, s.Clock.Now()
	return tenant, in, err
}

// tenant is the one tenant that a call is for.
func (p Principal) tenant(req bunrouter.Request) (string, error) {
	tenant := req.URL.Query().Get("tenant")
	switch {
	case tenant == "" && len(p.Tenants) == 1:
		return p.Tenants[0], nil
	case tenant == "":
		return "", fault.RequestInvalid.With("say which tenant: ?tenant=NAME")
	case p.Tenants != nil && !slices.Contains(p.Tenants, tenant):
		return "", fault.AdminForbidden.With("you may not act for tenant %q", tenant)
	}
	return tenant, nil
}

func (s *Server) cancel(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	if err := s.Operator.Cancel(req.Context(), p.actor(), id); err != nil {
		return err
	}
	return s.instance(w, req, p)
}

func (s *Server) resume(w http.ResponseWriter, req bunrouter.Request, p Principal) error {
	id, err := id(req)
	if err != nil {
		return err
	}
	event := req.URL.Query().Get("event")
	if event != "" && event != "replay" && event != "drop" {
		return fault.RequestInvalid.With("event is %q; use replay or drop", event)
	}
	if err := s.Operator.Resume(req.Context(), p.actor(), id, event == "drop"); err != nil {
		return err
	}
	return s.instance(w, req, p)
}

func (s *Server) leases(w http.ResponseWriter, req bunrouter.Request, _ Principal) error {
	terms, err := s.Leases.List(req.Context())
	if err != nil {
		return err
	}
	page := wire.Page[wire.Lease]{Items: []wire.Lease{}}
	for _, t := range terms {
		page.Items = append(page.Items, wire.Lease{Role: t.Role, Holder: t.Holder, Term: t.Number, Expires: t.Expires})
	}
	return write(w, http.StatusOK, page)
}

func (s *Server) replicas(w http.ResponseWriter, req bunrouter.Request, _ Principal) error {
	rows, err := s.Deployments.Replicas(req.Context(), s.Clock.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	page := wire.Page[wire.Replica]{Items: []wire.Replica{}}
	for _, r := range rows {
		page.Items = append(page.Items, wire.Replica{
			ID: r.ID, Address: r.Address, Started: r.Started, LastSeen: r.LastSeen, Version: int64(r.Served), Lanes: r.Lanes,
		})
	}
	return write(w, http.StatusOK, page)
}

func id(req bunrouter.Request) (ports.ID, error) {
	id, err := ports.ParseID(req.Param("id"))
	if err != nil {
		return id, fault.RequestInvalid.With("%w", err)
	}
	return id, nil
}

func limit(text string) (int, error) {
	if text == "" {
		return pageDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMost {
		return 0, fault.RequestInvalid.With("limit is %q; use 1 to %d", text, pageMost)
	}
	return n, nil
}

func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
