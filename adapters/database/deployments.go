package database

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// chunk is the size of an archive's rows: below every database's limit of a packet.
const chunk = 1 << 20

// Deployments keeps revisions.
func (s *Store) Deployments() ports.Deployments { return deployments{s} }

type deployments struct{ *Store }

func (s deployments) Activate(ctx context.Context, a ports.Activation) (ports.Revision, ports.Answer, error) {
	var made ports.Revision
	var answer ports.Answer
	swap := func(ctx context.Context) error {
		return s.hold(ctx, fleet, func(run run) (err error) {
			made, answer, err = s.activate(run, a)
			return err
		})
	}
	err := swap(ctx)
	if _, uncertain := classOf(err); uncertain { // the call's own id tells whether it has landed
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		again := swap(late)
		if class, _ := classOf(again); class != dialects.Lost && class != dialects.Timeout {
			err = again
		}
	}
	if class, _ := classOf(err); class == dialects.Duplicate {
		return made, s.doorTaken(ctx, a, err), nil
	}
	if err != nil {
		answer = ports.Answer{Err: err}
	}
	return made, answer, err
}

// activate swaps within one transaction. The version row comes first: it serializes everything that changes the served set.
func (s deployments) activate(run run, a ports.Activation) (ports.Revision, ports.Answer, error) {
	now := s.now()
	slot, err := s.slot(run, a)
	if err != nil {
		return ports.Revision{}, ports.Answer{}, err
	}
	if made, answer := slot.refused(a); answer.Outcome != "" {
		return made, answer, errUnchanged
	}
	made := ports.Revision{Slot: a.Slot, ID: a.ID, Number: slot.last + 1, Phase: ports.Active, Since: slot.version, Size: int64(len(a.Archive)), Activated: now}
	old := column(slot.old, func(r revision) any { return r.ID })
	locked := append(slices.Clone(old), a.ID)
	slices.SortFunc(locked, func(a, b any) int { return cmp.Compare(a.(ports.DeploymentID), b.(ports.DeploymentID)) })
	var living []ports.Schedule
	err = run(
		op{name: "deployment_lock", rows: locked},
		op{name: "schedule_of", rows: locked, scan: scanSchedule(a.Slot.Tenant, &living)},
		op{name: "deployment_drain", args: args{"now": now}, rows: old},
		op{name: "door_delete", rows: locked},
		op{name: "schedule_delete", rows: locked},
	)
	if err != nil {
		return made, ports.Answer{}, err
	}
	w := newWriting(a.Slot.Tenant, now)
	for i := range a.Notices {
		w.emit(&a.Notices[i])
	}
	if a.Audit != nil {
		w.add("audit_insert", auditRow(*a.Audit)...)
	}
	tenant := args{"tenant": a.Slot.Tenant}
	ops := append(slot.put(a, made),
		op{name: "door_insert", args: tenant, rows: doorRows(a)},
		op{name: "schedule_insert", args: tenant, rows: scheduleRows(a, living)})
	return made, ports.Answer{Outcome: ports.Done}, run(append(append(ops, w.ops()...), s.notify()...)...)
}

// revision is a deployment's row.
type revision struct {
	ports.Revision
	call    ports.ID
	dropped int64
}

// slot is what an activation finds.
type slot struct {
	known   *revision // the same bytes
	active  *revision
	old     []revision // to be drained
	last    int64      // the slot's highest number
	version ports.Version
}

func (s deployments) slot(run run, a ports.Activation) (slot, error) {
	var out slot
	var found, here, there []revision
	ops := []op{
		{name: "version_bump"},
		readVersion(&out.version),
		{name: "deployment_find", rows: []any{a.ID}, scan: scanRevision(&found)},
		slotOp(a.Slot, &here),
	}
	if a.Supersedes != nil && *a.Supersedes != a.Slot {
		ops = append(ops, slotOp(*a.Supersedes, &there))
	}
	if err := run(ops...); err != nil {
		return slot{}, err
	}
	if len(found) > 0 {
		out.known = &found[0]
	}
	for i, r := range here {
		out.last = max(out.last, r.Number)
		if r.Phase == ports.Active {
			out.active = &here[i]
		}
	}
	for _, r := range append(here, there...) {
		if r.Phase == ports.Active && r.ID != a.ID {
			out.old = append(out.old, r)
		}
	}
	return out, nil
}

func slotOp(slot ports.Slot, into *[]revision) op {
	return op{name: "deployment_slot", args: args{"tenant": slot.Tenant, "module": slot.Module, "version": slot.Version}, scan: scanRevision(into)}
}

