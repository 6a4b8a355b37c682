package database

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// Instances starts and commits.
func (s *Store) Instances() ports.Instances { return instances{s} }

type instances struct{ *Store }

func (s instances) Start(ctx context.Context, all []ports.NewInstance) []ports.Answer {
	pending := make([]bool, len(all)) // the message's row is there
	for i := range all {
		pending[i] = all[i].Consumed != nil && all[i].Consumed.Pending
	}
	return s.settle(ctx, group{
		n:      len(all),
		tenant: func(i int) string { return all[i].Tenant },
		keys:   func(i int) []string { return startKeys(&all[i]) },
		size:   func(i int) int { return len(all[i].Snapshot) + rowBytes(&all[i].Rows) },
		write: func(ctx context.Context, tenant string, open []int) error {
			w := newWriting(tenant, s.now())
			for _, i := range open {
				w.start(&all[i], pending[i])
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: w.ops()})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			q := newQuestion(tenant)
			for _, i := range open {
				q.start(&all[i])
			}
			if err := s.run.read(ctx, tenant, q.ops()); err != nil {
				return err
			}
			for _, i := range open {
				out[i], pending[i] = q.started(&all[i])
			}
			return nil
		},
	})
}

func (s instances) Commit(ctx context.Context, all []ports.Step) []ports.Answer {
	pending := make([][]bool, len(all)) // the rows of what a step consumes are there
	for i := range all {
		for _, c := range all[i].Consumed {
			pending[i] = append(pending[i], c.Pending)
		}
	}
	return s.settle(ctx, group{
		n:      len(all),
		tenant: func(i int) string { return all[i].Tenant },
		keys:   func(i int) []string { return stepKeys(&all[i]) },
		size:   func(i int) int { return len(all[i].Snapshot) + rowBytes(&all[i].Rows) },
		write: func(ctx context.Context, tenant string, open []int) error {
			w := newWriting(tenant, s.now())
			for _, i := range open {
				w.step(&all[i], pending[i])
			}
			return s.run.write(ctx, tx{tenant: tenant, ops: w.ops()})
		},
		ask: func(ctx context.Context, tenant string, open []int, out []ports.Answer) error {
			q := newQuestion(tenant)
			for _, i := range open {
				q.step(&all[i])
			}
			if err := s.run.read(ctx, tenant, q.ops()); err != nil {
				return err
			}
			for _, i := range open {
				out[i] = q.stepped(&all[i], pending[i], s.now())
			}
			return nil
		},
	})
}

func (s instances) Load(ctx context.Context, refs []ports.Ref) ([]ports.Instance, error) {
	var out []ports.Instance
	err := eachTenant(refs, refTenant, func(tenant string, refs []ports.Ref) error {
		return s.read(ctx, tenant, op{
			name: "instance_read", args: args{"tenant": tenant}, rows: column(refs, refID), scan: func(r row) error {
				var in ports.Instance
				err := scanInstance(r, &in)
				out = append(out, in)
				return err
			},
		})
	})
	return out, err
}

// startKeys are what two starts of one transaction may not share: the message, and every unique alias. The first is the order of
// writing.
func startKeys(n *ports.NewInstance) []string {
	keys := []string{string(n.ID[:])}
	if n.Consumed != nil {
		keys = []string{string(n.Consumed.Event[:]), string(n.ID[:])}
	}
	if f := n.Schedule; f != nil {
		keys = append(keys, string(f.Deployment)+"/"+f.Process+"/"+f.Node)
	}
	return append(keys, uniqueKeys(n.Tenant, n.Aliases)...)
}

func stepKeys(st *ports.Step) []string {
	keys := []string{string(st.Claim.ID[:])}
	for _, c := range st.Consumed {
		keys = append(keys, string(c.Event[:]))
	}
	if st.Task != nil {
		keys = append(keys, string(st.Task.ID[:]))
	}
	return append(keys, uniqueKeys(st.Tenant, st.Aliases)...)
}

func uniqueKeys(tenant string, aliases []ports.Alias) (keys []string) {
	for _, a := range aliases {
		if a.Unique {
			k := uniqueKey(tenant, a)
			keys = append(keys, string(k[:]))
		}
	}
	return keys
}

// valueKey stands for an alias's value over all modules and names.
func valueKey(a ports.Alias) ports.Key { return ports.NewKey(a.Module, a.Name, string(a.Value[:])) }

// uniqueKey is what only one instance of the tenant may hold.
func uniqueKey(tenant string, a ports.Alias) ports.Key {
	return ports.NewKey(tenant, a.Module, a.Name, string(a.Value[:]))
}

// writing gathers the rows of one transaction, table by table.
type writing struct {
	tenant string
	now    time.Time
	rows   map[string][]any // by statement
	locked []string         // deployments to lock
	leases []ports.Term     // that have to stand
	until  time.Time        // of locks that are extended
}

