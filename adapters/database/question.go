package database

import (
	"bytes"
	"time"

	"github.com/sutra-engine/sutra/ports"
)

// question is what has to be known to tell why a group was refused: one read for all of it.
type question struct {
	tenant string
	rows   map[string][]any // by statement

	claims  map[ports.InstanceID]held
	events  map[ports.Key]event
	aliases map[ports.Key]ports.InstanceID
	phases  map[ports.DeploymentID]ports.Phase
	due     map[scheduled]time.Time
	tasks   map[ports.TaskID]locked
	leases  map[string]ports.Term
}

// event is how a message's row stands.
type event struct {
	state    string
	instance ports.InstanceID
	step     ports.StepID
	cursor   []byte
}

// locked is how a task stands.
type locked struct {
	ports.TaskLock
	until time.Time
}

// taken says that a worker has the task.
func (l locked) taken(now time.Time) bool { return l.Worker != "" && l.until.After(now) }

type scheduled struct {
	deployment    ports.DeploymentID
	process, node string
}

func newQuestion(tenant string) *question {
	return &question{
		tenant: tenant, rows: map[string][]any{},
		claims: map[ports.InstanceID]held{}, events: map[ports.Key]event{}, aliases: map[ports.Key]ports.InstanceID{},
		phases: map[ports.DeploymentID]ports.Phase{}, due: map[scheduled]time.Time{}, tasks: map[ports.TaskID]locked{},
		leases: map[string]ports.Term{},
	}
}

func (q *question) add(statement string, values ...any) {
	q.rows[statement] = append(q.rows[statement], values...)
}

func (q *question) start(n *ports.NewInstance) {
	q.add("instance_state", n.ID)
	if n.Consumed != nil {
		q.add("inbox_state", n.Consumed.Event)
	}
	if !n.Pinned {
		q.add("deployment_state", n.Deployment)
	}
	if n.Schedule != nil {
		q.add("schedule_state", n.Schedule.Deployment)
	}
	q.lease(n.Leases)
	q.alias(n.Aliases)
}

func (q *question) step(st *ports.Step) {
	q.add("instance_state", st.Claim.ID)
	for _, c := range st.Consumed {
		q.add("inbox_state", c.Event)
	}
	if st.Task != nil {
		q.add("task_state", st.Task.ID)
	}
	q.lease(st.Leases)
	if m := st.Move; m != nil {
		q.add("deployment_state", m.To)
		for _, t := range m.Topics {
			q.add("task_state", t.ID)
		}
	}
	q.alias(st.Aliases)
}

func (q *question) alias(all []ports.Alias) {
	for _, a := range all {
		if a.Unique {
			q.add("alias_holder", uniqueKey(q.tenant, a))
		}
	}
}

func (q *question) lease(all []ports.Term) {
	for _, t := range all {
		q.add("lease_state", t.Role)
	}
}

// passed tells whether one of the terms is over: Stale, or nothing.
func (q *question) passed(all []ports.Term) ports.Answer {
	for _, t := range all {
		if now := q.leases[t.Role]; now.Holder != t.Holder || now.Number != t.Number {
			return ports.Answer{Outcome: ports.Stale, Detail: "the lease " + t.Role + " has another term"}
		}
	}
	return ports.Answer{}
}

// started tells what became of a start, as far as the answers say, and whether its message is there and pending.
func (q *question) started(n *ports.NewInstance) (a ports.Answer, pending bool) {
	if _, landed := q.claims[n.ID]; landed {
		return ports.Answer{Outcome: ports.Done}, false
	}
	if n.Consumed != nil {
		a, pending = q.consumed(n.Consumed)
		if a.Outcome == ports.Duplicate && a.Other == n.ID {
			return ports.Answer{Outcome: ports.Done}, false
		}
	}
	switch {
	case a.Outcome != ports.Unsettled:
		return a, pending
	case !n.Pinned && q.phases[n.Deployment] != ports.Active:
		return ports.Answer{Outcome: ports.NotActive}, pending
	case n.Schedule != nil && !q.due[scheduled{n.Schedule.Deployment, n.Schedule.Process, n.Schedule.Node}].Equal(n.Schedule.Due):
		return ports.Answer{Outcome: ports.Stale, Detail: "the schedule is not due at that time"}, pending
	}
	if a := q.passed(n.Leases); a.Outcome != ports.Unsettled {
		return a, pending
	}
	return q.taken(n.Tenant, n.ID, n.Aliases), pending
}

