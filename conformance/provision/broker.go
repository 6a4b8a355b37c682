package provision

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/sutra-engine/sutra/conformance/process"
)

// Broker is a running message broker, started on this machine. Who pauses, kills or restarts it needs it alone.
type Broker struct {
	Kind string
	URL  string // its address, with what opens it

	// Detour is where a proxy has to listen, and what it has to forward to, to stand between the broker and its clients. Most clients
	// follow whoever they find; Kafka's go on to where the broker says that it is.
	Detour Detour

	local *local
}

// Detour is the way to a broker through a proxy.
type Detour struct {
	Listen, Target string // host and port
}

// Brokers are the kinds of brokers that can be provided.
func Brokers() []string { return []string{"rabbitmq", "nats", "kafka"} }

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
	scheme := map[string]string{"rabbitmq": "amqp", "nats": "nats", "kafka": "kafka"}[kind]
	u := url.URL{Scheme: scheme, User: url.UserPassword(p.user, password), Host: host.address(), Path: "/"}
	b := &Broker{Kind: kind, URL: u.String(), Detour: Detour{"127.0.0.1:0", host.address()}, local: host}
	if p.detour != nil {
		b.Detour = *p.detour
	}
	if err := b.await(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

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
		err := b.greet(ctx)
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

func (b *Broker) greet(ctx context.Context) error {
	switch b.Kind {
	case "nats":
		conn, err := nats.Connect(b.URL, nats.NoReconnect())
		if err == nil {
			conn.Close()
		}
		return err
	case "kafka":
		client, err := b.Kafka()
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.Ping(ctx); err != nil {
			return err
		}
		_, err = kadm.NewClient(client).FetchOffsets(ctx, "any") // the first group has the broker make a topic for all groups
		return err
	default:
		conn, err := amqp.Dial(b.URL)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// Kafka is a client of a broker of that kind. The caller closes it.
func (b *Broker) Kafka(more ...kgo.Opt) (*kgo.Client, error) {
	u, err := url.Parse(b.URL)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	return kgo.NewClient(append(more, kgo.SeedBrokers(u.Host), kgo.SASL(plain.Auth{User: u.User.Username(), Pass: password}.AsMechanism()))...)
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
	case "kafka":
		java, err := findJava()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (program, error) { return kafkaProgram(ctx, java) }, nil
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

// findJava answers the command that runs Kafka's classes, those of scripts/fetch-kafka.sh.
func findJava() ([]string, error) {
	java, ok := firstProgram("java", "/usr/lib/jvm/*/bin")
	if !ok {
		return nil, errors.New("no java in PATH or /usr/lib/jvm; install it (Debian: default-jre-headless), and run scripts/fetch-kafka.sh")
	}
	for _, home := range homes("SUTRA_KAFKA_HOME", "kafka") {
		if jars, _ := filepath.Glob(filepath.Join(home, "*", "kafka_*.jar")); len(jars) > 0 {
			return []string{
				java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
				"-cp", filepath.Join(filepath.Dir(jars[len(jars)-1]), "*"),
			}, nil
		}
	}
	return nil, errors.New("no Kafka in SUTRA_KAFKA_HOME or .cache/kafka; run scripts/fetch-kafka.sh (Debian: maven)")
}

// kafkaProgram is one process that is broker and controller. A client that came through a proxy is sent through it again: by a listener
// that says it is where the proxy is.
func kafkaProgram(ctx context.Context, java []string) (program, error) {
	var at [3]string
	for i := range at {
		port, err := process.FreePort(ctx)
		if err != nil {
			return program{}, err
		}
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	controller, detour := at[0], Detour{Listen: at[1], Target: at[2]}
	listeners := func(port int) (listen, advertise string) {
		own := fmt.Sprintf("CLIENT://127.0.0.1:%d,DETOUR://", port)
		return "listeners=" + own + detour.Target + ",CONTROLLER://" + controller, "advertised.listeners=" + own + detour.Listen
	}
	return program{
		where:  "by " + java[0],
		user:   "provision",
		stop:   syscall.SIGTERM,
		detour: &detour,
		files: func(password string) map[string]string {
			listen, advertise := listeners(9092) // for the tool that formats; serve has the port
			return map[string]string{"kafka.properties": strings.Join([]string{listen, advertise, "controller.quorum.voters=1@" + controller, kafkaSettings(password)}, "\n")}
		},
		install: func(_, password string) [][]string {
			return [][]string{append(slices.Clone(java), "kafka.tools.StorageTool", "format", "--config", "kafka.properties",
				"--cluster-id", base64.RawURLEncoding.EncodeToString([]byte(random(8))), "--add-scram", "SCRAM-SHA-512=[name=provision,password="+password+"]")}
		},
		serve: func(_ string, port int) []string {
			listen, advertise := listeners(port)
			return append(slices.Clone(java), "kafka.Kafka", "kafka.properties", "--override", listen, "--override", advertise)
		},
	}, nil
}

// kafkaSettings are those of one node, for clients who log in. No group waits for others before its first member gets to work, and one
// may notice within half a second that a member is gone.
func kafkaSettings(password string) string {
	var text strings.Builder
	text.WriteString(`process.roles=broker,controller
node.id=1
log.dirs=data
listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,DETOUR:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENT
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.cleaner.dedupe.buffer.size=2097152
`)
	for _, listener := range []string{"client", "detour"} {
		fmt.Fprintf(&text, `listener.name.%[1]s.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="provision" password="%[2]s" user_provision="%[2]s";
listener.name.%[1]s.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
`, listener, password)
	}
	return text.String()
}
