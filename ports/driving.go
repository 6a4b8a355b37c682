package ports

import (
	"context"
	"time"
)

// Entrance is a door as a transport sees it: who opens it, and what it refuses by itself. Body size and auth are the transport's.
type Entrance struct {
	Tenant  string
	Channel string
	Limit   int64 // body bytes
	Auth    Auth
}

// Auth is how a door checks its callers. Secrets are resolved.
type Auth struct {
	Scheme   string // none, apikey, bearer
	Header   string // apikey: where it is read
	Key      string
	Audience string            // bearer without a key: that a token has to be made for
	Claims   map[string]string // what it has to claim, by the claims' paths
}

// Incoming is one message at a door.
type Incoming struct {
	Tenant      string
	Channel     string
	EventID     []byte // the transport's own id (idempotency key, message id); nil: none was given
	ContentType string
	Headers     []Header
	Body        []byte
	Received    time.Time
	Leases      []Term // the singleton roles that it was taken under
	Stream      string // ordered channels: what its position counts in
	Position    int64
}

// Receipt is what a message's sender is told.
type Receipt struct {
	Instance  InstanceID // zero: none yet
	Tenant    string
	Duplicate bool
	Durable   bool      // it is kept or applied, whatever came of it: sending it again changes nothing
	Answer    *Response // nil: accepted, no reply (yet)
}

// Intake takes messages from transports. It is the same for HTTP and brokers.
type Intake interface {
	// Enter finds the door with this canonical address, asking the fleet's served set once more before it says there is none.
	Enter(ctx context.Context, address string) (Entrance, error)
	// Take decodes, checks, routes and applies one message, and answers when the channel's ack-mode says so. A refused message
	// has a coded fault and leaves no trace.
	Take(ctx context.Context, in Incoming) (Receipt, error)
	// Start starts a process of an active slot by its id.
	Start(ctx context.Context, tenant, module, process string, in Incoming) (Receipt, error)
	// Publish routes a message by its BPMN name and correlation key.
	Publish(ctx context.Context, tenant, name, key string, ttl time.Duration, in Incoming) (Receipt, error)
	// Broadcast sends a signal within the tenant.
	Broadcast(ctx context.Context, tenant, name string, in Incoming) (Receipt, error)
}

// Deploy is one deploy call.
type Deploy struct {
	Archive    []byte
	By         Actor  // may deploy for its tenants
	Supersedes string // slot, or empty
	Fleet      bool   // answer when every live replica serves it
	Callback   string
	Notify     string
}

// Deployed is a deploy's definitive answer.
type Deployed struct {
	Revision  Revision
	Unchanged bool
	Behind    []string // replicas that do not serve it yet, when the fleet was waited for
}

// RevisionView is a revision with what blocks its retirement and who serves it.
type RevisionView struct {
	Revision
	Counts   Counts
	Served   []string // replicas that serve it
	Behind   []string // live replicas that do not
	Failed   string   // why this replica cannot serve it, or empty
	Channels []string
}

// Deployer changes what is served.
type Deployer interface {
	// Deploy verifies, compiles, activates and converges this replica; the answer is definitive.
	Deploy(ctx context.Context, d Deploy) (Deployed, error)
	// Submit takes a deploy for later and answers with the operation to poll.
	Submit(ctx context.Context, d Deploy) (ID, error)
	// Operation reads how a submitted deploy stands, on any replica.
	Operation(ctx context.Context, tenants []string, id ID) (Operation, error)
	// Undeploy drains a revision by slot or id.
	Undeploy(ctx context.Context, by Actor, target string) (Revision, error)
	Revisions(ctx context.Context, tenants []string) ([]RevisionView, error)
}

// Explained is an instance with what it waits for, who holds it, and what was refused so far.
type Explained struct {
	Instance
	Waits   []WaitView
	Tasks   []LockedTask
	Pending []Message // addressed to it, and not applied yet
	Aliases []string  // name=value as the snapshot has them
	Next    []string  // what comes next and when, in words
}

// Actor is who calls.
type Actor struct {
	Name    string   // for the audit
	Tenants []string // that they may act for; nil: all
}

