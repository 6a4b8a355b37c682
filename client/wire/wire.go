// Package wire is what travels over the HTTP API, each record once: the server writes it, the client reads it. Times are RFC 3339 in
// UTC; ids are UUIDs as text.
package wire

import (
	"encoding/json"
	"time"
)

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type       string      `json:"type"`
	Title      string      `json:"title"`
	Status     int         `json:"status"`
	Detail     string      `json:"detail,omitempty"`
	Code       string      `json:"code"`
	Retryable  bool        `json:"retryable"`
	Instance   string      `json:"instance,omitempty"` // URI of the process instance it is about
	Violations []Violation `json:"violations,omitempty"`
}

// Violation is one of several things wrong with a package or a payload.
type Violation struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Element string `json:"element,omitempty"`
}

// Accepted answers a message that has no reply (yet).
type Accepted struct {
	Instance  string `json:"instance,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// Deployment is one revision.
type Deployment struct {
	DeploymentID string     `json:"deploymentId"`
	Slot         string     `json:"slot"`
	Tenant       string     `json:"tenant"`
	Module       string     `json:"module"`
	Version      string     `json:"version"`
	Revision     int64      `json:"revision"`
	Phase        string     `json:"phase"` // Pending, Active, Draining, Retired, Failed
	Unchanged    bool       `json:"unchanged,omitempty"`
	Activated    *time.Time `json:"activated,omitempty"`
	Drained      *time.Time `json:"drained,omitempty"`
	Retired      *time.Time `json:"retired,omitempty"`
	Doors        []string   `json:"doors,omitempty"`
	Blockers     *Blockers  `json:"blockers,omitempty"` // what holds back its retirement
	ServedBy     []string   `json:"servedBy,omitempty"`
	Behind       []string   `json:"behind,omitempty"` // live replicas that do not serve it (yet)
	Broken       string     `json:"broken,omitempty"` // why the answering replica cannot serve it
}

// Blockers are the three legs that hold a draining revision.
type Blockers struct {
	LiveInstances int `json:"liveInstances"`
	PendingOutbox int `json:"pendingOutbox"`
	ParkedTasks   int `json:"parkedTasks"`
	// Examples are ids of some of each leg, where one deployment is asked for.
	Examples *Examples `json:"examples,omitempty"`
}

// Examples are ids of some of what holds a revision.
type Examples struct {
	Instances []string `json:"instances"`
	Outbox    []string `json:"outbox"`
	Tasks     []string `json:"tasks"`
}

// Operation is an asynchronous deploy.
type Operation struct {
	ID           string    `json:"id"`
	State        string    `json:"state"` // pending, done, failed
	DeploymentID string    `json:"deploymentId"`
	Code         string    `json:"code,omitempty"`
	Detail       string    `json:"detail,omitempty"`
	Created      time.Time `json:"created"`
}

// Instance is one process instance.
type Instance struct {
	ID           string          `json:"id"`
	Tenant       string          `json:"tenant"`
	DeploymentID string          `json:"deploymentId"`
	Module       string          `json:"module"`
	Process      string          `json:"process"`
	Status       string          `json:"status"`
	Parent       string          `json:"parent,omitempty"`
	Failure      *Failure        `json:"failure,omitempty"`
	Created      time.Time       `json:"created"`
	Updated      time.Time       `json:"updated"`
	Ended        *time.Time      `json:"ended,omitempty"`
	Claim        *Claim          `json:"claim,omitempty"`
	Waits        []Wait          `json:"waits,omitempty"`
	Tasks        []Task          `json:"tasks,omitempty"`   // it waits for them; without their variables
	Pending      []Pending       `json:"pending,omitempty"` // messages that came for it, and are not applied yet
	Aliases      []string        `json:"aliases,omitempty"` // its business keys, name=value
	Next         []string        `json:"next,omitempty"`
	Variables    json.RawMessage `json:"variables,omitempty"`
}

// Failure is why an instance is FAILED.
type Failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Node   string `json:"node,omitempty"`
}

// Claim is who advances an instance now.
type Claim struct {
	Owner string    `json:"owner"`
	Epoch int64     `json:"epoch"`
	Since time.Time `json:"since"`
}

// Pending is a message for an instance.
type Pending struct {
	Kind     string     `json:"kind"`
	Channel  string     `json:"channel"`
	Accepted time.Time  `json:"accepted"`
	Attempts int        `json:"attempts"` // times it was taken up and not applied
	Next     *time.Time `json:"next,omitempty"`
	Refused  *Refusal   `json:"refused,omitempty"`
}

// Refusal is why something that waits was not applied when it was last tried.
type Refusal struct {
	Code string    `json:"code"`
	At   time.Time `json:"at"`
}

// Wait is one thing an instance waits for.
type Wait struct {
	ID      int64      `json:"id"`
	Kind    string     `json:"kind"`
	Node    string     `json:"node"`
	Armed   time.Time  `json:"armed"`
	Due     *time.Time `json:"due,omitempty"`
	Refused *Refusal   `json:"refused,omitempty"` // of a timer that was due
}

// Page is one page of a list. Next is the cursor of the page after it; empty: this was the last.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// History is one step of an instance.
type History struct {
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"`
	Step string          `json:"step"`
	Data json.RawMessage `json:"data"`
}

// Health is the answer of a health route. Failing names what is wrong, none when ok.
type Health struct {
	Status  string   `json:"status"` // ok, failing
	Failing []string `json:"failing,omitempty"`
}

