// Package step advances an instance by one step: events in, a value for the store out. It is pure: no clock, no I/O, no goroutine,
// no map order. The same program, snapshot, events and step id give the same bytes.
package step

import (
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// Program is one process of a revision with all it needs to run. It is shared and never changed.
type Program struct {
	Deployment ports.DeploymentID
	Module     string
	Process    *bpmn.Process
	Processes  map[string]*bpmn.Process   // of the same archive by id, for calls
	Channels   map[string]channel.Channel // by name
	Decisions  Decisions                  // nil: the archive has none
	Templates  map[string]*Template       // by path below templates/
	Limits     Limits
}

// Decisions are the DMN decisions of a revision.
type Decisions interface {
	// Decide evaluates a decision by id or name; the inputs are the scope of env. An error fails the instance.
	Decide(decision string, env feel.Env) (feel.Value, error)
	// Rows are the value of a decision as rows, one for each rule that made it: contexts of the outputs by name.
	Rows(decision string, value feel.Value) feel.List
}

// Limits bound a step. The zero value of a field is its default.
type Limits struct {
	Activations   int     // nodes entered in a step: 10,000
	SnapshotBytes int     // 1 MiB
	Tokens        int     // 10,000
	Scopes        int     // scopes inside one another: 64
	Calls         int     // called instances inside one another: 32
	Iterations    int     // of one body: 10,000
	TaskRetries   int     // attempts of an external task that says nothing else: 3
	History       History // what a step tells of itself; empty: all
	Budget        int     // FEEL steps of one evaluation; 0: feel's own
}

// History is how much a step tells of itself.
type History string

// The levels of history.
const (
	NoHistory       History = "none"     // steps leave no row
	ActivityHistory History = "activity" // where tokens went, and why
	FullHistory     History = "full"     // variables too
)

// EventKind is what happened.
type EventKind string

// The kinds of events. Their names are those of ports.MessageKind where both exist.
const (
	KindStart           EventKind = "start"
	KindChildStart      EventKind = "child-start"
	KindMessage         EventKind = "message"
	KindSignal          EventKind = "signal"
	KindTimer           EventKind = "timer"
	KindRetryDue        EventKind = "retry-due"
	KindTaskDone        EventKind = "task-done"
	KindTaskError       EventKind = "task-error"
	KindCallReply       EventKind = "call-reply"
	KindCallFailed      EventKind = "call-failed"
	KindChildDone       EventKind = "child-done"
	KindChildError      EventKind = "child-error"
	KindChildEscalation EventKind = "child-escal"
	KindCancel          EventKind = "cancel" // by an operator, or by the parent
	KindSetVariables    EventKind = "set-variables"
	KindMigrate         EventKind = "migrate" // in journals alone
	KindWake            EventKind = "wake"    // conditions are evaluated, and gateways that join are asked, without anything having happened
)

// Event is one thing that happened to an instance. Fields that its kind does not need are zero.
type Event struct {
	Kind    EventKind
	At      time.Time // database time; timers: when they were due
	Wait    ports.WaitID
	Name    ports.Key // message: what the wait is named; used when Wait is 0
	Match   ports.Key // message: the correlation value, or zero; used when Wait is 0
	Payload feel.Value
	Headers []ports.Header
	// Violations are what is wrong with the payload, where the model takes it all the same (q:onValidation).
	Violations []Violation
	// Mode is how a CloudEvent came, cloudevent-binary or cloudevent-structured, so that a reply may match it; empty: it is none.
	Mode    string
	Status  int    // call-reply: the answer's status
	Code    string // errors and escalations
	Message string // errors: for people
	Attempt int    // call-reply, call-failed: of the call
	Node    string // start: the start event's BPMN id; empty: the none start
	Process string // child-start: the called process
	Parent  *Parent
	From    Source
	Task    *ports.TaskLock // the lock that a completion names; goes into the step
	// Consumed is the inbox row that carries the event, or nil. It is done in the commit that applies the event.
	Consumed *ports.Consumed
	// Answered says that nobody waits for an answer to the consumed message.
	Answered bool
	// Asked is the message to answer, when it is not Consumed: a replayed event was consumed when it failed.
	Asked ports.InboxRef
	// Trace is what brought the event about, for those who trace: it changes nothing.
	Trace ports.Trace
}

// Parent is who calls, in a child-start.
type Parent struct {
	ports.Parent
	Depth    int
	Catches  []string
	CatchAny bool
	Wants    []string
	WantAll  bool
}

// Source orders deliveries of one instance as it sent them.
type Source struct {
	Instance ports.InstanceID
	Step     int64
	Ordinal  int
}

// Begin is a new instance.
type Begin struct {
	Ref      ports.Ref
	Step     ports.StepID
	Channel  string // the door, or empty
	Event    Event  // KindStart or KindChildStart; Event.At is the step's time
	Schedule *ports.Fired
	Leases   []ports.Term // the singleton roles that the start acts under
	Refused  *fault.Fault // why the database refused this start for its content: the failure of its event
	Trace    ports.Trace  // of the step: what it emits, delivers and parks carries it, and the instance keeps it
}

// Claimed is the instance to advance: its claim and row.
type Claimed struct {
	Claim ports.Claim
	Row   ports.Instance
	Step  ports.StepID
	At    time.Time // database time of the step
	// Leases are the singleton roles that the step acts under.
	Leases []ports.Term
	// Most is how many events are folded, the others being NotTried; 0: all.
	Most int
	// Refused says why the database refused the step of the first event for its content: it is that event's failure.
	Refused *fault.Fault
	// Trace is of the step: what it emits, delivers and parks carries it, and the instance keeps it.
	Trace ports.Trace
}

// Outcome is what became of one event.
type Outcome string

// The outcomes of events.
const (
	Applied   Outcome = "applied"
	Unmatched Outcome = "unmatched" // its wait is gone: nothing changed
	Failed    Outcome = "failed"    // the instance is FAILED and keeps the event
	NotTried  Outcome = "not-tried" // an event before it failed: still pending
)

// Result is a step.
type Result struct {
	Outcomes []Outcome // of each event, in the order they were given
	Failure  *fault.Fault
	// Activations is how many nodes were entered, and Before the trace of the instance's last step: for those who trace.
	Activations int
	Before      ports.Trace
	// Start is set by a new instance, Commit by an advance that changed something. Both nil: nothing to commit.
	Start  *ports.NewInstance
	Commit *ports.Step
	// Err is trouble: nothing was decided, the claim is to be released. An unknown snapshot format is one.
	Err error
}

// New runs a new instance's first step. A fatal failure is a FAILED instance that keeps its event, so nothing acknowledged is lost;
// of an idempotent process, or when the start event's condition is not true, nothing is stored: Start is nil and Failure says why.
func New(p *Program, b Begin) Result { return begin(p, b) }

// Resume folds all events into one step of a claimed instance, in the order that tokens.md fixes.
func Resume(p *Program, c Claimed, events []Event) Result { return resume(p, c, events) }

// Restore brings a FAILED instance back: the snapshot as it was before the failure, its rows again, and the kept event as a replay
// delivery unless drop is set.
func Restore(p *Program, c Claimed, event KeptEvent) Result { return restore(p, c, event) }

// KeptEvent says what restoring does with the event that failed.
type KeptEvent string

// What happens to a kept event.
const (
	ReplayEvent KeptEvent = "replay"
	DropEvent   KeptEvent = "drop"
)

// EventOf reads an inbox row as an event. A row that cannot be read is a fault: it can never be delivered.
func EventOf(m ports.Message) (Event, error) { return eventOf(m) }

// EventOfTimer is a due timer or retry as an event.
func EventOfTimer(t ports.Timer) Event {
	kind := KindTimer
	if t.Kind == ports.WaitRetry {
		kind = KindRetryDue
	}
	return Event{Kind: kind, At: t.Due, Wait: t.Wait}
}

// DecodeReply reads a stored reply.
func DecodeReply(document []byte) (ports.Response, error) { return decodeReply(document) }

// EncodeReply writes a reply as it is stored.
func EncodeReply(r ports.Response) ([]byte, error) { return encodeReply(r) }
