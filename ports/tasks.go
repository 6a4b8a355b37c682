package ports

import (
	"context"
	"time"
)

// TaskAsk is a worker's wish.
type TaskAsk struct {
	Tenants []string // nil: all
	Topics  []TaskTopic
	Worker  string
	Max     int
}

// TaskTopic is one topic of a wish, with the lock asked for.
type TaskTopic struct {
	Name string
	Lock time.Duration
}

// TaskLock names a task and, when Epoch is not 0, the lock it is held by.
type TaskLock struct {
	Tenant string
	ID     TaskID
	Worker string // checked when not empty
	Epoch  int64  // 0: not checked
}

// LockedTask is a task as a worker gets it, or as a view shows it.
type LockedTask struct {
	Task
	Ref        // its instance
	Deployment DeploymentID
	Process    string
	Worker     string // empty: free
	Epoch      int64
	LockUntil  time.Time
	Created    time.Time
	Terminal   bool // exhausted or failed for good: kept, visible, not handed out
	LastError  string
}

// FailedTask is a worker's report of failure.
type FailedTask struct {
	TaskLock
	Retries int // left; 0: terminal
	After   time.Duration
	Error   string
}

// CompletedTask is a completion that met a held claim: the task goes, the delivery is pending, one transaction.
type CompletedTask struct {
	TaskLock
	Delivery Message
}

// Tasks hands out external tasks. A completion is a Step that names the lock, or, while the claim is held, a Deliver.
type Tasks interface {
	// Take locks up to Max fetchable tasks, oldest first, skipping what others hold.
	Take(ctx context.Context, ask TaskAsk) ([]LockedTask, error)
	// Locate names the tenant of a task that a principal with these tenants may see (nil: all); empty: there is none.
	Locate(ctx context.Context, tenants []string, id TaskID) (string, error)
	// Read answers the named tasks, with or without a lock. Missing ones are left out.
	Read(ctx context.Context, refs []TaskLock) ([]LockedTask, error)
	// Extend moves the end of locks that still stand. Done, LockLost, Gone.
	Extend(ctx context.Context, locks []TaskLock, by time.Duration) ([]Answer, error)
	// Fail records failures and frees or ends the tasks. Done, LockLost, Gone.
	Fail(ctx context.Context, group []FailedTask) ([]Answer, error)
	// Deliver removes each task and makes its completion a pending delivery. Done, LockLost, Gone.
	Deliver(ctx context.Context, group []CompletedTask) ([]Answer, error)
	// Retry gives a terminal task new attempts, and notes the action. Done, Gone; Stale: its revision's archive is dropped.
	Retry(ctx context.Context, ref TaskLock, retries int, by Audit) (Answer, error)
}
