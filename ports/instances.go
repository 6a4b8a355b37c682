package ports

import (
	"context"
	"time"
)

// Ref names an instance. Every element names its tenant: the store splits a group by tenant where row security needs it.
type Ref struct {
	Tenant string
	ID     InstanceID
}

// Status is what became of an instance.
type Status string

// The statuses of an instance. Failed has not ended: it waits for an operator.
const (
	Suspended Status = "suspended" // parked; something can drive it
	Failed    Status = "failed"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Errored   Status = "errored" // a child that ended by a BPMN error its parent catches
)

// Statuses are all of them.
func Statuses() []Status { return []Status{Suspended, Failed, Completed, Cancelled, Errored} }

// Ended says that nothing can happen to the instance any more.
func (s Status) Ended() bool { return s == Completed || s == Cancelled || s == Errored }

// Fault is why an instance is FAILED.
type Fault struct {
	Code   string // SUTRA.…
	Detail string // for people; holds no sensitive variable
	Node   string // BPMN id, or empty
}

// Parent is what a child knows of its caller.
type Parent struct {
	Instance InstanceID
	Wait     WaitID     // the caller's call wait
	Root     InstanceID // the outermost caller
}

// WaitKind is what a wait waits for.
type WaitKind string

// The kinds of waits that have a row.
const (
	WaitMessage WaitKind = "message"
	WaitSignal  WaitKind = "signal"
	WaitTimer   WaitKind = "timer"
	WaitTask    WaitKind = "task"
	WaitCall    WaitKind = "call"
	WaitRetry   WaitKind = "retry"
)

// Wait is one thing an instance waits for.
type Wait struct {
	ID   WaitID
	Kind WaitKind
	Node string    // BPMN id
	Name Key       // message and signal: NewKey(kind, channel or name); zero elsewhere
	Due  time.Time // timer and retry: when; zero elsewhere
}

// Alias is one business key of an instance.
type Alias struct {
	Module string // the scope of uniqueness within a tenant; not bound to a revision
	Name   string
	Value  Key    // NewKey(FEEL string() of the value)
	Wait   WaitID // owned by this wait, or 0: by the instance
	Unique bool   // at most one live holder in (tenant, module, name, value)
}

// Header is one transport header. Order is kept.
type Header struct{ Name, Value string }

// Emission is one message to deliver. Its ID rides on the wire as the idempotency token.
type Emission struct {
	Tenant      string
	ID          EmissionID
	Deployment  DeploymentID // empty: it belongs to no revision and holds none back
	Instance    InstanceID
	Seq         int64  // rises within an instance; no order between emissions is promised
	Destination string // URL of the target, or channel:<name>; the scheme chooses the Sender
	Topic       string // where at a broker, as the channel says when it is sent; not stored
	ContentType string
	Headers     []Header
	Body        []byte
	Wait        WaitID // a call's answer goes to this wait; 0: nobody waits for an answer
	Attempt     int    // of the call, from 1
	Trace       Trace  // of the step that made it
}

// Task is one external task as it is parked.
type Task struct {
	ID      TaskID
	Wait    WaitID
	Node    string
	Topic   string
	Inputs  []byte // JSON object of variables for the worker
	Headers []byte // JSON object of static headers
	Retries int    // attempts left
	Open    bool   // completable without a lock (user tasks)
}

// Rows are what a start or a step writes beside its instance; nil slices write nothing.
type Rows struct {
	Waits      []Wait
	Aliases    []Alias
	Outbox     []Emission
	Tasks      []Task
	Deliveries []Message // pending inbox rows for other instances, and messages thrown to local channels
	Replies    []Reply   // answers to messages taken in earlier steps
	History    []byte    // the step's journal document; nil writes no row
}

// NewInstance is one instance to start, with the first step's outcome.
type NewInstance struct {
	Ref
	Deployment DeploymentID
	Module     string
	Process    string
	Channel    string // the door it came through, or empty
	Parent     *Parent
	Status     Status
	Snapshot   []byte
	Fault      *Fault    // with Failed
	Consumed   *Consumed // the message that starts it
	Schedule   *Fired    // the schedule that starts it
	Pinned     bool      // a called process: its caller keeps the revision, which may be draining
	Leases     []Term    // the singleton roles it acts under: refused with Stale when a term has passed
	Rows
}

// Dropped are the rows a step removes.
type Dropped struct {
	Waits   []WaitID
	Aliases []Alias // by module, name, value and wait
	Tasks   []TaskID
	All     bool // every wait, alias and task of the instance: it ended
}

// Step is one advance of a claimed instance. What it consumes goes with it, or the step is refused.
type Step struct {
	Claim
	ID         StepID // makes sending it again safe
	Seq        int64  // history sequence, one a commit
	Deployment DeploymentID
	Module     string
	Process    string
	Move       *Move // migration; Deployment is then still the old one
	Audit      *Audit
	Status     Status
	Snapshot   []byte
	Fault      *Fault // with Failed
	Consumed   []Consumed
	Void       []InboxRef // pending rows that must never be delivered (an interrupted call's start): dead if still pending
	Task       *TaskLock  // the completion of a task: refused with LockLost when the lock is another's
	Leases     []Term     // the singleton roles it acts under: refused with Stale when a term has passed
	Drop       Dropped
	Rows
}

// Move carries an instance to another revision, which has to be active. Its tasks go with it. Waits and Tasks are those that stay and
// get other words; what their rows alone know stays as it is. Topics are tasks whose topic changes: LockLost while a worker has one,
// Gone when its row is not there (its completion is pending).
type Move struct {
	To      DeploymentID
	Module  string
	Process string
	Waits   []Wait
	Tasks   []Task
	Topics  []Task
}

// Instance is a row as it is stored, for views. Nothing may be advanced from it.
type Instance struct {
	Ref
	Deployment DeploymentID
	Module     string
	Process    string
	Channel    string
	Parent     *Parent
	Status     Status
	Snapshot   []byte
	Fault      *Fault
	Owner      Owner // empty: free
	Epoch      int64
	ClaimedAt  time.Time
	LastStep   StepID
	Created    time.Time
	Updated    time.Time
	EndedAt    time.Time // zero: not ended
}

// Instances starts and commits. Each element happens whole or not at all; no element costs another its own.
type Instances interface {
	// Start writes each instance if its message is not done yet, its unique aliases are free and its deployment is active.
	// Done, Duplicate, AliasTaken, NotActive, Stale (the schedule fired already, or a term has passed), Gone (the pending message is no longer pending).
	// A Duplicate whose Other is the element's own id is answered Done.
	Start(ctx context.Context, group []NewInstance) []Answer
	// Commit writes each step if its claim stands, and gives the claim back in the same transaction.
	// Done, ClaimLost, Duplicate, AliasTaken, LockLost, NotActive (a Move's target), Stale, Gone.
	// The claim is kept when the answer is not Done and the claim stood: the caller releases it.
	Commit(ctx context.Context, group []Step) []Answer
	// Load reads rows without a claim, for views. Missing ones are left out.
	Load(ctx context.Context, refs []Ref) ([]Instance, error)
}