// stepped tells what became of a step that was tried at some time.
func (q *question) stepped(st *ports.Step, pending []bool, at time.Time) ports.Answer {
	now := q.claims[st.Claim.ID]
	switch {
	case now.last == st.ID && !st.ID.IsZero():
		return ports.Answer{Outcome: ports.Done}
	case !now.stands(st.Claim):
		return ports.Answer{Outcome: ports.ClaimLost}
	}
	for i := range st.Consumed {
		var a ports.Answer
		a, pending[i] = q.consumed(&st.Consumed[i])
		switch {
		case a.Outcome == ports.Duplicate && q.events[st.Consumed[i].Event].step == st.ID:
			return ports.Answer{Outcome: ports.Done}
		case a.Outcome != ports.Unsettled:
			return a
		}
	}
	if t := st.Task; t != nil {
		lock, there := q.tasks[t.ID]
		switch {
		case !there:
			return ports.Answer{Outcome: ports.Gone}
		case !lockStands(lock, *t):
			return ports.Answer{Outcome: ports.LockLost}
		}
	}
	if a := q.passed(st.Leases); a.Outcome != ports.Unsettled {
		return a
	}
	if st.Move != nil {
		if a := q.moved(st.Move, at); a.Outcome != ports.Unsettled {
			return a
		}
	}
	return q.taken(st.Tenant, st.Claim.ID, st.Aliases)
}

// consumed tells whether a message can still be taken, and whether its row is there.
func (q *question) consumed(c *ports.Consumed) (a ports.Answer, pending bool) {
	switch e := q.events[c.Event]; e.state {
	case inboxDone:
		return ports.Answer{Outcome: ports.Duplicate, Other: e.instance}, false
	case inboxDead:
		return ports.Answer{Outcome: ports.Gone}, false
	case inboxPending:
		return ports.Answer{}, true
	}
	if c.Pending {
		return ports.Answer{Outcome: ports.Gone}, false
	}
	return ports.Answer{}, false
}

func (q *question) taken(tenant string, id ports.InstanceID, all []ports.Alias) ports.Answer {
	for _, a := range all {
		if other, taken := q.aliases[uniqueKey(tenant, a)]; a.Unique && taken && other != id {
			return ports.Answer{Outcome: ports.AliasTaken, Other: other}
		}
	}
	return ports.Answer{}
}

// moved tells what stands against a move.
func (q *question) moved(m *ports.Move, now time.Time) ports.Answer {
	if q.phases[m.To] != ports.Active {
		return ports.Answer{Outcome: ports.NotActive}
	}
	for _, t := range m.Topics {
		switch l, there := q.tasks[t.ID]; {
		case !there:
			return ports.Answer{Outcome: ports.Gone}
		case l.taken(now):
			return ports.Answer{Outcome: ports.LockLost}
		}
	}
	return ports.Answer{}
}

func lockStands(now locked, want ports.TaskLock) bool {
	return (want.Worker == "" || now.Worker == want.Worker) && (want.Epoch == 0 || now.Epoch == want.Epoch)
}

// ops reads everything. What changes last in a transaction is read first: a row that is there was committed with all it came with.
func (q *question) ops() []op {
	all := args{"tenant": q.tenant}
	reads := []op{
		stateOp(q.tenant, q.rows["instance_state"], q.claims),
		{name: "inbox_state", scan: func(r row) error {
			var key ports.Key
			var e event
			err := r.Scan(&key, &e.state, &e.instance, &e.step, &e.cursor)
			e.cursor = bytes.Clone(e.cursor)
			q.events[key] = e
			return err
		}},
		{name: "alias_holder", scan: func(r row) error {
			var key ports.Key
			var id ports.InstanceID
			err := r.Scan(&key, &id)
			q.aliases[key] = id
			return err
		}},
		{name: "deployment_state", scan: func(r row) error {
			var id ports.DeploymentID
			var phase ports.Phase
			err := r.Scan(&id, &phase)
			q.phases[id] = phase
			return err
		}},
		{name: "schedule_state", scan: func(r row) error {
			var s scheduled
			var due time.Time
			err := r.Scan(&s.deployment, &s.process, &s.node, &due)
			q.due[s] = due
			return err
		}},
		{name: "task_state", scan: func(r row) error {
			var l locked
			err := r.Scan(&l.ID, &l.Worker, &l.Epoch, &l.until)
			q.tasks[l.ID] = l
			return err
		}},
		{name: "lease_state", scan: func(r row) error {
			var t ports.Term
			err := r.Scan(&t.Role, &t.Holder, &t.Number, &t.Expires)
			q.leases[t.Role] = t
			return err
		}},
	}
	var out []op
	for _, o := range reads {
		if rows := q.rows[o.name]; len(rows) > 0 {
			o.rows = rows
			if o.args == nil {
				o.args = all
			}
			out = append(out, o)
		}
	}
	return out
}
