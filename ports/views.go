package ports

import (
	"context"
	"time"
)

// InstanceQuery filters a list of instances. Zero fields do not filter.
type InstanceQuery struct {
	Tenants    []string // nil: all
	Deployment DeploymentID
	Process    string
	Statuses   []Status
	Alias      *Alias // module, name and value
	Since      time.Time
	Until      time.Time
	Parent     InstanceID
	After      InstanceID // keyset: ids below it, newest first; zero starts
	Limit      int
}

// InstancePage is one page of a list. Next is where the page after it begins; zero: nothing follows. A short page, even an empty one, may
// have one: the filters found little in what one request reads.
type InstancePage struct {
	Instances []Instance
	Next      InstanceID
}

// WaitView is a wait with what its row alone knows.
type WaitView struct {
	Ref
	Wait
	Armed   time.Time
	Attempt time.Time
	Refused Refusal
}

// HistoryEntry is one step's document.
type HistoryEntry struct {
	Seq      int64
	At       time.Time
	Step     StepID
	Document []byte
}

// EmissionView is an outbox row for operators.
type EmissionView struct {
	Stamped
	Next      time.Time
	Poisoned  bool
	LastError string
}

// Backlog counts what is due and not done, with the age of the oldest of each: not a message that is kept for an instance to come, nor
// one that somebody is at or that is put off, and no poisoned, dead or terminal row.
type Backlog struct {
	InboxDue, OutboxDue, TimersOverdue, TasksFetchable, ClaimsHeld                int64
	OldestInbox, OldestOutbox, OldestTimer, OldestTask, OldestClaim               time.Time // zero: none
	OutboxPoisoned, InboxDead, TasksTerminal, InstancesFailed, InstancesSuspended int64
}

// Audit is one action of an operator, written in the transaction of what it did: what is not there did not happen.
type Audit struct {
	ID       ID
	Tenant   string
	At       time.Time  // set when it is read
	Actor    string     // who, as the transport knows them
	Action   string     // what: cancel, resume, …
	Instance InstanceID // zero: it is about none
	Subject  string     // the deployment, emission or task, or empty
	Detail   []byte     // JSON, or nil; holds no value of a variable
}

// AuditQuery filters a list of actions. Zero fields do not filter.
type AuditQuery struct {
	Tenants  []string // nil: all
	Instance InstanceID
	Actor    string
	Action   string
	Since    time.Time
	Until    time.Time
	After    ID // keyset: ids below it, newest first; zero starts
	Limit    int
}

// Audits keeps what operators did.
type Audits interface {
	// Note writes an action whose own transaction could not take it along.
	Note(ctx context.Context, a Audit) error
	// List answers actions newest first.
	List(ctx context.Context, q AuditQuery) ([]Audit, error)
}

// Breach is one place where a rule does not hold that must hold at every instant.
type Breach struct {
	Rule       string
	Tenant     string
	Instance   InstanceID   // or
	Deployment DeploymentID // whichever it is about
}

// Views reads for people. Lists are keyset pages that never decode a snapshot.
type Views interface {
	// List answers instances newest first, without snapshots. What it reads is bounded whatever the filters: a page may be short.
	List(ctx context.Context, q InstanceQuery) (InstancePage, error)
	Waits(ctx context.Context, ref Ref) ([]WaitView, error)
	// History answers a page of an instance's steps after `after`, oldest first.
	History(ctx context.Context, ref Ref, after int64, limit int) ([]HistoryEntry, error)
	// Emissions lists pending and poisoned outbox rows by id after `after`.
	Emissions(ctx context.Context, tenants []string, poisoned bool, after EmissionID, limit int) ([]EmissionView, error)
	// ListTasks lists parked tasks by id after `after`.
	ListTasks(ctx context.Context, tenants []string, terminal bool, after TaskID, limit int) ([]LockedTask, error)
	// Locate names the tenant of an instance that a principal with these tenants may see; the zero Ref is none.
	Locate(ctx context.Context, tenants []string, id InstanceID) (Ref, error)
	Backlog(ctx context.Context) (Backlog, error)
	// Living counts the instances of a tenant that have not ended, the called ones too, or those that one channel started, up to most.
	Living(ctx context.Context, tenant, channel string, most int) (int, error)
	// Verify looks for up to limit breaches of each rule, without disturbing a fleet at work. None: the database is sound.
	Verify(ctx context.Context, limit int) ([]Breach, error)
}

// Retention removes what has ended.
type Retention interface {
	// PurgeInstances deletes instances that ended before `before` with their history, in bounded bites that always make progress;
	// more says that there is more to do.
	PurgeInstances(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error)
}
