package bpmn

import (
	"time"

	"github.com/sutra-engine/sutra/core/feel"
)

// Model is one file: its executable processes.
type Model struct {
	File      string
	Processes []*Process // in document order
}

// Process is one executable process, compiled. It is never changed after it was read, and may be shared.
type Process struct {
	ID, Name   string
	File       string
	Line       int
	Root       *Scope
	Nodes      []*Node // every node of every scope, in document order; Node.Index is the place here
	Flows      []*Flow // every sequence flow, in document order
	Variables  []Variable
	Aliases    []Alias // registered when an instance starts
	Idempotent bool    // a failed start stores nothing
	Starts     []Start
	Catches    []Catch
	Gathers    bool // some gateway waits for tokens that may still come: inclusive or complex

	nodes map[string]*Node
	flows map[string]*Flow
}

// Node finds a node by its BPMN id; nil: there is none.
func (p *Process) Node(id string) *Node { return p.nodes[id] }

// Flow finds a sequence flow by its BPMN id; nil: there is none.
func (p *Process) Flow(id string) *Flow { return p.flows[id] }

// Variable finds what the process declares of a variable; the zero Variable is nothing.
func (p *Process) Variable(name string) Variable {
	for _, v := range p.Variables {
		if v.Name == name {
			return v
		}
	}
	return Variable{}
}

// Scope is a process or a sub-process: what a scope instance is made from.
type Scope struct {
	Node    *Node // the sub-process; nil: the process
	Nodes   []*Node
	Start   *Node   // its none start event, or nil
	Events  []*Node // its event sub-processes, in document order
	Objects []string
}

// Kind is what a node is.
type Kind string

// The kinds of nodes.
const (
	StartEvent    Kind = "startEvent"
	EndEvent      Kind = "endEvent"
	CatchEvent    Kind = "intermediateCatchEvent"
	ThrowEvent    Kind = "intermediateThrowEvent"
	BoundaryEvent Kind = "boundaryEvent"

	AbstractTask Kind = "task"
	ManualTask   Kind = "manualTask"
	ServiceTask  Kind = "serviceTask"
	SendTask     Kind = "sendTask"
	RuleTask     Kind = "businessRuleTask"
	ScriptTask   Kind = "scriptTask"
	UserTask     Kind = "userTask"
	ReceiveTask  Kind = "receiveTask"

	SubProcess   Kind = "subProcess"
	EventProcess Kind = "eventSubProcess" // subProcess triggeredByEvent
	Transaction  Kind = "transaction"
	AdHoc        Kind = "adHocSubProcess"
	CallActivity Kind = "callActivity"

	Exclusive Kind = "exclusiveGateway"
	Parallel  Kind = "parallelGateway"
	Inclusive Kind = "inclusiveGateway"
	Complex   Kind = "complexGateway"
	EventGate Kind = "eventBasedGateway"
)

// IsActivity says that nodes of this kind are activities: tasks, sub-processes and calls.
func (k Kind) IsActivity() bool {
	switch k {
	case AbstractTask, ManualTask, ServiceTask, SendTask, RuleTask, ScriptTask, UserTask, ReceiveTask,
		SubProcess, EventProcess, Transaction, AdHoc, CallActivity:
		return true
	}
	return false
}

// Node is one flow node. Parts that a node of its kind cannot have are zero.
type Node struct {
	Index    int
	ID, Name string
	Kind     Kind
	Line     int
	Scope    *Scope // it stands in
	Inner    *Scope // sub-processes: their inside
	In, Out  []*Flow
	Default  *Flow
	Event    *Event // events: nil means none
	Source   *Source
	Aliases  []Alias // register, or with Source match
	Inputs   []Mapping
	Outputs  []Mapping

	// Activities.
	Boundaries      []*Node // in document order, without the compensation one
	Compensation    *Node   // its handler, or nil
	ForCompensation bool    // a handler
	Loop            *Loop
	Task            *Task
	Retry           *Retry
	Timeout         *Text
	Call            *Call
	AdHoc           *AdHocSpec

	// Events.
	Host         *Node // boundary events: the activity
	Interrupting bool  // boundary events, and start events of event sub-processes

	// Gateways.
	Activation  *Expression // complex
	Instantiate bool        // event gateways and receive tasks that start the process
	AllEvents   bool        // an instantiating gateway of type parallel

	Reply *Reply
	Send  *Send

	reach map[*Flow]nodeSet // inclusive and complex gateways: from where each incoming flow can still get a token
}