func newWriting(tenant string, now time.Time) *writing {
	return &writing{tenant: tenant, now: now, rows: map[string][]any{}}
}

func (w *writing) add(statement string, values ...any) {
	w.rows[statement] = append(w.rows[statement], values...)
}

// order is the one order in which every transaction touches its tables, so that no two can wait for each other in a ring.
func order() []string {
	return []string{
		"deployment_share", "deployment_active", "lease_share", "lease_stands",
		"instance_guard", "instance_move", "inbox_take", "inbox_flip", "inbox_bury", "schedule_fire", "schedule_end", "task_complete",
		"task_extend", "task_fail", "outbox_sent", "outbox_later", "outbox_poison",
		"wait_clear", "wait_delete", "wait_move", "alias_clear", "alias_delete", "task_clear", "task_delete", "task_move", "task_alter", "task_retopic",
		"instance_insert", "alias_insert", "wait_insert", "task_insert", "outbox_insert", "inbox_insert", "inbox_reply", "history_insert", "audit_insert",
	}
}

func (w *writing) ops() []op {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(w.locked))) {
		w.add("deployment_share", id)
		w.add("deployment_active", id)
	}
	for _, t := range terms(w.leases) {
		w.add("lease_share", t.Role)
		w.add("lease_stands", t.Role, t.Holder, t.Number)
	}
	all := args{"tenant": w.tenant, "now": w.now, "why": "void", "until": w.until}
	var out []op
	for _, name := range order() {
		if rows := w.rows[name]; len(rows) > 0 {
			out = append(out, op{name: name, args: all, rows: rows})
		}
	}
	return out
}

// terms are each of these once, in one order.
func terms(all []ports.Term) []ports.Term {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b ports.Term) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Number, b.Number))
	})
	return slices.CompactFunc(all, func(a, b ports.Term) bool { return a.Role == b.Role && a.Holder == b.Holder && a.Number == b.Number })
}

func (w *writing) start(n *ports.NewInstance, pending bool) {
	if !n.Pinned {
		w.locked = append(w.locked, string(n.Deployment))
	}
	w.leases = append(w.leases, n.Leases...)
	if n.Consumed != nil {
		w.consume(n.ID, ports.StepID{}, n.Consumed, pending)
	}
	if f := n.Schedule; f != nil && f.Next.IsZero() {
		w.add("schedule_end", f.Deployment, f.Process, f.Node, f.Due)
	} else if f != nil {
		w.add("schedule_fire", f.Deployment, f.Process, f.Node, f.Due, f.Next, f.Left)
	}
	var parent ports.Parent
	if n.Parent != nil {
		parent = *n.Parent
	}
	fault := faultOf(n.Fault)
	// The step of a start has the instance's id.
	w.add("instance_insert", n.ID, n.Deployment, n.Module, n.Process, n.Channel, parent.Instance, parent.Wait, parent.Root,
		n.Status, n.Snapshot, null(fault.Code), null(fault.Detail), null(fault.Node), w.ended(n.Status))
	w.beside(n.ID, n.ID, 1, n.Deployment, n.Process, &n.Rows)
}

func (w *writing) step(st *ports.Step, pending []bool) {
	id, fault := st.Claim.ID, faultOf(st.Fault)
	w.add("instance_guard", id, st.Owner, st.Epoch, st.ID, st.Status, st.Snapshot,
		null(fault.Code), null(fault.Detail), null(fault.Node), w.ended(st.Status))
	for i := range st.Consumed {
		w.consume(id, st.ID, &st.Consumed[i], pending[i])
	}
	for _, ref := range st.Void {
		w.add("inbox_bury", ref.Event)
	}
	if t := st.Task; t != nil {
		w.add("task_complete", t.ID, t.Worker, t.Epoch)
	}
	w.leases = append(w.leases, st.Leases...)
	w.drop(id, st)
	deployment, process := st.Deployment, st.Process
	if m := st.Move; m != nil {
		deployment, process = m.To, m.Process
		w.move(id, m)
	}
	if st.Audit != nil {
		w.add("audit_insert", auditRow(*st.Audit)...)
	}
	w.beside(id, st.ID, st.Seq, deployment, process, &st.Rows)
}

func (w *writing) move(id ports.InstanceID, m *ports.Move) {
	w.locked = append(w.locked, string(m.To))
	w.add("instance_move", id, m.To, m.Module, m.Process)
	w.add("task_move", id, m.To, m.Process)
	for _, wait := range m.Waits {
		w.add("wait_move", id, wait.ID, wait.Node, wait.Name, wait.Due)
	}
	for _, t := range m.Tasks {
		w.add("task_alter", t.ID, t.Node, t.Headers, flag(t.Open))
	}
	for _, t := range m.Topics {
		w.add("task_retopic", t.ID, t.Topic)
	}
}

