// Package token is what an instance is: a snapshot of parked tokens, its bytes, and the store rows that are a function of it. It
// moves no token and evaluates nothing; core/step does.
package token

import (
	"time"

	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/ports"
)

// ID names a scope, token, wait or log entry inside one instance: one counter for all, never used twice, so its order is age.
// Zero is none.
type ID = int64

// Snapshot is the whole of an instance between two steps. Every token in it is parked. Slices are ordered by id.
type Snapshot struct {
	Process string
	Next    ID    // the last id given out
	Step    int64 // steps committed: the history sequence of the last
	Status  ports.Status
	Open    []Open // messages taken and not answered, in order of arrival: the origin first
	Parent  *Parent
	Failure *Failure
	Scopes  []Scope
	Tokens  []Token
	Waits   []Wait
	Aliases []Alias
	Undoing []Undoing   // compensations that run
	Trace   ports.Trace // of the last step that somebody traced
}

// Open is a message that still waits for its answer.
type Open struct {
	Channel string
	Event   ports.Key
	Mode    string // cloudevent-binary or cloudevent-structured, as it came; empty: no CloudEvent
}

// Parent is what a child knows of its caller.
type Parent struct {
	Instance ports.InstanceID
	Wait     ID
	Root     ports.InstanceID
	Depth    int      // 1: called by a root
	Catches  []string // error codes that some ancestor would catch
	CatchAny bool     // some ancestor catches every code
	Wants    []string // result variables; see WantAll
	WantAll  bool
}

// Failure is why the instance is FAILED, and the event it failed at.
type Failure struct {
	Code, Detail, Node string
	Trace              []string // scopes of the node, outermost first
	Event              []byte   // core/step's own encoding
}

// ScopeKind is what a scope is.
type ScopeKind uint8

// The kinds of scopes.
const (
	ProcessScope ScopeKind = iota + 1
	SubScope               // embedded sub-process
	TransactionScope
	AdHocScope
	EventScope     // a running event sub-process
	BodyScope      // of a loop or multi-instance
	IterationScope // one of its rounds
	ActivityScope  // of a task: its inputs
	HandlerScope   // of a running compensation handler
	RestoredScope  // the locals of a completed sub-process, for its handlers
)

// Scope is a scope instance.
type Scope struct {
	ID          ID
	Parent      ID
	Node        string // BPMN id of the activity; empty: the process
	Kind        ScopeKind
	Variables   feel.Context
	Interrupted bool // an interrupting event sub-process runs, or ran
	Body        *Body
	Log         []Entry
	Gates       []Gate
	ToStart     []string // ad-hoc: elements still to start, in order
}

// Body is the state of a loop or multi-instance.
type Body struct {
	Sequential bool
	Total      int64
	Next       int64 // index of the next iteration to start, from 1
	Completed  int64
	Terminated int64
	Items      feel.List // sequential: the collection
	Results    []Result  // by index
}

// Result is the output element of one iteration.
type Result struct {
	Index int64
	Value feel.Value
}

// State is how a token is parked.
type State uint8

// The states of tokens.
const (
	Active  State = iota + 1 // at an activity: owns its scope
	Catch                    // at a catch event
	Gateway                  // at an event gateway: its waits are one group
	Join                     // before a joining gateway
	Throw                    // at an event that waits for compensation
)

// Token is one place where an instance is.
type Token struct {
	ID    ID
	Scope ID
	Node  string // BPMN id
	Flow  string // the flow it came by, or empty
	State State
	Inner ID    // Active: the scope it owns, or 0
	Undo  ID    // the compensation that it is a part of, or 0
	Tries int64 // Active: attempts made of a channel call
}

// Gate is the state of a complex gateway that has fired and waits for the late tokens.
type Gate struct {
	Node     string
	Consumed []string // the flows whose tokens it took
}

// Wait is one thing the instance waits for.
type Wait struct {
	ID      ID
	Token   ID // the owner, or
	Scope   ID // the owner of an event sub-process's wait
	Node    string
	Kind    ports.WaitKind // or Condition
	Group   ID             // the event gateway's token: one event takes all of a group
	Name    string         // message: channel or name; signal: name
	Due     time.Time      // timer, retry
	Anchor  time.Time      // timer cycle: the first due date
	Period  string         // timer cycle: ISO 8601
	Fired   int64          // timer cycle: times
	Left    int64          // timer cycle: fires left, this one included; -1 without end
	Topic   string         // task
	Task    ports.TaskID   // task
	Retries int64          // task: the worker's budget; 0: the engine's default
	Headers feel.Context   // task: those that were computed
	Child   ports.InstanceID
	Attempt int64       // call over a channel, from 1
	Truth   bool        // condition: when last evaluated
	Trace   ports.Trace // task: of the step that parked it
}

// Condition is the kind of wait that has no row: only the instance's own variables move it.
const Condition ports.WaitKind = "condition"

// Alias is one business key the instance holds.
type Alias struct {
	Name   string
	Value  string // FEEL string() of the value
	Unique bool
	Scope  ID // the scope it lives in, 0: the instance
	Wait   ID // the wait it belongs to, or 0
}

// Entry is one completed activity that can be compensated. A scope keeps them in order of completion.
type Entry struct {
	Node      string // the activity
	Kind      EntryKind
	Variables feel.Context // its locals at completion
	Together  bool         // the entries of Log run together: iterations of a parallel multi-instance
	Log       []Entry      // what completed inside it
}

// EntryKind is what an entry undoes.
type EntryKind uint8

// The kinds of entries.
const (
	HandlerEntry EntryKind = iota + 1 // an activity, by its boundary handler
	NestedEntry                       // a sub-process, by its inside
	RoundsEntry                       // a loop or multi-instance, by its iterations
)

// Undoing is one running compensation: entries of a log, last completed first. Its handlers are the tokens that name it.
type Undoing struct {
	ID       ID
	Scope    ID   // where its handlers run
	Token    ID   // the throw event, or the owner of a restored scope, that goes on when it has ended; 0: nobody
	Together bool // all at once
	Left     []Entry
}