// Reaches says that a token at from can come to an incoming flow of this inclusive or complex gateway without passing the gateway.
func (n *Node) Reaches(f *Flow, from *Node) bool { return n.reach[f].has(from.Index) }

// Flow is a sequence flow.
type Flow struct {
	Index     int
	ID        string
	From, To  *Node
	Condition *Expression // nil: unconditional
}

// EventKind is what an event is about.
type EventKind string

// The kinds of event definitions.
const (
	Message      EventKind = "message"
	Timer        EventKind = "timer"
	Signal       EventKind = "signal"
	Error        EventKind = "error"
	Escalation   EventKind = "escalation"
	Conditional  EventKind = "conditional"
	Compensation EventKind = "compensation"
	Cancel       EventKind = "cancel"
	Terminate    EventKind = "terminate"
	Link         EventKind = "link"
)

// Event is an event definition.
type Event struct {
	Kind      EventKind
	Name      *Text // message, signal: its name; link: literal
	Code      *Text // error, escalation: nil catches every code
	Says      *Text // error: the message that goes with it when it is thrown
	Timer     *TimerSpec
	Condition *Expression
	Activity  *Node       // compensation: activityRef, or nil
	Wait      bool        // compensation: waitForCompletion
	Key       *Expression // message: the value of zeebe:subscription
	CodeTo    string      // errors, escalations: a variable that takes the code
	MessageTo string      // errors: a variable that takes the message
}

// TimerSpec is a timer definition: exactly one of its parts is set.
type TimerSpec struct{ Date, Duration, Cycle *Text }

// Text is a text that is literal, or computed by an expression.
type Text struct {
	Literal string
	Expr    *Expression // nil: literal
}

// Expression is a compiled FEEL expression and where it stands.
type Expression struct {
	Source string
	Line   int
	feel   evaluator
}

type evaluator interface {
	Eval(feel.Env) (feel.Value, error)
	Names() []string
	Calls(name string) bool
}

// Eval evaluates it. Errors are budgets, never bad operands.
func (e *Expression) Eval(env feel.Env) (feel.Value, error) { return e.feel.Eval(env) }

// Names are the variables it reads.
func (e *Expression) Names() []string { return e.feel.Names() }

// Calls says that it calls a function of this name.
func (e *Expression) Calls(name string) bool { return e.feel.Calls(name) }

// Source is q:source: the channel a message comes from.
type Source struct {
	Channel      string
	Name         string // the variable that takes the payload
	TypeValue    *Text
	TypePattern  string
	DedupKey     *Expression
	OnValidation string // of a payload that violates its channel's schema: reject, route, error
	ErrorCode    string // error: what is thrown; empty: the engine's own code
}

// Alias is q:alias: a business key. On a node with Source it matches incoming payloads, elsewhere it registers.
type Alias struct {
	Name       string
	Expr       *Expression
	Unique     bool
	Multi      bool
	Correlate  bool // onConflict=correlate
	Line       int
	Subscriber bool // of a Catch: zeebe:subscription, owned by the wait; matched by the key that comes with the message
}

// Mapping writes the value of an expression to a target, a name or a path of names.
type Mapping struct {
	Target string
	Expr   *Expression
	Text   string // literal, when Expr is nil
}

// Variable is q:variable.
type Variable struct {
	Name, Type           string
	Transient, Sensitive bool
}