// Operator is what people do to instances. Every change is noted with who made it, in its own transaction.
type Operator interface {
	Explain(ctx context.Context, tenants []string, id InstanceID) (Explained, error)
	Cancel(ctx context.Context, by Actor, id InstanceID) error
	// Resume brings a FAILED instance back; drop forgets the event it failed at.
	Resume(ctx context.Context, by Actor, id InstanceID, drop bool) error
	// Correct writes variables of the process (a JSON object), also where the instance is FAILED: it stays so.
	Correct(ctx context.Context, by Actor, id InstanceID, variables []byte) error
	// RetryNow has the calls that pause before another attempt make it now, or the one of this wait; a FAILED instance does again what it
	// failed at.
	RetryNow(ctx context.Context, by Actor, id InstanceID, wait WaitID) error
}

// Reviver gives what has been given up new attempts.
type Reviver interface {
	// Redrive makes a poisoned emission due again.
	Redrive(ctx context.Context, by Actor, tenant string, id EmissionID) error
	// Retry gives an exhausted task new attempts.
	Retry(ctx context.Context, by Actor, id TaskID, retries int) error
}

// Migration is how instances are to be moved to another revision.
type Migration struct {
	To               string            // slot or deployment id, which has to be active; empty: what is active in each instance's own slot
	Process          string            // of the target; empty: the one with the same id
	Nodes            map[string]string // old BPMN id → new, of nodes and sequence flows; what is left out stays itself
	DryRun           bool              // check alone: nothing is claimed and nothing written
	Resume           bool              // FAILED instances go on
	DropEvent        bool              // without the event that they failed at
	RecomputeTimers  bool              // timers are armed anew, as of now
	DropCompensation bool              // what can no longer be undone is forgotten
}

// MigrationOutcome is what became of one instance.
type MigrationOutcome string

// The outcomes of a migration.
const (
	Migrated       MigrationOutcome = "MIGRATED" // it is on the target
	MigrationValid MigrationOutcome = "VALID"    // a dry run found nothing against it
	Refused        MigrationOutcome = "REFUSED"  // something stands against it; Err lists all
	Bounced        MigrationOutcome = "BOUNCED"  // not now: it is being advanced, or about to be; nothing was written
	NotFound       MigrationOutcome = "NOT_FOUND"
	MigrationError MigrationOutcome = "ERROR" // trouble
)

// MigrationResult is one instance's outcome.
type MigrationResult struct {
	Instance InstanceID
	Outcome  MigrationOutcome
	From, To DeploymentID
	Notes    []string // what changed, or would, that nobody has to decide
	Err      error    // coded, unless Migrated or VALID
}

// MigrationBatch names the instances of a batch: by id, or by a filter whose pages After and Limit bound.
type MigrationBatch struct {
	Migration
	Instances []InstanceID
	Filter    InstanceQuery
}

// Migrator moves instances to other revisions, each in a transaction of its own.
type Migrator interface {
	Migrate(ctx context.Context, by Actor, id InstanceID, m Migration) MigrationResult
	// MigrateBatch answers for each instance, in order, and with the cursor of the next page of its filter; zero: there is none.
	MigrateBatch(ctx context.Context, by Actor, b MigrationBatch) ([]MigrationResult, InstanceID, error)
}

// TaskFetch is a worker's long poll.
type TaskFetch struct {
	TaskAsk
	Wait time.Duration // how long to wait for a first task
}

// TaskQueue is what workers call.
type TaskQueue interface {
	Fetch(ctx context.Context, f TaskFetch) ([]LockedTask, error)
	// Complete ends a task with variables (a JSON object). accepted: the claim was held, the completion is durable and pending.
	Complete(ctx context.Context, tenants []string, lock TaskLock, variables []byte) (accepted bool, err error)
	Fail(ctx context.Context, tenants []string, f FailedTask, retries *int) error
	Extend(ctx context.Context, tenants []string, lock TaskLock, by time.Duration) error
	Error(ctx context.Context, tenants []string, lock TaskLock, code, message string, variables []byte) (accepted bool, err error)
}

// Secrets resolves references (env:NAME, file:PATH, broker:NAME) at run time.
type Secrets interface {
	Resolve(reference string) (string, error)
}

// Health says what a replica can do now.
type Health interface {
	// Live: lanes alive. Ready: schema, database, served set, lanes; the failing parts by name, none when ready.
	Live() []string
	Ready(ctx context.Context) []string
}
