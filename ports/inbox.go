package ports

import (
	"context"
	"time"
)

// DeliveryChannel is the inbox channel of what one instance does to another.
const DeliveryChannel = "~"

// InboxRef names one inbox row: unique in (tenant, channel, event key).
type InboxRef struct {
	Tenant  string
	Channel string
	Event   Key // NewKey(tenant, channel, event id)
}

// MessageKind is what a message is to its target.
type MessageKind string

// The kinds of inbox rows. All but KindMessage travel on the DeliveryChannel.
const (
	KindMessage         MessageKind = "message"      // from a door, or thrown to a local channel: to be routed
	KindStart           MessageKind = "start"        // start by name, by an operator or API
	KindRelay           MessageKind = "relay"        // a message whose target instance and wait are known
	KindSignal          MessageKind = "signal"       // to be fanned out
	KindSignalled       MessageKind = "signalled"    // one signal for one wait
	KindChildStart      MessageKind = "child-start"  // Target is the child to be
	KindChildDone       MessageKind = "child-done"   //
	KindChildError      MessageKind = "child-error"  //
	KindChildEscalation MessageKind = "child-escal"  //
	KindChildCancel     MessageKind = "child-cancel" //
	KindCallReply       MessageKind = "call-reply"   // the answer to a channel call
	KindCallFailed      MessageKind = "call-failed"  // its final failure
	KindTaskDone        MessageKind = "task-done"    // a completion that met a held claim
	KindTaskError       MessageKind = "task-error"   //
	KindReplay          MessageKind = "replay"       // the kept event of a restored instance
	KindWake            MessageKind = "wake"         // to a migrated instance: look whether something can go on
)

// Message is one inbox row: a message from outside, or a delivery between instances.
type Message struct {
	InboxRef
	EventID     []byte // the foreign id, byte for byte, for people; nil for deliveries
	Kind        MessageKind
	Target      InstanceID   // zero: to be routed
	Wait        WaitID       // 0: none
	Source      InstanceID   // deliveries: who sent it
	Deployment  DeploymentID // the revision that took it
	Name        Key          // signal or message name, for those that look for it; zero: none
	Correlation Key          // of the value it carries; zero: none
	Stream      string       // ordered channels: rows of one stream go oldest position first, one at a time
	Position    int64
	Payload     []byte // the engine's own encoding of headers and value
	Cursor      []byte // how far a Forward has come; nil: not begun
	Accepted    time.Time
	Expires     time.Time // zero: never; a pending message past it is dead
	Attempts    int
	NextAttempt time.Time // zero on writing: at once
	Refused     Refusal   // not read on writing
	Leases      []Term    // on writing: the singleton roles it acts under; not stored
}

// Refusal is why something that waits was not applied when it was last tried. The zero value: it was not tried, or is not refused.
type Refusal struct {
	Code string // a fault's
	At   time.Time
}

// Consumed is a message that a start or a step takes. Its row is inserted as done, or turned from pending to done.
type Consumed struct {
	InboxRef
	EventID []byte
	Kind    MessageKind
	Pending bool   // the row is known to be there, pending
	Reply   []byte // the answer, when the same step gives one; nil: none yet
}

// Reply is the answer to a message, kept with its inbox row so that a duplicate gets the same.
type Reply struct {
	InboxRef
	Document []byte // the engine's own encoding of status, headers and body
}

// Taken says what became of a message: for the request that waits for it, and for duplicates.
type Taken struct {
	InboxRef
	State      string // pending, done, dead
	Instance   InstanceID
	Status     Status // of that instance, empty while pending
	Fault      *Fault
	Deployment DeploymentID
	Reply      []byte // nil: none yet
}

// Inbox keeps messages from acceptance to the step that takes them.
type Inbox interface {
	// Accept makes messages durable with their payload, pending. Done, Duplicate with who has it (zero while pending), or Stale when a
	// term has passed that the message was taken under.
	Accept(ctx context.Context, group []Message) []Answer
	// Pending reads rows due before `before`, all due rows of one target together, targets in order of their oldest row; rows without a
	// target one by one. It hands each out at most once a `lease`: next_attempt_at moves to now + lease.
	Pending(ctx context.Context, before time.Time, lease time.Duration, limit int) ([]Message, error)
	// Of reads the pending rows of these targets now, for a lane that holds their claims.
	Of(ctx context.Context, targets []Ref) ([]Message, error)
	// Kept reads pending messages of a tenant without target that wait for this name (a step has just made such a wait).
	Kept(ctx context.Context, tenant string, names []Key, limit int) ([]Message, error)
	// Defer moves the next attempt of pending rows, counts the attempt and keeps why it was refused: a fault's code.
	Defer(ctx context.Context, refs []InboxRef, until time.Time, why string) error
	// Finish turns pending rows to done without a step: nothing waited for them any more. Gone: not pending.
	Finish(ctx context.Context, refs []InboxRef) ([]Answer, error)
	// Forward replaces one pending row by others in one transaction (a signal by its deliveries), done when last. Gone: not pending.
	Forward(ctx context.Context, from InboxRef, cursor []byte, last bool, to []Message) (Answer, error)
	// Replies reads what became of messages, for the requests that this replica holds. Missing ones are left out.
	Replies(ctx context.Context, refs []InboxRef) ([]Taken, error)
	// Bury turns pending rows dead: kept, visible, never delivered.
	Bury(ctx context.Context, refs []InboxRef, why string) error
	// Purge deletes done rows older than before, at most limit, and says how many.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)
}

// Lookup asks for the instances that wait for a message.
type Lookup struct {
	Tenant string
	Wait   Key    // the wait's Name
	Module string // of the alias, when Alias is set
	Alias  string // the registered key's name; empty: any instance that waits for Wait
	Value  Key
}

// Waiting is one instance that waits for what was looked up.
type Waiting struct {
	Ref
	Deployment DeploymentID
	Wait       WaitID
	Node       string
}

// Correlation finds who waits.
type Correlation interface {
	// Find answers for each lookup the waiting instances, at most limit each, oldest wait first; none is not an error.
	Find(ctx context.Context, group []Lookup, limit int) ([][]Waiting, error)
	// Holder answers for each lookup of a unique alias the instance that has it; the zero Ref is nobody.
	Holder(ctx context.Context, group []Lookup) ([]Ref, error)
	// Signalled pages over waits for a signal that were armed at or before `armed`, by (instance, wait) after the given one.
	Signalled(ctx context.Context, tenant string, name Key, armed time.Time, after Waiting, limit int) ([]Waiting, error)
}
