// Package httpapi is the HTTP surface: channels, the API of operators, deploys, health. It speaks HTTP and decides nothing; what it
// calls are the driving ports.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/ports"
)

// Deps are what the surface calls.
type Deps struct {
	Intake      ports.Intake
	Deployer    ports.Deployer
	Operator    ports.Operator
	Migrator    ports.Migrator
	Reviver     ports.Reviver
	Audits      ports.Audits
	Tasks       ports.TaskQueue
	Views       ports.Views
	Deployments ports.Deployments
	Leases      ports.Leases
	Health      ports.Health
	Metrics     http.Handler
	Clock       ports.Clock
	Watch       ports.Watch
	Log         *slog.Logger
	Keys        []Key // who may call; without keys and tokens the API is closed
	Tokens      Tokens
	Open        bool                                // every caller is an admin: only for loopback
	MaxArchive  int64                               // bytes of a deploy's body
	MaxPayload  int64                               // bytes of any other body
	Duration    func(string) (time.Duration, error) // reads an ISO-8601 duration
}

// Server is one listener.
type Server struct {
	Deps
	listener net.Listener
	http     *http.Server
	inFlight atomic.Int64
}

// New makes the server on a listener that is open already, so that its address is known and nothing is lost before it serves.
func New(d Deps, listener net.Listener) *Server {
	s := &Server{Deps: d, listener: listener}
	s.http = &http.Server{
		Handler:           s.router(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers requests until Shut. Requests have contexts of their own.
func (s *Server) Serve(context.Context) error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shut stops listening and waits for the requests under way.
func (s *Server) Shut(ctx context.Context) error { return s.http.Shutdown(ctx) }

func (s *Server) router() http.Handler {
	r := bunrouter.New(
		bunrouter.WithNotFoundHandler(s.channel),
		bunrouter.WithMethodNotAllowedHandler(s.channel),
	)
	for _, route := range s.Routes() {
		r.Handle(route.Method, route.Path, s.watched(route.Path, s.guarded(route)))
	}
	return r
}

// Route is one line of the surface.
type Route struct {
	Method, Path string
	Role         Role // empty: anybody
	handle       handler
}

type handler func(http.ResponseWriter, bunrouter.Request, Principal) error

// Routes is the whole surface but the channels.
func (s *Server) Routes() []Route {
	return []Route{
		{"GET", "/metrics", "", s.metrics},
		{"GET", "/openapi.yaml", "", s.openapi},
		{"GET", "/sutra/health/live", "", s.live},
		{"GET", "/sutra/health/ready", "", s.ready},
		{"GET", "/sutra/deployments", Operate, s.deployments},
		{"GET", "/sutra/deployments/:id", Operate, s.deployment},
		{"GET", "/sutra/instances", Operate, s.instances},
		{"GET", "/sutra/instances/:id", Operate, s.instance},
		{"GET", "/sutra/instances/:id/history", Operate, s.history},
		{"POST", "/sutra/processes/:process/instances", Operate, s.start},
		{"POST", "/sutra/messages/:name", Operate, s.publish},
		{"POST", "/sutra/signals/:name", Operate, s.signal},
		{"POST", "/sutra/external-tasks/fetch-and-lock", Worker, s.fetch},
		{"POST", "/sutra/external-tasks/:id/complete", Worker, s.complete},
		{"POST", "/sutra/external-tasks/:id/failure", Worker, s.failure},
		{"POST", "/sutra/external-tasks/:id/extend-lock", Worker, s.extend},
		{"POST", "/sutra/external-tasks/:id/bpmn-error", Worker, s.bpmnError},
		{"POST", "/admin/deployments", Admin, s.deploy},
		{"DELETE", "/admin/deployments/:id", Admin, s.undeploy},
		{"GET", "/admin/operations/:id", Admin, s.operation},
		{"POST", "/admin/instances/:id/cancel", Admin, s.cancel},
		{"POST", "/admin/instances/:id/resume", Admin, s.resume},
		{"POST", "/admin/instances/:id/variables", Admin, s.correct},
		{"POST", "/admin/instances/:id/retry", Admin, s.retryNow},
		{"POST", "/admin/instances/:id/migrate", Admin, s.migrate},
		{"POST", "/admin/instances/migrate", Admin, s.migrateBatch},
		{"GET", "/admin/outbox", Admin, s.outbox},
		{"POST", "/admin/outbox/:id/redrive", Admin, s.redrive},
		{"GET", "/admin/tasks", Admin, s.tasks},
		{"POST", "/admin/tasks/:id/retry", Admin, s.retry},
		{"GET", "/admin/audit", Admin, s.audit},
		{"GET", "/admin/leases", Admin, s.leases},
		{"GET", "/admin/replicas", Admin, s.replicas},
	}
}

// own says that a path belongs to the engine, not to a channel.
func own(path string) bool {
	return path == "/metrics" || path == "/openapi.yaml" || strings.HasPrefix(path, "/sutra/") || strings.HasPrefix(path, "/admin/")
}
