// Package dialects says how a thing is said to each database, and what that database meant by an error. It opens no connection.
package dialects

import "io/fs"

// Class is what a database meant by an error.
type Class string

// The classes. Dialects give all but Missed and Uncertain by number or SQLSTATE, never by text.
const (
	Other     Class = ""
	Duplicate Class = "duplicate" // a unique key is taken
	Conflict  Class = "conflict"  // deadlock, serialization, lock timeout: the transaction is gone, send it again
	Lost      Class = "lost"      // the connection, or the server, is going down
	ReadOnly  Class = "read-only" // this server takes no writes now
	Denied    Class = "denied"    // this role, its password or this database is none, or may not do that
	TooLong   Class = "too-long"  // a value the database cannot hold
	Timeout   Class = "timeout"   // the statement was cancelled
	Missed    Class = "missed"    // a statement hit another number of rows than it had to
)

// Caps is what a database can do. A golden table pins them, so that nobody passes by declaring less.
type Caps struct {
	Push         bool // it wakes those that wait for a change
	Writers      bool // several transactions write at once
	RowSecurity  bool // it hides other tenants' rows by itself
	Shared       bool // several processes share one database
	Relaxed      bool // a commit need not wait for the disk where the engine allows it
	DatabaseTime bool // it has a clock of its own
}

// Words are phrases that each database says in its own way. A statement names them like parameters.
type Words struct {
	Page     string // :page, the end of a limited list; names :limit
	Skip     string // :skip, at the end: lock the rows read, pass over what others hold
	Skipping string // :skipping, after a table: the same, where the database wants a hint there
	Listing  string // :listing, after sutra_instance: read by the indexes of lists, where the planner would take the primary key
	Newest   string // :newest, after the order of a list by id: what makes it the order of those indexes alone, for the same reason
	Share    string // :share, at the end: lock the rows read against change until the transaction ends
	Lock     string // :lock, at the end: lock the rows read for this transaction alone
}

// Joined says how UPDATE and DELETE take a group. Zero: as PostgreSQL says it, UPDATE … FROM and DELETE … USING.
// $1 is the table, $2 its alias, $3 the assignments (of a DELETE: the condition), $4 the condition.
type Joined struct {
	Update    string
	Delete    string
	Qualified bool // assignments need the alias in front
}

// Lock is the lock that migrations run under. It is polled, not waited for without end, and belongs to one connection.
type Lock struct {
	Try  string // answers 1 when it is had
	Free string
}

// Batch says several statements as one text: one round trip for all of them. A whole transaction begins and commits in its text, so that no
// client that stops can keep it open.
type Batch struct {
	Text     func(parts []Part, whole bool) (text string, args []any)
	Answered func(error) bool // this error is the server's answer to a statement: a whole transaction has not committed
	Undo     string           // after a whole transaction that failed, on its connection; empty: its text undoes itself
	Args     int              // most arguments of one text; 0: any number
	Bytes    int              // most bytes of texts and byte strings among them; 0: any number
}

// Part is one statement of a batch.
type Part struct {
	Name  string
	SQL   string
	Args  []any    // as the driver takes them
	Types []string // of the arguments that are cells of a group, ours; empty: the value tells
	Want  int      // how many rows it has to hit, or the batch fails with the class Missed; -1: any number
	Count bool     // how many it hit is answered, as a row of its own
}

// Dialect is one database, as a value.
type Dialect struct {
	Name       string
	Schemes    []string // of the URLs that name it
	Driver     string   // database/sql's name of its driver
	Native     bool     // steps run on native pgx; Driver serves migrations alone
	Layers     []fs.FS  // statements, base first
	Migrations fs.FS
	Atomic     bool // DDL is part of a transaction
	Bind       func(n int) string
	Rows       Relation
	Words      Words
	Joined     Joined
	Hit        func(text, want string) string // wraps a statement so that a wrong row count fails in place; nil: the runner counts
	Arg        func(v any) any                // what the driver cannot take as it is; nil: nothing
	Classify   func(error) Class
	DSN        func(url string) (string, error)
	Unhurried  map[string]string       // parameters of a URL under which no statement is cut by its time: migrations take as long as tables are large
	Alone      func(url string) string // the DSN of what one process alone can open, beside a database that is not shared; empty: in memory
	ByKey      string                  // over a group, how a tenant's condition ($0) is said so that no index is entered by it; empty: as it is
	Batch      Batch                   // several statements travel as one text, which counts for itself; zero: one by one
	Enter      string                  // Native: first in every transaction, with the tenant or * as its argument
	Relax      string                  // in a transaction that need not wait for the disk; empty: nothing
	Listen     string                  // on a connection of its own; empty: nothing
	Ledger     string                  // makes sutra_migration (number, name, checksum) if it is not there
	Lock       Lock                    // zero: the process alone has the database
	Checks     []Check
	Schema     string                  // answers table, index (empty: a column of the table), column and place, of all that is valid and no primary key
	File       func(url string) string // the file that the database is; nil: a server has it
	Caps       Caps
}