// refused answers why nothing is to be done; no outcome: go on.
func (f slot) refused(a ports.Activation) (ports.Revision, ports.Answer) {
	switch {
	case f.known != nil && f.known.call == a.Call && !a.Call.IsZero():
		return f.known.Revision, ports.Answer{Outcome: ports.Done}
	case f.known != nil && f.known.Slot != a.Slot:
		return f.known.Revision, ports.Answer{Outcome: ports.Stale, Detail: "the same revision belongs to " + f.known.Slot.String()}
	case f.active != nil && f.active.ID == a.ID:
		return f.active.Revision, ports.Answer{Outcome: ports.Duplicate}
	case f.active != nil && a.Submitted && bytes.Compare(f.active.call[:], a.Call[:]) > 0:
		return f.active.Revision, ports.Answer{Outcome: ports.Stale, Detail: "a later deploy made revision " + fmt.Sprint(f.active.Number)}
	case a.Supersedes != nil && !a.Declared && !slices.ContainsFunc(f.old, func(r revision) bool { return r.Slot == *a.Supersedes }):
		return ports.Revision{}, ports.Answer{Outcome: ports.Stale, Detail: "no revision of " + a.Supersedes.String() + " is active"}
	}
	return ports.Revision{}, ports.Answer{}
}

// put writes the revision's row: a new one, or the known one brought back under its next number.
func (f slot) put(a ports.Activation, made ports.Revision) []op {
	all := args{
		"id": a.ID, "tenant": a.Slot.Tenant, "module": a.Slot.Module, "version": a.Slot.Version,
		"number": made.Number, "size": made.Size, "since": made.Since, "operation": a.Call, "now": made.Activated,
	}
	archive := op{name: "archive_insert", args: all, rows: chunks(string(a.ID), a.Archive)}
	switch {
	case f.known == nil:
		return []op{{name: "deployment_insert", args: all}, archive}
	case f.known.dropped != 0:
		return []op{{name: "deployment_activate", args: all}, archive}
	default:
		return []op{{name: "deployment_activate", args: all}}
	}
}

func (s *Store) notify() []op {
	if s.book.dialect.Caps.Push {
		return []op{{name: "change_notify"}}
	}
	return nil
}

// doorTaken tells which door or channel name is open elsewhere.
func (s deployments) doorTaken(ctx context.Context, a ports.Activation, err error) ports.Answer {
	var doors, channels []any
	for _, d := range a.Doors {
		doors = append(doors, ports.NewKey(d.Address))
		channels = append(channels, ports.NewKey(a.Slot.Tenant, d.Channel))
	}
	detail := ""
	scan := func(what string) func(row) error {
		return func(r row) error {
			var channel, address string
			var slot ports.Slot
			err := r.Scan(&channel, &address, &slot.Tenant, &slot.Module, &slot.Version)
			name := address
			if what == "channel" {
				name = channel
			}
			if detail == "" {
				detail = fmt.Sprintf("%s %s is open in %s", what, name, slot)
			}
			return err
		}
	}
	asked := s.read(ctx, fleet,
		op{name: "door_holder", rows: doors, scan: scan("door")},
		op{name: "channel_holder", rows: channels, scan: scan("channel")})
	if asked != nil || detail == "" {
		return ports.Answer{Err: coded(err)} // who had it has gone since: deploying again will do
	}
	return ports.Answer{Outcome: ports.DoorTaken, Detail: detail}
}

func doorRows(a ports.Activation) (rows []any) {
	for _, d := range a.Doors {
		rows = append(rows, ports.NewKey(d.Address), a.ID, d.Channel, d.Address, ports.NewKey(a.Slot.Tenant, d.Channel))
	}
	return rows
}

// scheduleRows arms the new revision's schedules; one that lives on keeps its due time and the fires it has left.
func scheduleRows(a ports.Activation, living []ports.Schedule) (rows []any) {
	for _, n := range a.Schedules {
		if i := slices.IndexFunc(living, func(o ports.Schedule) bool { return o.Process == n.Process && o.Node == n.Node }); i >= 0 {
			n.Due, n.Anchor, n.Left = living[i].Due, living[i].Anchor, living[i].Left
		}
		if n.Anchor.IsZero() {
			n.Anchor = n.Due
		}
		rows = append(rows, a.ID, n.Process, n.Node, n.Due, n.Anchor, n.Left)
	}
	return rows
}

func chunks(owner string, archive []byte) (rows []any) {
	n := 0
	for part := range slices.Chunk(archive, chunk) {
		rows = append(rows, owner, n, part)
		n++
	}
	return rows
}

