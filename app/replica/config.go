package replica

import (
	"time"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
)

// Config is what a replica can be told. Default says what each is otherwise.
type Config struct {
	Lanes, LaneCapacity, LaneBatch int

	LeaseTTL, LeasePoll time.Duration

	ClaimTimeout, SweepInterval                    time.Duration
	InstanceRetention, RetentionInterval           time.Duration
	InboxRetention, InboxRecovery, ArchiveKeep     time.Duration
	OutboxTick, OutboxClaimTimeout, SendTimeout    time.Duration
	OutboxBatch, OutboxParallel, OutboxMaxAttempts int
	OutboxBase, OutboxMax                          time.Duration
	TimerTick                                      time.Duration
	TimerBatch                                     int
	DeploymentsPoll                                time.Duration
	ReplyTimeout                                   time.Duration
	MaxPayload                                     int64
	FleetWait                                      time.Duration

	Archives archive.Limits
	Limits   deploy.Limits
}

// Default is the configuration of a replica on a machine of so many cores.
func Default(cores int) Config {
	return Config{
		Lanes: 2 * cores, LaneCapacity: 1024, LaneBatch: 64,
		LeaseTTL: 30 * time.Second, LeasePoll: 10 * time.Second,
		ClaimTimeout: 5 * time.Minute, SweepInterval: time.Minute,
		InstanceRetention: 7 * 24 * time.Hour, RetentionInterval: time.Hour,
		InboxRetention: 7 * 24 * time.Hour, InboxRecovery: time.Minute, ArchiveKeep: 30 * 24 * time.Hour,
		OutboxTick: time.Second, OutboxClaimTimeout: time.Minute, SendTimeout: 10 * time.Second,
		OutboxBatch: 256, OutboxParallel: 64,
		OutboxBase: time.Second, OutboxMax: 5 * time.Minute,
		TimerTick: 500 * time.Millisecond, TimerBatch: 512,
		DeploymentsPoll: 2 * time.Second,
		ReplyTimeout:    30 * time.Second,
		MaxPayload:      10 << 20,
		FleetWait:       30 * time.Second,
		Archives:        archive.Default(),
	}
}