func (w *writing) drop(id ports.InstanceID, st *ports.Step) {
	if st.Drop.All {
		w.add("wait_clear", id)
		w.add("alias_clear", id)
		w.add("task_clear", id)
		return
	}
	for _, wait := range st.Drop.Waits {
		w.add("wait_delete", id, wait)
	}
	for _, a := range st.Drop.Aliases {
		w.add("alias_delete", id, a.Wait, valueKey(a))
	}
	for _, task := range st.Drop.Tasks {
		w.add("task_delete", task)
	}
}

func (w *writing) consume(by ports.InstanceID, step ports.StepID, c *ports.Consumed, pending bool) {
	if pending {
		w.add("inbox_flip", c.Event, by, step, c.Reply)
		return
	}
	w.add("inbox_take", c.Event, c.Channel, c.EventID, c.Kind, by, step, c.Reply)
}

// beside writes what a start and a step have in common.
func (w *writing) beside(id ports.InstanceID, step ports.StepID, seq int64, deployment ports.DeploymentID, process string, r *ports.Rows) {
	for _, a := range r.Aliases {
		var taken ports.Key
		if a.Unique {
			taken = uniqueKey(w.tenant, a)
		}
		w.add("alias_insert", id, a.Wait, valueKey(a), a.Module, a.Name, taken)
	}
	for _, wait := range r.Waits {
		w.add("wait_insert", id, wait.ID, wait.Kind, wait.Node, wait.Name, wait.Due)
	}
	for _, t := range r.Tasks {
		w.add("task_insert", t.ID, id, t.Wait, deployment, process, t.Node, t.Topic, t.Inputs, t.Headers, t.Retries, flag(t.Open))
	}
	for i := range r.Outbox {
		w.emit(&r.Outbox[i])
	}
	for i := range r.Deliveries {
		w.accept(&r.Deliveries[i])
	}
	for _, reply := range r.Replies {
		w.add("inbox_reply", reply.Event, reply.Document)
	}
	if r.History != nil {
		w.add("history_insert", id, seq, step, r.History)
	}
}

func (w *writing) emit(e *ports.Emission) {
	w.add("outbox_insert", e.ID, e.Deployment, e.Instance, e.Seq, e.Destination, e.ContentType, packHeaders(e.Headers), e.Body,
		e.Wait, e.Attempt, e.Trace)
}

func (w *writing) accept(m *ports.Message) {
	w.leases = append(w.leases, m.Leases...)
	accepted, next := m.Accepted, m.NextAttempt
	if accepted.IsZero() {
		accepted = w.now
	}
	if next.IsZero() {
		next = w.now
	}
	w.add("inbox_insert", m.Event, m.Channel, m.EventID, m.Kind, m.Target, m.Wait, m.Source, m.Deployment, m.Name, m.Correlation,
		null(m.Stream), m.Position, m.Payload, accepted, m.Expires, next)
}

func (w *writing) ended(s ports.Status) time.Time {
	if s.Ended() {
		return w.now
	}
	return time.Time{}
}

func faultOf(f *ports.Fault) ports.Fault {
	if f == nil {
		return ports.Fault{}
	}
	return *f
}

// rowBytes is what rows weigh, roughly.
func rowBytes(r *ports.Rows) int {
	n := 200 + len(r.History) + 100*(len(r.Waits)+len(r.Aliases))
	for i := range r.Outbox {
		n += 200 + len(r.Outbox[i].Body)
	}
	for i := range r.Deliveries {
		n += 200 + len(r.Deliveries[i].Payload)
	}
	for i := range r.Tasks {
		n += 200 + len(r.Tasks[i].Inputs) + len(r.Tasks[i].Headers)
	}
	for i := range r.Replies {
		n += 50 + len(r.Replies[i].Document)
	}
	return n
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func scanInstance(r row, in *ports.Instance) error {
	var parent ports.Parent
	var fault ports.Fault
	err := r.Scan(&in.Tenant, &in.ID, &in.Deployment, &in.Module, &in.Process, &in.Channel, &parent.Instance, &parent.Wait, &parent.Root,
		&in.Status, &in.Snapshot, &fault.Code, &fault.Detail, &fault.Node, &in.Owner, &in.Epoch, &in.ClaimedAt, &in.LastStep,
		&in.Created, &in.Updated, &in.EndedAt)
	in.Snapshot = bytes.Clone(in.Snapshot)
	if !parent.Instance.IsZero() {
		in.Parent = &parent
	}
	if fault != (ports.Fault{}) {
		in.Fault = &fault
	}
	return err
}
