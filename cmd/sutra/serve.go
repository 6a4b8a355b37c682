package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/httpapi"
	"github.com/sutra-engine/sutra/adapters/kafka"
	"github.com/sutra-engine/sutra/adapters/nats"
	"github.com/sutra-engine/sutra/adapters/oidc"
	"github.com/sutra-engine/sutra/adapters/rabbitmq"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/adapters/webhook"
	"github.com/sutra-engine/sutra/app/replica"
	"github.com/sutra-engine/sutra/core/channel"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func serve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run one replica", Args: cobra.NoArgs,
		Long: "Run one replica. Every flag can be set as SUTRA_… in the environment, or in sutra.yaml.",
	}
	read := bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		log := slog.New(telemetry.Logs(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: s.logLevel})))
		metrics := telemetry.New()
		store, err := open(cmd.Context(), s, metrics, log)
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // the process ends
		p, err := assemble(cmd.Context(), s, store, metrics, log)
		if err != nil {
			return err
		}
		return p.run(cmd.Context())
	}
	return cmd
}

// open opens the store, waiting for a database that is away as long as the settings say.
func open(ctx context.Context, s settings, watch ports.Watch, log *slog.Logger) (*database.Store, error) {
	c := database.Config{URL: s.url, MaxConns: s.maxConns, Watch: watch, Log: log, Poll: s.poll}
	deadline := time.NewTimer(s.patience)
	defer deadline.Stop()
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		var store *database.Store
		var err error
		if s.migrate {
			err = database.Migrate(ctx, c)
		}
		if err == nil {
			store, err = database.Open(ctx, c)
		}
		if err == nil {
			return store, nil
		}
		if fault.Of(err).Code.Disposition() != fault.Redeliver {
			return nil, err
		}
		log.WarnContext(ctx, "cannot open the database; trying again", "error", err)
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, fault.StoreUnavailable.With("the database did not come in %v; check sutra.datasource.url and that it is up: %w", s.patience, err)
		}
		t.Stop()
	}
}

// process is a replica with its doors.
type process struct {
	*replica.Replica
	server   *httpapi.Server
	tokens   *oidc.Verifier // nil: none is taken
	listener net.Listener
	grace    time.Duration
	senders  []io.Closer
	flush    func(context.Context) error // of spans
}

// run serves until ctx ends, through the process's own door and more. All of the stopping is within the grace.
func (p process) run(ctx context.Context, more ...replica.Door) error {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := context.AfterFunc(ctx, func() { time.AfterFunc(p.grace, cancel) })
	defer stopped()
	more = append(more, p.server)
	if p.tokens != nil {
		more = append(more, p.tokens)
	}
	err := p.Run(ctx, p.grace, more...)
	for _, s := range p.senders {
		err = errors.Join(err, s.Close())
	}
	late, flushed := context.WithTimeout(late, flushFor)
	defer flushed()
	if err := p.flush(late); err != nil {
		p.Log.WarnContext(late, "the last spans may not have been sent", "error", err)
	}
	return err
}

// flushFor bounds how long a process that stops waits for its last spans to go out.
const flushFor = 5 * time.Second

// watching is the watch of a process: its metrics, with traces where a setting, or the environment that OpenTelemetry knows, says where
// they go.
func watching(ctx context.Context, s settings, metrics *telemetry.Metrics, log *slog.Logger) (watch ports.Watch, flush func(context.Context) error, err error) {
	standard := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if s.tracing.Endpoint+standard == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return metrics, func(context.Context) error { return nil }, nil
	}
	s.tracing.Version, s.tracing.Instance, s.tracing.Log = version, (&system.IDs{}).New().String(), log
	tracer, err := telemetry.Trace(ctx, metrics, s.tracing)
	if err != nil {
		return nil, nil, err
	}
	return tracer, tracer.Close, nil
}