// Replica is one process of the fleet.
type Replica struct {
	ID       string    `json:"id"`
	Address  string    `json:"address,omitempty"`
	Started  time.Time `json:"started"`
	LastSeen time.Time `json:"lastSeen"`
	Version  int64     `json:"version"`
	Lanes    int       `json:"lanes"`
}

// Lease is one role and who leads it.
type Lease struct {
	Role    string    `json:"role"`
	Holder  string    `json:"holder"`
	Term    int64     `json:"term"`
	Expires time.Time `json:"expires"`
}

// Fetch asks for tasks. Durations are milliseconds.
type Fetch struct {
	WorkerID             string  `json:"workerId"`
	MaxTasks             int     `json:"maxTasks"`
	AsyncResponseTimeout int64   `json:"asyncResponseTimeout,omitempty"`
	Topics               []Topic `json:"topics"`
}

// Topic is one topic of a fetch.
type Topic struct {
	TopicName    string `json:"topicName"`
	LockDuration int64  `json:"lockDuration,omitempty"`
}

// Task is one external task.
type Task struct {
	ID           string          `json:"id"`
	Topic        string          `json:"topicName"`
	Instance     string          `json:"processInstanceId"`
	Process      string          `json:"processDefinitionKey"`
	DeploymentID string          `json:"deploymentId"`
	Tenant       string          `json:"tenantId"`
	Activity     string          `json:"activityId"`
	WorkerID     string          `json:"workerId,omitempty"`
	LockToken    int64           `json:"lockToken,omitempty"`
	LockUntil    *time.Time      `json:"lockExpirationTime,omitempty"`
	Retries      int             `json:"retries"`
	Variables    json.RawMessage `json:"variables,omitempty"`
	Headers      json.RawMessage `json:"headers,omitempty"`
	Created      time.Time       `json:"created"`
	Terminal     bool            `json:"terminal,omitempty"`
	LastError    string          `json:"lastError,omitempty"`
}

// Completion is what a worker says of a task. Each call reads the fields that it needs.
type Completion struct {
	WorkerID     string          `json:"workerId,omitempty"`
	LockToken    int64           `json:"lockToken,omitempty"`
	Variables    json.RawMessage `json:"variables,omitempty"`
	ErrorCode    string          `json:"errorCode,omitempty"`
	ErrorMessage string          `json:"errorMessage,omitempty"`
	Retries      *int            `json:"retries,omitempty"`
	RetryTimeout int64           `json:"retryTimeout,omitempty"` // milliseconds
	NewDuration  int64           `json:"newDuration,omitempty"`  // milliseconds
}

// Emission is one message that waits to be sent, or that an operator has to look at.
type Emission struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Instance    string    `json:"instance,omitempty"`
	Destination string    `json:"destination"`
	Attempts    int       `json:"attempts"`
	Next        time.Time `json:"next"`
	Poisoned    bool      `json:"poisoned,omitempty"`
	LastError   string    `json:"lastError,omitempty"`
	Created     time.Time `json:"created"`
}

// Migration says how instances are to be moved to another revision.
type Migration struct {
	To           string            `json:"to,omitempty"`           // slot or deployment id; empty: what is active in the instance's own slot
	Process      string            `json:"process,omitempty"`      // of the target; empty: the one with the same id
	Mapping      map[string]string `json:"mapping,omitempty"`      // old BPMN id → new; what is left out stays itself
	DryRun       bool              `json:"dryRun,omitempty"`       // check alone
	Resume       bool              `json:"resume,omitempty"`       // FAILED instances go on
	Event        string            `json:"event,omitempty"`        // what becomes of the event that they failed at: replay, drop
	Timers       string            `json:"timers,omitempty"`       // keep, recompute
	Compensation string            `json:"compensation,omitempty"` // what can no longer be undone: keep refuses, drop forgets
}

// MigrationBatch names the instances of a batch: by id, or by a filter whose pages limit and after bound.
type MigrationBatch struct {
	Migration
	Instances []string         `json:"instances,omitempty"`
	Filter    *MigrationFilter `json:"filter,omitempty"`
	Limit     int              `json:"limit,omitempty"`
	After     string           `json:"after,omitempty"`
}

// MigrationFilter chooses living instances; what is empty does not filter.
type MigrationFilter struct {
	Tenant       string   `json:"tenant,omitempty"`
	DeploymentID string   `json:"deploymentId,omitempty"`
	Process      string   `json:"process,omitempty"`
	Status       []string `json:"status,omitempty"`
}

// Migrated is what became of one instance.
type Migrated struct {
	Instance   string      `json:"instance"`
	Outcome    string      `json:"outcome"` // MIGRATED, VALID, REFUSED, BOUNCED, NOT_FOUND, ERROR
	From       string      `json:"from,omitempty"`
	To         string      `json:"to,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // what changes that nobody has to decide
	Code       string      `json:"code,omitempty"`
	Detail     string      `json:"detail,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
}

// MigrationPage is what became of a batch. Next is the cursor of the page after it; empty: this was the last.
type MigrationPage struct {
	Counts map[string]int `json:"counts"` // by outcome
	Items  []Migrated     `json:"items"`
	Next   string         `json:"next,omitempty"`
}

// Correction writes variables of an instance's process.
type Correction struct {
	Variables json.RawMessage `json:"variables"`
}

// Audit is one action of an operator.
type Audit struct {
	ID       string          `json:"id"`
	Tenant   string          `json:"tenant"`
	At       time.Time       `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Instance string          `json:"instance,omitempty"`
	Subject  string          `json:"subject,omitempty"` // the deployment, emission or task
	Detail   json.RawMessage `json:"detail,omitempty"`
}