// lockRevision takes the fleet's turn and a revision's lock, and reads its phase; empty: there is none.
func lockRevision(run run, id ports.DeploymentID) (ports.Phase, error) {
	var found []revision
	err := run(
		op{name: "version_bump"},
		op{name: "deployment_lock", rows: []any{id}},
		op{name: "deployment_find", rows: []any{id}, scan: scanRevision(&found)})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Phase, nil
}

func (s deployments) Drain(ctx context.Context, id ports.DeploymentID) (ports.Answer, error) {
	answer := ports.Answer{Outcome: ports.Done}
	err := s.hold(ctx, fleet, func(run run) error {
		phase, err := lockRevision(run, id)
		switch {
		case err != nil:
			return err
		case phase == "" || phase == ports.Retired:
			answer.Outcome = ports.Gone
			return errUnchanged
		case phase == ports.Draining:
			return errUnchanged
		}
		return run(append(s.notify(),
			op{name: "deployment_drain", args: args{"now": s.now()}, rows: []any{id}},
			op{name: "door_delete", rows: []any{id}},
			op{name: "schedule_delete", rows: []any{id}})...)
	})
	return answer, err
}

func (s deployments) Retire(ctx context.Context, id ports.DeploymentID) (ports.Counts, ports.Answer, error) {
	var counts ports.Counts
	answer := ports.Answer{Outcome: ports.Done}
	err := s.hold(ctx, fleet, func(run run) error {
		phase, err := lockRevision(run, id)
		switch {
		case err != nil:
			return err
		case phase == ports.Retired:
			return errUnchanged
		case phase != ports.Draining:
			answer.Outcome = ports.Gone
			return errUnchanged
		}
		all := map[ports.DeploymentID]ports.Counts{}
		if err := run(countOps([]any{id}, all)...); err != nil {
			return err
		}
		if counts = all[id]; counts != (ports.Counts{}) {
			answer.Outcome = ports.Held
			return errUnchanged
		}
		return run(append(s.notify(), op{name: "deployment_retire", args: args{"id": id, "now": s.now()}})...)
	})
	return counts, answer, err
}

func (s deployments) Count(ctx context.Context, ids []ports.DeploymentID) (map[ports.DeploymentID]ports.Counts, error) {
	out := map[ports.DeploymentID]ports.Counts{}
	err := s.read(ctx, fleet, countOps(column(ids, func(id ports.DeploymentID) any { return id }), out)...)
	return out, err
}

func (s deployments) Examples(ctx context.Context, id ports.DeploymentID, most int) (e ports.Examples, err error) {
	leg := func(name string, into *[]ports.ID) op {
		return op{name: name, args: args{"deployment": id, "limit": most}, scan: func(r row) error {
			var one ports.ID
			err := r.Scan(&one)
			*into = append(*into, one)
			return err
		}}
	}
	err = s.read(ctx, fleet, leg("example_instances", &e.Instances), leg("example_outbox", &e.Outbox), leg("example_tasks", &e.Tasks))
	return e, err
}

// countOps counts in this order, which work moves along: what leaves one leg is already counted in the next.
func countOps(ids []any, into map[ports.DeploymentID]ports.Counts) []op {
	leg := func(name string, set func(*ports.Counts, int)) op {
		return op{name: name, rows: ids, scan: func(r row) error {
			var id ports.DeploymentID
			var n int
			err := r.Scan(&id, &n)
			c := into[id]
			set(&c, n)
			into[id] = c
			return err
		}}
	}
	return []op{
		leg("count_instances", func(c *ports.Counts, n int) { c.LiveInstances = n }),
		leg("count_outbox", func(c *ports.Counts, n int) { c.PendingOutbox = n }),
		leg("count_tasks", func(c *ports.Counts, n int) { c.ParkedTasks = n }),
	}
}

func (s deployments) Served(ctx context.Context) (v ports.Version, out []ports.Revision, err error) {
	err = s.repeat(ctx, func() error {
		out = nil
		return s.run.read(ctx, fleet, []op{{name: "deployment_served", scan: func(r row) error {
			var rev revision
			err := rev.scan(r, &v)
			if rev.ID != "" {
				out = append(out, rev.Revision)
			}
			return err
		}}})
	})
	slices.SortFunc(out, func(a, b ports.Revision) int {
		return cmp.Or(cmp.Compare(a.Slot.String(), b.Slot.String()), cmp.Compare(a.Number, b.Number))
	})
	return v, out, coded(err)
}

