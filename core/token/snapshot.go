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
	Undoing []Undoing // compensations that run
}

// Open is a message that still waits for its answer.
type Open struct {
	Channel string
	Event   ports.Key
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
	Done        []string // ad-hoc: elements still to start, in order
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
	Inner ID  // Active: the scope it owns
	Tries int // Active: attempts made of a retried call
	Gate  *Gate
}

// Gate is the state of a complex gateway, kept by a token of its own.
type Gate struct {
	Consumed []string // flows taken in phase one; the gate waits for start when empty
}

// Wait is one thing the instance waits for.
type Wait struct {
	ID      ID
	Token   ID // the owner, or
	Scope   ID // the owner of an event sub-process's wait
	Node    string
	Kind    ports.WaitKind // or Condition
	Group   ID             // an event gateway's token: one event takes all
	Name    string         // message: channel or name; signal: name
	Key     string         // message: zeebe:subscription's value
	Due     time.Time      // timer, retry
	Anchor  time.Time      // timer cycle: the first due date
	Period  string         // timer cycle: ISO 8601
	Fired   int64          // timer cycle: times
	Left    int64          // timer cycle: fires left after this, -1 without end
	Topic   string         // task
	Task    ports.TaskID   // task
	Retries int            // task: the worker's budget
	Headers feel.Context   // task: those that were computed
	Child   ports.InstanceID
	Start   ports.Key  // call: the event key of the child's start
	Attempt int        // call over a channel
	Truth   feel.Value // condition: when last evaluated
	Emitted ports.EmissionID
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

// Entry is one completed activity that can be compensated, in order of completion.
type Entry struct {
	ID        ID     // rises with completion
	Node      string // the activity
	Handler   string // its handler, or empty: only its nested log
	Variables feel.Context
	Index     int64   // of the iteration, or 0
	Log       []Entry // of a sub-process
	Parallel  bool    // entries of one parallel multi-instance run together
}

// Undoing is one running compensation.
type Undoing struct {
	ID      ID
	Scope   ID // whose log it works on
	Throw   ID // the token that waits for it, or 0
	Running []ID
	Left    []Entry // last completed last
}