// assemble puts a process together.
func assemble(ctx context.Context, s settings, store ports.Store, metrics *telemetry.Metrics, log *slog.Logger) (process, error) {
	watch, flush, err := watching(ctx, s, metrics, log)
	if err != nil {
		return process{}, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return process{}, fault.PropertyInvalid.With("sutra.http.listen is %q: %w", s.listen, err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "sutra"
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: s.replica.OutboxParallel, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
	sender := webhook.New(s.replica.SendTimeout, transport)
	secret, err := system.Secrets{}.Resolve(s.callbackSecret)
	if err != nil {
		return process{}, err
	}
	callback := webhook.NewCallback(s.replica.SendTimeout, secret, s.replica.Callbacks.Allow, system.Now)
	queues, streams, topics := &rabbitmq.Sender{Now: system.Now}, &nats.Sender{}, &kafka.Sender{}
	secrets := system.Secrets{Brokers: s.brokers}
	metrics.Backlog(store.Views(), store.Clock()) //nolint:contextcheck // a scrape brings no context
	metrics.Pools(store.Pools)
	r := replica.New(replica.Deps{
		Store: store, Config: s.replica, Secrets: secrets, IDs: &system.IDs{}, Now: system.Now, Watch: watch, Log: log,
		Name: host, Address: listener.Addr().String(),
		Senders: map[string]ports.Sender{
			"http": sender, "https": sender, "callback+http": callback, "callback+https": callback, "amqp": queues, "amqps": queues,
			"nats": streams, "tls": streams, "kafka": topics, "kafkas": topics,
		},
		Brokers: map[channel.Transport]ports.Broker{
			channel.RabbitMQ: rabbitmq.Broker{Now: system.Now}, channel.NATS: nats.Broker{}, channel.Kafka: kafka.Broker{},
		},
	})
	if s.issuer != "" {
		s.tokens.Verifier = oidc.New(oidc.Config{Issuer: s.issuer, KeysURL: s.keysURL, Transport: transport, Now: system.Now, Log: log})
	}
	server := httpapi.New(httpapi.Deps{ //nolint:contextcheck // each request has a context of its own
		Intake: r.Intake, Deployer: r.Deployer, Operator: r.Operator, Migrator: r.Operator, Reviver: r.Operator, Audits: store.Audits(), Tasks: r.Tasks, Views: store.Views(), Deployments: store.Deployments(), Leases: store.Leases(),
		Health: r, Metrics: metrics.Handler(), Clock: store.Clock(), Watch: watch, Log: log, Keys: s.keys, Tokens: s.tokens, MaxArchive: s.replica.Archives.Archive, MaxPayload: s.replica.MaxPayload,
		Duration: duration, Open: s.open,
	}, listener)
	metrics.Doors(server.InFlight)
	return process{r, server, s.tokens.Verifier, listener, s.grace, []io.Closer{queues, streams, topics}, flush}, nil
}

// stored refuses to look at a database that lives in its process alone.
func (s settings) stored() error {
	if s.url == "" {
		return fault.PropertyInvalid.With("sutra.datasource.url is not set; name the database by --datasource-url or SUTRA_DATASOURCE_URL")
	}
	return nil
}

func migrate() *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Look at and change the database's schema"}
	up := &cobra.Command{Use: "up", Short: "Bring the schema to what this build needs; several may do so at once", Args: cobra.NoArgs}
	read := bind(up)
	up.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		if err := s.stored(); err != nil {
			return err
		}
		if err := database.Migrate(cmd.Context(), database.Config{URL: s.url}); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "the schema is up to date")
		return err
	}
	status := &cobra.Command{Use: "status", Short: "Say whether the schema is what this build needs", Args: cobra.NoArgs}
	readStatus := bind(status)
	status.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := readStatus()
		if err == nil {
			err = s.stored()
		}
		if err != nil {
			return err
		}
		store, err := database.Open(cmd.Context(), database.Config{URL: s.url})
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // the process ends
		if err := store.Check(cmd.Context()); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "the schema is up to date")
		return err
	}
	cmd.AddCommand(up, status)
	return cmd
}
