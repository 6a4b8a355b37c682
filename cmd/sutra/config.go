package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/sutra-engine/sutra/adapters/httpapi"
	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/app/limit"
	"github.com/sutra-engine/sutra/app/replica"
	"github.com/sutra-engine/sutra/core/feel"
	"github.com/sutra-engine/sutra/core/lease"
	"github.com/sutra-engine/sutra/core/step"
	"github.com/sutra-engine/sutra/ports/fault"
)

// settings are all that a serving process can be told: flags over SUTRA_* environment over the file over the default.
type settings struct {
	url            string
	maxConns       int
	patience       time.Duration // how long a start waits for the database
	listen         string
	grace          time.Duration
	migrate        bool
	keys           []httpapi.Key
	tokens         httpapi.Tokens // its verifier is made from issuer and keysURL
	issuer         string
	keysURL        string
	callbackSecret string
	poll           bool              // never listen for changes
	brokers        map[string]string // addresses by name; references are resolved when they are used
	open           bool              // every caller is an admin: dev alone, on loopback
	logLevel       slog.Level
	tracing        telemetry.Tracing
	replica        replica.Config
}

func defaults() settings {
	return settings{
		listen: ":8080", grace: 25 * time.Second, patience: time.Minute, maxConns: max(8, 4*runtime.GOMAXPROCS(0)),
		replica: replica.Default(runtime.GOMAXPROCS(0)),
		tokens: httpapi.Tokens{
			NameClaim: "sub", RoleClaim: "roles", TenantClaim: "tenants",
			Roles: map[string]httpapi.Role{"admin": httpapi.Admin, "operate": httpapi.Operate, "worker": httpapi.Worker},
		},
	}
}

// property is one key of the configuration.
type property struct {
	key  string
	help string
	set  func(*settings, string) error
}