// Loop is a standard loop or a multi-instance.
type Loop struct {
	Multi      bool
	Sequential bool
	Collection *Expression // multi: the list; else Cardinality
	Count      *Expression
	Item       string      // multi: input element
	Output     string      // multi: output collection
	Element    *Expression // multi: output element
	Declares   string      // multi: a plain name that Element is, declared in the iteration
	Done       *Expression // multi: completion condition
	TestBefore bool        // standard
	Maximum    int         // standard; 0: none
	Condition  *Expression // standard
}

// How says how a task's work is done.
type How string

// The ways of working.
const (
	Pass     How = "pass"     // nothing to do
	Script   How = "script"   // FEEL
	Decision How = "decision" // DMN
	Template How = "template" // a body rendered
	External How = "external" // a worker fetches it
	Channel  How = "channel"  // called over a channel
	Emit     How = "emit"     // q:send
	Wait     How = "wait"     // a message
)

// RowsAs is what becomes of the rows of a decision's result, each a context of outputs by name.
type RowsAs string

// The forms in which a decision's result may be wanted.
const (
	SingleEntry    RowsAs = "singleEntry"    // the one output of the one row
	SingleResult   RowsAs = "singleResult"   // the one row
	CollectEntries RowsAs = "collectEntries" // the one output of each row
	ResultList     RowsAs = "resultList"     // the rows
)

// Task is how a task works.
type Task struct {
	How      How
	Script   *Expression
	Decision *Text
	Template string
	Params   []Mapping
	Rows     RowsAs // decisions: in which form the result is wanted; empty: as DMN has it
	Result   string // the variable that takes the result; empty: merged
	Topic    *Text
	Retries  *Text
	Headers  []Header
	Open     bool // completable without a lock
	Channel  string
}

// Header is a static or computed header of a task, reply or emission.
type Header struct {
	Name  string
	Value *Text
}

// Retry is q:retry.
type Retry struct {
	MaxAttempts  int // counts the first
	Initial      time.Duration
	Coefficient  float64
	Max          time.Duration
	NonRetryable []string
	Line         int
}

// Call is what a call activity calls, and with what.
type Call struct {
	Process   *Text // nil: Cases alone
	Cases     []Case
	OnNoMatch string // error, skip
	AllIn     bool   // everything visible goes in
	AllOut    bool
	// BusinessKey is camunda:in businessKey: accepted.
}

// Case is q:case of q:dispatch.
type Case struct {
	When    *Expression
	Process string
}

// AdHocSpec is how an ad-hoc sub-process runs.
type AdHocSpec struct {
	Elements   *Expression // the ids to start; nil: every node without incoming flow
	Sequential bool
	Done       *Expression
	LetEnd     bool        // cancelRemainingInstances = false
	Output     string      // output collection
	Element    *Expression // output element: what one path gives
	Declares   string      // a plain name that Element is, declared in the scope
}

// Reply is q:reply.
type Reply struct {
	ContentType string
	Mode        string
	Template    string
	Body        *Expression
	Status      *Text
	Headers     []Header
}

// Send is q:send.
type Send struct {
	Destination *Text
	Channel     string
	ContentType string
	Mode        string
	Template    string
	Body        *Expression
	Headers     []Header
}

// Start is one way an instance starts.
type Start struct {
	Node    *Node
	Kind    EventKind // empty: none
	Channel string    // message: its q:source channel, or empty
	Message string    // message, signal: its name, or empty
	Timer   *TimerSpec
}

// Wakes says what wakes a start or catch: the channel where there is one, else the BPMN name.
func (s Start) Wakes() string {
	if s.Channel != "" {
		return s.Channel
	}
	return s.Message
}

// Catch is one node that waits for a message.
type Catch struct {
	Node    *Node
	Channel string // q:source channel, or empty
	Message string // BPMN message name when literal and without channel
	Aliases []Alias
}
