package telemetry

// figure is something that the engine counts, measures or reads.
type figure struct {
	name, help string
	labels     []string
	known      []string // values of the one label that are there from the start: an alert sees the first event as a rise
}

// zero makes the series that are known before anything happens.
func (f figure) zero(series func(values ...string)) {
	if len(f.labels) == 0 {
		series()
	}
	for _, value := range f.known {
		series(value)
	}
}

// counters and durations are all that the engine counts and measures, and the others all that it reads when it is asked. Tests hold them
// against the calls, and docs/telemetry.md against them.
var (
	counters = []figure{
		{name: "sutra_archives_dropped_total", help: "Archives of retired revisions dropped after their retention."},
		{name: "sutra_broker_consumers_closed_total", help: "Consumers of a broker's queue that ended.", labels: []string{"transport", "channel"}},
		{name: "sutra_broker_consumers_opened_total", help: "Consumers of a broker's queue that began.", labels: []string{"transport", "channel"}},
		{name: "sutra_broker_messages_total", help: "Messages from a broker, by what became of them.", labels: []string{"transport", "channel", "outcome"}},
		{name: "sutra_broker_troubles_total", help: "Tries to consume a broker's queue that failed.", labels: []string{"transport", "channel"}},
		{name: "sutra_claims_lost_total", help: "Steps thrown away because their claim went to another before the commit."},
		{name: "sutra_claims_refused_total", help: "Requests for an instance that another was advancing."},
		{name: "sutra_claims_swept_total", help: "Abandoned claims that were freed."},
		{name: "sutra_http_requests_total", help: "Requests answered, by route, method and class of status. A channel is a route; what finds none is unknown.", labels: []string{"route", "method", "status"}},
		{name: "sutra_inbox_purged_total", help: "Messages forgotten after their retention."},
		{name: "sutra_instances_failed_total", help: "Instances that came to wait for an operator, by fault code.", labels: []string{"code"}},
		{name: "sutra_instances_purged_total", help: "Ended instances forgotten after their retention."},
		{name: "sutra_instances_started_total", help: "Instances started, by process.", labels: []string{"process"}},
		{name: "sutra_lane_requests_total", help: "Requests that lanes took."},
		{name: "sutra_lease_attempts_total", help: "Tries to hold a role: leading, or held by another.", labels: []string{"role", "outcome"}},
		{name: "sutra_operations_purged_total", help: "Deploy operations forgotten after their retention."},
		{name: "sutra_starts_refused_total", help: "Starts that a limit kept out: the instances or the rate of their tenant, or the instances of their channel.", labels: []string{"tenant", "limit"}},
		{name: "sutra_steps_committed_total", help: "Steps of running instances that were committed."},
		{name: "sutra_store_retries_total", help: "Transactions sent again, because the reason to fail had passed."},
		{name: "sutra_store_statements_total", help: "Statements sent to the database, by name.", labels: []string{"statement"}},
		{
			name: "sutra_store_troubles_total", help: "Writes that the database refused, by class; most are tried again.", labels: []string{"class"},
			known: []string{"conflict", "lost", "read-only", "denied", "timeout"},
		},
		{
			name: "sutra_trace_spans_total", help: "Spans that were recorded: ended, of which sent, and lost because the collector did not take them.", labels: []string{"outcome"},
			known: []string{"ended", "sent", "lost"},
		},
	}
	durations = []figure{
		{name: "sutra_clock_correction_seconds", help: "How far this replica's clock was from the database's."},
		{
			name: "sutra_commit_seconds", help: "How long the database took for a group of steps, or of starts.", labels: []string{"kind"},
			known: []string{"start", "step"},
		},
		{name: "sutra_http_request_seconds", help: "How long requests took, by route and method; long polls and held replies are as long as they are held.", labels: []string{"route", "method"}},
		{name: "sutra_lane_batch_seconds", help: "From the claims of a lane's batch to its last answer."},
		{
			name: "sutra_outbox_send_seconds", help: "How long a send took, by outcome.", labels: []string{"outcome"},
			known: []string{"sent", "redeliver", "reject", "uncertain", "operator"},
		},
		{name: "sutra_timer_lag_seconds", help: "How late timers were taken up."},
	}
	backlogs = []figure{
		{name: "sutra_backlog", help: "Rows that are due and not done, by kind; claim: instances that somebody advances.", labels: []string{"kind"}},
		{name: "sutra_backlog_oldest_seconds", help: "Age of the oldest row that is due and not done, by kind.", labels: []string{"kind"}},
		{name: "sutra_instances_suspended", help: "Instances that wait."},
		{name: "sutra_stuck", help: "Rows that wait for an operator, by kind.", labels: []string{"kind"}},
	}
	pooled = []figure{
		{name: "sutra_pool_connections", help: "Connections to the database that are open, by what they do. SQLite has one pool that writes and one that reads.", labels: []string{"pool", "state"}},
		{name: "sutra_pool_connections_max", help: "Connections to the database that may be open.", labels: []string{"pool"}},
		{name: "sutra_pool_wait_seconds_total", help: "Time that was waited for a connection.", labels: []string{"pool"}},
		{name: "sutra_pool_waits_total", help: "Times that a connection had to be waited for.", labels: []string{"pool"}},
	}
	doors = []figure{{name: "sutra_http_requests_in_flight", help: "Requests that are being answered."}}
)
