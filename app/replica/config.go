package replica

import (
	"time"

	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/app/tasks"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/callback"
	"github.com/sutra-engine/sutra/core/deploy"
)

// Config is what a replica can be told. Default says what each is otherwise.
type Config struct {
	Lanes, LaneCapacity, LaneBatch int

	LeaseTTL, LeasePoll time.Duration

	ClaimTimeout, SweepInterval                    time.Duration
	InstanceRetention, RetentionInterval           time.Duration
	InboxRetention, InboxRecovery, ArchiveKeep     time.Duration
	OutboxTick, OutboxClaimTimeout                 time.Duration
	SendTimeout                                    time.Duration // 0: a quarter of the claim timeout, at most 10 s
	OutboxBatch, OutboxParallel, OutboxMaxAttempts int
	OutboxBase, OutboxMax                          time.Duration
	TimerTick                                      time.Duration
	TimerBatch                                     int
	DeploymentsPoll                                time.Duration
	ReplyTimeout                                   time.Duration
	MaxPayload                                     int64
	BrokerAhead                                    int           // messages of a channel that may be unsettled at once
	BrokerMaxDelay                                 time.Duration // longest pause between two tries to open a queue
	FleetWait, Abandoned                           time.Duration
	Callbacks                                      callback.Rules

	Tenants  limit.Bounds
	Tasks    tasks.Limits
	Archives archive.Limits
	Limits   deploy.Limits
}

// Complete sets what is left to follow from the rest.
func (c *Config) Complete() {
	if c.SendTimeout == 0 {
		c.SendTimeout = min(10*time.Second, c.OutboxClaimTimeout/4)
	}
}

// Default is the configuration of a replica on a machine of so many cores.
func Default(cores int) Config {
	return Config{
		Lanes: 2 * cores, LaneCapacity: 1024, LaneBatch: 64,
		LeaseTTL: 30 * time.Second, LeasePoll: 10 * time.Second,
		ClaimTimeout: 5 * time.Minute, SweepInterval: time.Minute,
		InstanceRetention: 7 * 24 * time.Hour, RetentionInterval: time.Hour,
		InboxRetention: 7 * 24 * time.Hour, InboxRecovery: time.Minute, ArchiveKeep: 30 * 24 * time.Hour,
		OutboxTick: time.Second, OutboxClaimTimeout: time.Minute,
		OutboxBatch: 256, OutboxParallel: 64,
		OutboxBase: time.Second, OutboxMax: 5 * time.Minute,
		TimerTick: 500 * time.Millisecond, TimerBatch: 512,
		DeploymentsPoll: 2 * time.Second,
		ReplyTimeout:    30 * time.Second,
		MaxPayload:      10 << 20,
		BrokerAhead:     64, BrokerMaxDelay: 10 * time.Second,
		FleetWait: 30 * time.Second,
		Abandoned: time.Minute,
		Tasks: tasks.Limits{
			DefaultLock: 30 * time.Second, MaxLock: time.Hour, MaxWait: 30 * time.Second, MaxTasks: 100, Retries: 3, RetryAfter: 10 * time.Second,
		},
		Archives: archive.Default(),
	}
}