func (s deployments) Revisions(ctx context.Context, tenants []string) ([]ports.Revision, error) {
	var found []revision
	for _, tenant := range scopes(tenants) {
		if err := s.read(ctx, fleet, op{name: "deployment_list", args: args{"tenant": tenant}, scan: scanRevision(&found)}); err != nil {
			return nil, err
		}
	}
	out := make([]ports.Revision, len(found))
	for i := range found {
		out[i] = found[i].Revision
	}
	slices.SortStableFunc(out, func(a, b ports.Revision) int { return b.Activated.Compare(a.Activated) })
	return out, nil
}

// scopes is what an optional :tenant is given, once for each tenant: nothing for all of them.
func scopes(tenants []string) []any {
	if tenants == nil {
		return []any{nil}
	}
	return column(tenants, func(t string) any { return t })
}

func (s deployments) Archive(ctx context.Context, id ports.DeploymentID) ([]byte, error) {
	return s.archive(ctx, string(id))
}

func (s *Store) archive(ctx context.Context, owner string) (out []byte, err error) {
	err = s.read(ctx, fleet, op{name: "archive_read", args: args{"owner": owner}, scan: func(r row) error {
		var part []byte
		err := r.Scan(&part)
		out = append(out, part...)
		return err
	}})
	return out, err
}

func (s deployments) DropArchives(ctx context.Context, before time.Time, limit int) (int, error) {
	dropped := 0
	err := s.hold(ctx, fleet, func(run run) error {
		var ids []any
		err := run(op{name: "version_bump"}, // serializes with activations, which bring retired revisions back
			op{name: "deployment_old", args: args{"before": before, "limit": limit}, scan: func(r row) error {
				var id ports.DeploymentID
				err := r.Scan(&id)
				ids = append(ids, id)
				return err
			}})
		if dropped = len(ids); err != nil || dropped == 0 {
			return cmp.Or(err, errUnchanged)
		}
		return run(op{name: "deployment_dropped", rows: ids}, op{name: "archive_delete", rows: ids})
	})
	return dropped, err
}

func (s deployments) Note(ctx context.Context, r ports.Replica) error {
	broken := joinIDs(r.Broken)
	return s.hold(ctx, fleet, func(run run) error {
		hits := 0
		err := run(op{name: "replica_update", rows: []any{r.ID, r.LastSeen, r.Served, broken, r.Lanes, r.Address}, hits: &hits})
		if err != nil || hits > 0 {
			return err
		}
		return run(op{name: "replica_insert", rows: []any{r.ID, r.Started, r.LastSeen, r.Served, broken, r.Lanes, r.Address}})
	})
}

func (s deployments) Leave(ctx context.Context, id string) error {
	return s.write(ctx, fleet, op{name: "replica_delete", rows: []any{id}})
}

func (s deployments) Replicas(ctx context.Context, since time.Time) ([]ports.Replica, error) {
	var out []ports.Replica
	err := s.read(ctx, fleet, op{name: "replica_list", args: args{"since": since}, scan: func(r row) error {
		var p ports.Replica
		var broken string
		err := r.Scan(&p.ID, &p.Started, &p.LastSeen, &p.Served, &broken, &p.Lanes, &p.Address)
		for id := range strings.FieldsSeq(broken) {
			p.Broken = append(p.Broken, ports.DeploymentID(id))
		}
		out = append(out, p)
		return err
	}})
	return out, err
}

func (s deployments) Forget(ctx context.Context, before time.Time) error {
	return s.write(ctx, fleet, op{name: "replica_forget", args: args{"before": before}})
}

// joinIDs writes ids into one text, divided by blanks.
func joinIDs(ids []ports.DeploymentID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return strings.Join(all, " ")
}

func scanRevision(into *[]revision) func(row) error {
	return func(r row) error {
		var v revision
		err := v.scan(r)
		*into = append(*into, v)
		return err
	}
}

// scan reads a revision's columns after those that stand before them.
func (v *revision) scan(r row, before ...any) error {
	return r.Scan(append(before, &v.ID, &v.Slot.Tenant, &v.Slot.Module, &v.Slot.Version, &v.Number, &v.Phase, &v.Size, &v.call, &v.Since, &v.dropped,
		&v.Activated, &v.Drained, &v.Retired)...)
}

func scanSchedule(tenant string, into *[]ports.Schedule) func(row) error {
	return func(r row) error {
		s := ports.Schedule{Tenant: tenant}
		err := r.Scan(&s.Deployment, &s.Process, &s.Node, &s.Due, &s.Anchor, &s.Left)
		*into = append(*into, s)
		return err
	}
}
