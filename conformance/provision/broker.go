package provision

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/sutra-engine/sutra/conformance/process"
)

// Broker is a running message broker, started on this machine. Who pauses, kills or restarts it needs it alone.
type Broker struct {
	Kind string
	URL  string // its address, with what opens it

	local *local
}

// Brokers are the kinds of brokers that can be provided.
func Brokers() []string { return []string{"rabbitmq", "nats"} }

// FindBroker looks for a broker's program and starts nothing. The error says how to provide it.
func FindBroker(kind string) error {
	_, err := brokerProgram(kind)
	return err
}

// StartBroker starts a broker with nothing in it. The caller closes it.
func StartBroker(ctx context.Context, kind string) (*Broker, error) {
	find, err := brokerProgram(kind)
	if err != nil {
		return nil, err
	}
	p, err := find(ctx)
	if err != nil {
		return nil, err
	}
	password := random(16)
	host, err := install(ctx, kind, p, password)
	if err != nil {
		return nil, err
	}
	scheme := map[string]string{"rabbitmq": "amqp", "nats": "nats"}[kind]
	u := url.URL{Scheme: scheme, User: url.UserPassword(p.user, password), Host: host.address(), Path: "/"}
	b := &Broker{Kind: kind, URL: u.String(), local: host}
	if err := b.await(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Address is its host and port.
func (b *Broker) Address() string { return b.local.address() }

// Pause freezes the broker.
func (b *Broker) Pause() error { return b.local.Pause() }

// Resume undoes Pause.
func (b *Broker) Resume() error { return b.local.Resume() }

// Kill ends it as a crash would.
func (b *Broker) Kill() error { return b.local.Kill() }

// Restart starts it again after Kill, or stops it before. What was durable is there.
func (b *Broker) Restart(ctx context.Context) error {
	if !b.local.ended() {
		if err := b.local.Stop(ctx); err != nil {
			return err
		}
	}
	if err := b.local.Start(ctx); err != nil {
		return err
	}
	return b.await(ctx)
}

// Close ends it and removes what it stored.
func (b *Broker) Close() error { return b.local.Close() }

// await waits until it lets a client in.
func (b *Broker) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*patience) // RabbitMQ computes for ten seconds before it listens, on a machine that is idle
	defer cancel()
	for {
		err := b.greet()
		if err == nil {
			return nil
		}
		if b.local.ended() {
			return fmt.Errorf("%s ended: %s", b.Kind, b.local.log())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s let nobody in: %w: %s", b.Kind, err, b.local.log())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *Broker) greet() error {
	if b.Kind == "nats" {
		conn, err := nats.Connect(b.URL, nats.NoReconnect())
		if err == nil {
			conn.Close()
		}
		return err
	}
	conn, err := amqp.Dial(b.URL)
	if err != nil {
		return err
	}
	return conn.Close()
}

func brokerProgram(kind string) (func(context.Context) (program, error), error) {
	switch kind {
	case "rabbitmq":
		server, ok := firstProgram("rabbitmq-server", "/usr/lib/rabbitmq/bin", "/opt/rabbitmq/sbin")
		if !ok {
			return nil, errors.New("no rabbitmq-server in /usr/lib/rabbitmq or PATH; install it (Debian: rabbitmq-server)")
		}
		// Debian's wrapper in PATH insists on a user of its own.
		if _, err := os.Stat("/usr/lib/rabbitmq/bin/rabbitmq-server"); err == nil {
			server = "/usr/lib/rabbitmq/bin/rabbitmq-server"
		}
		return func(ctx context.Context) (program, error) { return rabbitProgram(ctx, server) }, nil
	case "nats":
		server, ok := firstProgram("nats-server", "/usr/sbin", "/usr/local/bin")
		if !ok {
			return nil, errors.New("no nats-server in PATH or /usr/sbin; install it (Debian: nats-server)")
		}
		return func(context.Context) (program, error) { return natsProgram(server), nil }, nil
	}
	return nil, fmt.Errorf("unknown broker %q: there are %s", kind, strings.Join(Brokers(), ", "))
}

// rabbitProgram runs the server with a port mapper of its own, which ends with it: neither outlives the tests, and none is shared with
// the machine's own.
func rabbitProgram(ctx context.Context, server string) (program, error) {
	distribution, err := process.FreePort(ctx)
	if err != nil {
		return program{}, err
	}
	mapper, err := process.FreePort(ctx)
	if err != nil {
		return program{}, err
	}
	return program{
		where: "by " + server,
		user:  "provision",
		stop:  syscall.SIGTERM,
		files: func(password string) map[string]string {
			return map[string]string{
				"plugins":     "[].\n",
				"rabbit.conf": "default_user = provision\ndefault_pass = " + password + "\nlog.console = true\nlog.console.level = warning\nlog.file = false\n",
			}
		},
		serve: func(dir string, port int) []string {
			set := fmt.Sprintf(`export RABBITMQ_NODENAME=sutra@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=%d RABBITMQ_DIST_PORT=%d
export ERL_EPMD_PORT=%d ERL_EPMD_ADDRESS=127.0.0.1 ERL_CRASH_DUMP=/dev/null
export RABBITMQ_MNESIA_BASE=%[4]s/data RABBITMQ_LOG_BASE=%[4]s/log RABBITMQ_PID_FILE=%[4]s/pid RABBITMQ_CONFIG_FILE=%[4]s/rabbit
export RABBITMQ_ENABLED_PLUGINS_FILE=%[4]s/plugins RABBITMQ_CONF_ENV_FILE=%[4]s/none
export RABBITMQ_ALLOW_INPUT=1 RABBITMQ_SERVER_START_ARGS=-noinput RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1 +sbwt none'`,
				port, distribution, mapper, dir)
			return []string{"sh", "-c", set + "\nsetpriv --pdeathsig KILL epmd -port " + fmt.Sprint(mapper) + " &\nexec " + server}
		},
	}, nil
}

func natsProgram(server string) program {
	return program{
		where: "by " + server,
		user:  "provision",
		stop:  syscall.SIGINT,
		files: func(password string) map[string]string {
			return map[string]string{"nats.conf": fmt.Sprintf("authorization { user: provision, password: %q }\n", password)}
		},
		serve: func(dir string, port int) []string {
			return []string{
				server, "-c", filepath.Join(dir, "nats.conf"), "-js", "-sd", filepath.Join(dir, "data"), "-a", "127.0.0.1", "-p", fmt.Sprint(port),
			}
		},
	}
}