// properties are the keys, in the order of the help.
func properties() []property {
	return []property{
		{"sutra.datasource.url", "database URL; empty: SQLite in memory, nothing survives", text(func(s *settings) *string { return &s.url })},
		{"sutra.datasource.max-connections", "connections (4 x cores, at least 8)", count(1, func(s *settings) *int { return &s.maxConns })},
		{"sutra.datasource.connect-timeout", "how long a start waits for the database (PT1M)", span(func(s *settings) *time.Duration { return &s.patience })},
		{"sutra.datasource.migrate", "migrate the schema at start (false)", yes(func(s *settings) *bool { return &s.migrate })},
		{"sutra.http.listen", "address to listen on (:8080)", text(func(s *settings) *string { return &s.listen })},
		{"sutra.http.reply-timeout", "how long a request is held for its reply (PT30S)", span(func(s *settings) *time.Duration { return &s.replica.ReplyTimeout })},
		{"sutra.engine.lanes", "lanes (2 x cores)", count(1, func(s *settings) *int { return &s.replica.Lanes })},
		{"sutra.engine.lane-queue-capacity", "requests a lane holds (1024)", count(1, func(s *settings) *int { return &s.replica.LaneCapacity })},
		{"sutra.engine.lane-batch", "requests a lane takes at once (64)", count(1, func(s *settings) *int { return &s.replica.LaneBatch })},
		{"sutra.lease.ttl", "how long a role is leased (PT30S)", span(func(s *settings) *time.Duration { return &s.replica.LeaseTTL })},
		{"sutra.lease.poll", "how often leases are renewed (PT10S)", span(func(s *settings) *time.Duration { return &s.replica.LeasePoll })},
		{"sutra.instance.claim-timeout", "age of an abandoned claim (PT5M)", span(func(s *settings) *time.Duration { return &s.replica.ClaimTimeout })},
		{"sutra.instance.sweep-interval", "how often abandoned claims are freed (PT1M)", span(func(s *settings) *time.Duration { return &s.replica.SweepInterval })},
		{"sutra.instance.retention", "how long ended instances are kept (P7D)", span(func(s *settings) *time.Duration { return &s.replica.InstanceRetention })},
		{"sutra.instance.retention-sweep-interval", "how often ended instances are purged (PT1H)", span(func(s *settings) *time.Duration { return &s.replica.RetentionInterval })},
		{"sutra.inbox.retention", "how long done messages are known (P7D)", span(func(s *settings) *time.Duration { return &s.replica.InboxRetention })},
		{"sutra.inbox.recovery-after", "age at which a message of a dead worker is driven by another (PT1M)", span(func(s *settings) *time.Duration { return &s.replica.InboxRecovery })},
		{"sutra.outbox.tick-interval", "how often the outbox is polled (PT1S)", span(func(s *settings) *time.Duration { return &s.replica.OutboxTick })},
		{"sutra.outbox.batch", "emissions taken at once (256)", count(1, func(s *settings) *int { return &s.replica.OutboxBatch })},
		{"sutra.outbox.claim-timeout", "age of an abandoned send (PT1M)", span(func(s *settings) *time.Duration { return &s.replica.OutboxClaimTimeout })},
		{"sutra.outbox.send-timeout", "how long one send may take (a quarter of the claim timeout, at most PT10S)", span(func(s *settings) *time.Duration { return &s.replica.SendTimeout })},
		{"sutra.outbox.retry.base-delay", "first pause between sends (PT1S)", span(func(s *settings) *time.Duration { return &s.replica.OutboxBase })},
		{"sutra.outbox.retry.max-delay", "longest pause between sends (PT5M)", span(func(s *settings) *time.Duration { return &s.replica.OutboxMax })},
		{"sutra.outbox.retry.max-attempts", "sends before an emission is poisoned (0: without end)", count(0, func(s *settings) *int { return &s.replica.OutboxMaxAttempts })},
		{"sutra.timer.tick-interval", "how often timers are looked for (PT0.5S)", span(func(s *settings) *time.Duration { return &s.replica.TimerTick })},
		{"sutra.timer.batch", "timers fired at once (512)", count(1, func(s *settings) *int { return &s.replica.TimerBatch })},
		{"sutra.external-task.default-lock-duration", "lock of a fetch that says none (PT30S)", span(func(s *settings) *time.Duration { return &s.replica.Tasks.DefaultLock })},
		{"sutra.external-task.max-lock-duration", "longest lock (PT1H)", span(func(s *settings) *time.Duration { return &s.replica.Tasks.MaxLock })},
		{"sutra.external-task.max-async-response-timeout", "longest long poll (PT30S)", span(func(s *settings) *time.Duration { return &s.replica.Tasks.MaxWait })},
		{"sutra.external-task.max-tasks", "tasks of one fetch (100)", count(1, func(s *settings) *int { return &s.replica.Tasks.MaxTasks })},
		{"sutra.external-task.retry-timeout", "pause after a failure that says none (PT10S)", span(func(s *settings) *time.Duration { return &s.replica.Tasks.RetryAfter })},
		{"sutra.deployments.poll-interval", "how often the served set is looked at (PT2S)", span(func(s *settings) *time.Duration { return &s.replica.DeploymentsPoll })},
		{"sutra.deployments.listen", "be told of changes where the database can (PostgreSQL); false: poll alone (true)", not(func(s *settings) *bool { return &s.poll })},
		{"sutra.deployments.fleet-wait", "how long a deploy with wait=fleet waits before it says who does not serve it (PT30S)", span(func(s *settings) *time.Duration { return &s.replica.FleetWait })},
		{"sutra.deployments.operation-timeout", "silence after which a replica, and a deploy it took, counts as abandoned (PT1M)", span(func(s *settings) *time.Duration { return &s.replica.Abandoned })},
		{"sutra.deployments.archive-retention", "how long archives of retired revisions, and outcomes of submitted deploys, are kept (P30D)", span(func(s *settings) *time.Duration { return &s.replica.ArchiveKeep })},
		{"sutra.callback.secret", "secret that deploy callbacks are signed with, without which none is taken; env:NAME and file:PATH are resolved", text(func(s *settings) *string { return &s.callbackSecret })},
		{"sutra.callback.allow-private", "callbacks may lead to this machine and to private networks (false)", yes(func(s *settings) *bool { return &s.replica.Callbacks.Private })},
		{"sutra.brokers", "brokers that channels name: name=address, by commas; env:NAME and file:PATH are resolved", setBrokers},
		{"sutra.broker.prefetch", "messages of a channel that may be unsettled at once (64)", count(1, func(s *settings) *int { return &s.replica.BrokerAhead })},
		{"sutra.broker.max-delay", "longest pause between two tries to reach a broker (PT10S)", span(func(s *settings) *time.Duration { return &s.replica.BrokerMaxDelay })},
		{"sutra.tracing.endpoint", "OTLP/HTTP collector that traces go to, as http://127.0.0.1:4318 (OTEL_EXPORTER_OTLP_ENDPOINT; without either nothing is traced)", text(func(s *settings) *string { return &s.tracing.Endpoint })},
		{"sutra.tracing.ratio", "share of the traces beginning here that is recorded, 0 to 1; what comes with a trace is recorded as its caller does (OTEL_TRACES_SAMPLER, else 1)", setRatio},
		{"sutra.codec.max-payload-bytes", "bytes of a message (10485760)", bytesOf(func(s *settings) *int64 { return &s.replica.MaxPayload })},
		{"sutra.step.max-activations", "nodes entered in one step (10000)", count(1, func(s *settings) *int { return &s.replica.Limits.Step.Activations })},
		{"sutra.step.max-snapshot-bytes", "bytes of a snapshot (1048576)", count(1, func(s *settings) *int { return &s.replica.Limits.Step.SnapshotBytes })},
		{"sutra.step.max-tokens", "tokens of an instance (10000)", count(1, func(s *settings) *int { return &s.replica.Limits.Step.Tokens })},
		{"sutra.tenant.max-instances", "instances of a tenant that may live at once, and of one by name: 10000,acme=50000 (0: any number)", bound(func(s *settings) *limit.Bound { return &s.replica.Tenants.Instances })},
		{"sutra.tenant.start-rate", "instances a second that a tenant may start on each replica, and one by name: 100,acme=500 (0: any number)", bound(func(s *settings) *limit.Bound { return &s.replica.Tenants.Rate })},
		{"sutra.history.level", "what a step tells of itself: none, activity, full (full)", func(s *settings, v string) error {
			level := step.History(v)
			if level != step.NoHistory && level != step.ActivityHistory && level != step.FullHistory {
				return errors.New("use none, activity or full")
			}
			s.replica.Limits.Step.History = level
			return nil
		}},
		{"sutra.admin.auth.keys", "API keys: role[=owner]:key[@tenant+tenant], by commas; the owner is whom the audit names; without keys and an issuer the API is closed", setKeys},
		{"sutra.admin.oidc.issuer", "issuer of bearer tokens, exactly as they name it; also of those that channels take", address(func(s *settings) *string { return &s.issuer })},
		{"sutra.admin.oidc.audience", "audience that a token has to be made for to use the API", text(func(s *settings) *string { return &s.tokens.Audience })},
		{"sutra.admin.oidc.jwks-url", "where the issuer's public keys are (what its discovery document says)", address(func(s *settings) *string { return &s.keysURL })},
		{"sutra.admin.oidc.name-claim", "claim of a token that the audit names its holder by (sub)", text(func(s *settings) *string { return &s.tokens.NameClaim })},
		{"sutra.admin.oidc.role-claim", "claim with a token's roles; one inside another by its path, as realm_access.roles (roles)", text(func(s *settings) *string { return &s.tokens.RoleClaim })},
		{"sutra.admin.oidc.roles", "what values of the role claim mean: role=value, by commas (admin=admin,operate=operate,worker=worker)", setRoles},
		{"sutra.admin.oidc.tenant-claim", "claim with a token's tenants, or * for all (tenants)", text(func(s *settings) *string { return &s.tokens.TenantClaim })},
		{"sutra.admin.oidc.tenants", "tenants of tokens without that claim: tenant+tenant, or *; unset: such tokens may do nothing", setTenants},
		{"sutra.shutdown.grace", "how long stopping may take (PT25S)", span(func(s *settings) *time.Duration { return &s.grace })},
		{"sutra.log.level", "debug, info, warn, error (info)", func(s *settings, v string) error { return s.logLevel.UnmarshalText([]byte(v)) }},
	}
}

