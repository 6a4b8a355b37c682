package ports

import "context"

// Store is what wiring passes around: one SQL database, each port by its name. Users ask for the narrowest port.
type Store interface {
	Instances() Instances
	Claims() Claims
	Inbox() Inbox
	Correlation() Correlation
	Outbox() Outbox
	Timers() Timers
	Tasks() Tasks
	Leases() Leases
	Deployments() Deployments
	Operations() Operations
	Changes() Changes
	Views() Views
	Audits() Audits
	Retention() Retention

	// Clock is the database's time.
	Clock() Clock
	// Check answers whether the database can be reached and written, and whether its schema is the one this build needs.
	Check(ctx context.Context) error
	// Exclusive says that no other process can share this database: the replica always leads.
	Exclusive() bool
	// Pools says how the connections stand now.
	Pools() []Pool
	Close() error
}
