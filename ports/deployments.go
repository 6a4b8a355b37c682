package ports

import (
	"context"
	"time"
)

// Slot is tenant--module--version: one active revision each.
type Slot struct{ Tenant, Module, Version string }

// String is the slot's name.
func (s Slot) String() string { return s.Tenant + "--" + s.Module + "--" + s.Version }

// Phase is where a revision stands.
type Phase string

// The phases as they are stored. Pending and Failed belong to operations.
const (
	Active   Phase = "active"
	Draining Phase = "draining"
	Retired  Phase = "retired"
)

// Door is one way in, unique over the active revisions of all tenants.
type Door struct {
	Channel string // unique among a tenant's active slots
	Address string // canonical: transport, then method, host and path; or broker and queue; or broker, topic and group
}

// Activation is one deploy: swap, doors, schedules, version and notice in one transaction.
type Activation struct {
	Slot       Slot
	ID         DeploymentID
	Archive    []byte
	Doors      []Door
	Schedules  []Schedule // to be armed; one that lives on in the old revision is moved, with its due time
	Supersedes *Slot      // drained in the same transaction
	Declared   bool       // the package itself names Supersedes: it need not be active any more
	Notices    []Emission // enqueued when the activation changed something
	Audit      *Audit     // written when the activation changed something
	Call       ID         // of this deploy, rising with time: the revision keeps it; zero: none
	Submitted  bool       // an asynchronous deploy: Stale when a younger call made the slot's revision
}

// Revision is one deployed archive.
type Revision struct {
	Slot      Slot
	ID        DeploymentID
	Number    int64 // rises within a slot
	Phase     Phase
	Since     Version // from which on it is served
	Size      int64
	Activated time.Time
	Drained   time.Time // zero: not
	Retired   time.Time // zero: not
}

// Counts are the legs that hold a draining revision back. All three zero: it may retire.
type Counts struct {
	LiveInstances int // failed ones included, retained history excluded
	PendingOutbox int // poisoned deliveries excluded
	ParkedTasks   int // terminal tasks excluded
}

// Examples name some of what each leg counts.
type Examples struct {
	Instances []InstanceID
	Outbox    []EmissionID
	Tasks     []TaskID
}

// Version is the fleet's clock of change. It is compared for being different, not for being greater.
type Version int64

// Replica is one running process, for operators; never for correctness.
type Replica struct {
	ID       string
	Started  time.Time
	LastSeen time.Time
	Served   Version
	Broken   []DeploymentID // of that version, what it cannot load: it takes no work of them
	Lanes    int
	Address  string // where it listens
}

// Deployments keeps revisions.
type Deployments interface {
	// Activate makes the revision its slot's active one. Done, also when this call had landed before, whatever came after it;
	// Duplicate: it is that already, nothing changed; DoorTaken (Detail names door and slot); Stale (a younger call, or a superseded slot that is not active).
	Activate(ctx context.Context, a Activation) (Revision, Answer, error)
	// Drain stops a revision's intake. Done (also when draining already), Gone.
	Drain(ctx context.Context, id DeploymentID) (Answer, error)
	// Retire locks a draining revision, counts in separate statements, and retires it when all are zero. Done, Held (with counts), Gone.
	Retire(ctx context.Context, id DeploymentID) (Counts, Answer, error)
	// Count reads the legs without a lock, for views.
	Count(ctx context.Context, ids []DeploymentID) (map[DeploymentID]Counts, error)
	// Examples names up to most rows of each leg, for views.
	Examples(ctx context.Context, id DeploymentID, most int) (Examples, error)
	// Served reads the version and the active and draining revisions in one snapshot.
	Served(ctx context.Context) (Version, []Revision, error)
	// Revisions lists all revisions that are still known, newest first, for views.
	Revisions(ctx context.Context, tenants []string) ([]Revision, error)
	// Archive reads a revision's bytes; nil when dropped or unknown.
	Archive(ctx context.Context, id DeploymentID) ([]byte, error)
	// DropArchives removes the bytes of revisions retired before `before`.
	DropArchives(ctx context.Context, before time.Time, limit int) (int, error)
	// Note says that this replica lives and what it serves.
	Note(ctx context.Context, r Replica) error
	// Leave removes this replica's row.
	Leave(ctx context.Context, id string) error
	// Replicas lists the replicas seen after `since`.
	Replicas(ctx context.Context, since time.Time) ([]Replica, error)
	// Forget removes the rows of replicas that were last seen before `before`.
	Forget(ctx context.Context, before time.Time) error
}

// Operation is one asynchronous deploy.
type Operation struct {
	ID       ID
	Tenant   string
	Archive  []byte
	State    string // pending, done, failed
	Revision DeploymentID
	Fault    *Fault
	Callback string
	Notify   string
	Options  []byte // the engine's own encoding
	Owner    string
	Touched  time.Time
	Created  time.Time
}

// Operations keeps asynchronous deploys until their outcome is known and told.
type Operations interface {
	Open(ctx context.Context, o Operation) error
	Read(ctx context.Context, id ID) (Operation, Answer, error)
	// Adopt takes operations whose owner has been silent since `silent`.
	Adopt(ctx context.Context, by string, silent time.Time, limit int) ([]Operation, error)
	// Touch says that the owner still works on it. Gone: adopted by another.
	Touch(ctx context.Context, id ID, by string) (Answer, error)
	// Close writes the outcome and its notices, one transaction. Gone: another closed it.
	Close(ctx context.Context, o Operation, notices []Emission) (Answer, error)
	// Purge removes operations that were closed before `before`.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)
}

// Changes tells that the served set changed.
type Changes interface {
	// Version reads the fleet's version.
	Version(ctx context.Context) (Version, error)
	// Nap sleeps at most that long. It ends early, with nil, when the database can push and something changed, or when ctx ends.
	Nap(ctx context.Context, atMost time.Duration) error
}