func text(at func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error { *at(s) = v; return nil }
}

func yes(at func(*settings) *bool) func(*settings, string) error {
	return func(s *settings, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("use true or false")
		}
		*at(s) = b
		return nil
	}
}

// not reads a setting whose absence is the flag.
func not(at func(*settings) *bool) func(*settings, string) error {
	return func(s *settings, v string) error {
		err := yes(at)(s, v)
		*at(s) = !*at(s)
		return err
	}
}

func count(least int, at func(*settings) *int) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Errorf("use a whole number from %d", least)
		}
		*at(s) = n
		return nil
	}
}

// bound reads a number for all tenants, and tenant=number for those that have their own.
func bound(at func(*settings) *limit.Bound) func(*settings, string) error {
	return func(s *settings, v string) error {
		b := limit.Bound{Tenants: map[string]int{}}
		for part := range strings.SplitSeq(v, ",") {
			tenant, number, own := strings.Cut(strings.TrimSpace(part), "=")
			if !own {
				number = tenant
			}
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 || own && tenant == "" {
				return errors.New("use whole numbers from 0: one for all tenants, tenant=number for others, by commas")
			}
			if own {
				b.Tenants[tenant] = n
			} else {
				b.All = n
			}
		}
		*at(s) = b
		return nil
	}
}

func bytesOf(at func(*settings) *int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 {
			return errors.New("use a number of bytes")
		}
		*at(s) = n
		return nil
	}
}

func span(at func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) error {
		d, err := duration(v)
		if err != nil {
			return err
		}
		*at(s) = d
		return nil
	}
}

// duration reads an ISO-8601 duration, or Go's.
func duration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	v, err := feel.ParseDuration(text)
	d, ok := v.(feel.DaysTime)
	if err != nil || !ok || d.Seconds < 0 || d.Seconds > 1<<33 {
		return 0, errors.New("use an ISO-8601 duration of days and less, as PT30S or P7D")
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos), nil
}

func setKeys(s *settings, v string) error {
	s.keys = nil
	for part := range strings.SplitSeq(v, ",") {
		role, secret, ok := strings.Cut(strings.TrimSpace(part), ":")
		role, owner, _ := strings.Cut(role, "=")
		r := httpapi.Role(role)
		if !ok || secret == "" || !r.Known() {
			return errors.New("use role:key, with role admin, operate or worker")
		}
		if owner == "" {
			owner = fmt.Sprintf("%s key %d", role, len(s.keys)+1)
		}
		key := httpapi.Key{Name: owner, Role: r, Secret: secret}
		if at := strings.LastIndex(secret, "@"); at >= 0 {
			key.Secret, key.Tenants = secret[:at], strings.Split(secret[at+1:], "+")
		}
		s.keys = append(s.keys, key)
	}
	return nil
}

// address reads the URL of a service that is asked over HTTP.
func address(at func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error {
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("use a URL, as https://login.example.com/realms/sutra")
		}
		*at(s) = v
		return nil
	}
}

func setRoles(s *settings, v string) error {
	s.tokens.Roles = map[string]httpapi.Role{}
	for part := range strings.SplitSeq(v, ",") {
		role, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || value == "" || !httpapi.Role(role).Known() {
			return errors.New("use role=value, with role admin, operate or worker")
		}
		if other, twice := s.tokens.Roles[value]; twice {
			return fmt.Errorf("%q is %s already; a value means one role", value, other)
		}
		s.tokens.Roles[value] = httpapi.Role(role)
	}
	return nil
}

func setTenants(s *settings, v string) error {
	s.tokens.Tenants = strings.Split(v, "+")
	if slices.Contains(s.tokens.Tenants, "") {
		return errors.New("use tenant+tenant, or *")
	}
	return nil
}

// setBrokers reads name=address pairs. An address that is no reference stays as it is: its own transport refuses what it cannot read. One
// of Kafka may have several hosts, by commas too.
func setBrokers(s *settings, v string) error {
	s.brokers = map[string]string{}
	before := ""
	for part := range strings.SplitSeq(v, ",") {
		part = strings.TrimSpace(part)
		name, address, ok := strings.Cut(part, "=")
		switch {
		case strings.HasPrefix(s.brokers[before], "kafka") && (!ok || strings.ContainsAny(name, ":/?")):
			s.brokers[before] += "," + part
			continue
		case !ok || name == "" || address == "":
			return errors.New("use name=address, as main=env:MAIN_BROKER")
		}
		s.brokers[name], before = address, name
	}
	return nil
}

func setRatio(s *settings, v string) error {
	ratio, err := strconv.ParseFloat(v, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return errors.New("use a number from 0 to 1")
	}
	s.tracing.Ratio = &ratio
	return nil
}

// bind gives a command a flag for each property, and --config. The returned function reads them all.
func bind(cmd *cobra.Command) func() (settings, error) {
	file := cmd.Flags().String("config", "", "configuration file (sutra.yaml, when it is there)")
	values := map[string]*string{}
	for _, p := range properties() {
		values[p.key] = cmd.Flags().String(flagOf(p.key), "", p.help)
	}
	return func() (settings, error) {
		given, err := readFile(*file)
		if err != nil {
			return settings{}, err
		}
		s := defaults()
		for _, p := range properties() {
			value, set := given[p.key]
			if v, ok := os.LookupEnv(envOf(p.key)); ok {
				value, set = v, true
			}
			if cmd.Flags().Changed(flagOf(p.key)) {
				value, set = *values[p.key], true
			}
			delete(given, p.key)
			if !set {
				continue
			}
			if err := p.set(&s, value); err != nil {
				if p.key == "sutra.admin.auth.keys" || p.key == "sutra.callback.secret" || p.key == "sutra.brokers" {
					value = "…" // secrets stay out of messages
				}
				return s, fault.PropertyInvalid.With("%s is %q: %w", p.key, value, err)
			}
		}
		for key := range given {
			return s, fault.PropertyInvalid.With("%s is no property; sutra serve --help lists them", key)
		}
		s.replica.Callbacks.Signed = s.callbackSecret != ""
		s.replica.Complete()
		return s, s.check()
	}
}

func (s settings) check() error {
	if !lease.Valid(s.replica.LeaseTTL, s.replica.LeasePoll) {
		return fault.PropertyInvalid.With("sutra.lease.poll is %v and sutra.lease.ttl is %v: the poll has to be less than half the ttl", s.replica.LeasePoll, s.replica.LeaseTTL)
	}
	if s.replica.SendTimeout >= s.replica.OutboxClaimTimeout/2 {
		return fault.PropertyInvalid.With("sutra.outbox.send-timeout is %v: it has to be less than half of sutra.outbox.claim-timeout (%v)",
			s.replica.SendTimeout, s.replica.OutboxClaimTimeout)
	}
	if (s.issuer == "") != (s.tokens.Audience == "") || s.issuer == "" && s.keysURL != "" {
		return fault.PropertyInvalid.With("sutra.admin.oidc.issuer is %q and sutra.admin.oidc.audience is %q: tokens are taken by both, so set both or neither", s.issuer, s.tokens.Audience)
	}
	if s.replica.Abandoned < time.Second {
		return fault.PropertyInvalid.With("sutra.deployments.operation-timeout is %v: it has to be a second at least", s.replica.Abandoned)
	}
	return nil
}

func flagOf(key string) string {
	return strings.ReplaceAll(strings.TrimPrefix(key, "sutra."), ".", "-")
}

func envOf(key string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// readFile reads a configuration file into dotted keys. The default file may be missing, a named one may not.
func readFile(name string) (map[string]string, error) {
	path := name
	if path == "" {
		path = "sutra.yaml"
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == "":
		return map[string]string{}, nil
	case err != nil:
		return nil, fault.PropertyInvalid.With("--config: %w", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fault.PropertyInvalid.With("%s does not read: %w", path, err)
	}
	out := map[string]string{}
	flatten("", doc, out)
	return out, nil
}

func flatten(prefix string, doc map[string]any, out map[string]string) {
	for key, v := range doc {
		if prefix != "" {
			key = prefix + "." + key
		}
		if inner, ok := v.(map[string]any); ok {
			flatten(key, inner, out)
			continue
		}
		out[key] = fmt.Sprint(v)
	}
}
