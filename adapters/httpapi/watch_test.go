package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// doors is an intake with one door, which takes everything.
type doors struct{ ports.Intake }

func (doors) Enter(_ context.Context, address string) (ports.Entrance, error) {
	if address == "http POST /orders" {
		return ports.Entrance{Channel: "order", Limit: 10, Auth: ports.Auth{Scheme: "none"}}, nil
	}
	return ports.Entrance{}, fault.ChannelUnknown.With("no channel is bound to %s", address)
}

func (doors) Take(context.Context, ports.Incoming) (ports.Receipt, error) {
	return ports.Receipt{}, nil
}

// TestRequestsAreCountedByRoute: whatever callers write, there are no more series than routes, methods and classes of status.
func TestRequestsAreCountedByRoute(t *testing.T) {
	m := telemetry.New()
	s := &Server{Deps: Deps{Intake: doors{}, Log: slog.New(slog.DiscardHandler), Keys: testKeys, Clock: still{}, Watch: m, Metrics: m.Handler()}}
	m.Doors(s.InFlight)
	router := s.router()
	call := func(method, path, body string) string {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w.Body.String()
	}
	for _, path := range []string{"/wp-login.php", "/.env", "/sutra/nothing", "/metrics/x"} {
		call("GET", path, "")
	}
	call("BREW", "/pot", "")
	call("POST", "/orders", "{}")
	call("POST", "/orders", "more than it takes")
	call("GET", "/sutra/instances/01", "")
	call("GET", "/sutra/instances/02", "")

	var got []string
	for line := range strings.Lines(call("GET", "/metrics", "")) {
		if strings.HasPrefix(line, "sutra_http_requests") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`sutra_http_requests_in_flight 1`,
		`sutra_http_requests_total{method="GET",route="/sutra/instances/:id",status="4xx"} 2`,
		`sutra_http_requests_total{method="GET",route="unknown",status="4xx"} 4`,
		`sutra_http_requests_total{method="POST",route="channel order",status="2xx"} 1`,
		`sutra_http_requests_total{method="POST",route="channel order",status="4xx"} 1`,
		`sutra_http_requests_total{method="_OTHER",route="unknown",status="4xx"} 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := s.InFlight(); n != 0 {
		t.Errorf("got %d requests in flight after all were answered", n)
	}
}

// TestProbesLeaveNoSpans: what is asked every few seconds would be most of what is recorded.
func TestProbesLeaveNoSpans(t *testing.T) {
	for _, route := range (&Server{}).Routes() {
		opened := 0
		s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler), Clock: still{}, Watch: spying{opened: &opened}}}
		knock(t, s, route, credential{})
		want := 1
		if route.Role == "" && route.Path != "/openapi.yaml" {
			want = 0
		}
		if opened != want {
			t.Errorf("%s: got %d spans, want %d", route.Path, opened, want)
		}
	}
}

type spying struct {
	ports.Blind
	opened *int
}

func (s spying) Span(ctx context.Context, of ports.Span) (context.Context, func(ports.Ending)) {
	*s.opened++
	return s.Blind.Span(ctx, of)
}

// TestAHandlerThatPanicsIsCountedAndEnds: its span too, else the one thing to look for is not there.
func TestAHandlerThatPanicsIsCountedAndEnds(t *testing.T) {
	w := &noting{}
	s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler), Clock: still{}, Watch: w}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was kept from the server, which logs it")
			}
		}()
		panics := func(http.ResponseWriter, bunrouter.Request) error { panic("x") }
		_ = s.watched("/x", panics)(httptest.NewRecorder(), bunrouter.NewRequest(httptest.NewRequest(http.MethodGet, "/x", http.NoBody)))
	}()
	if !slices.Contains(w.labels, "5xx") || len(w.endings) != 1 || !errors.Is(w.endings[0].Err, fault.Internal) || s.InFlight() != 0 {
		t.Errorf("got %+v, %d in flight", w, s.InFlight())
	}
}

type noting struct {
	ports.Blind
	labels  []string
	endings []ports.Ending
}

func (e *noting) Count(_ string, _ int64, labels ...string) { e.labels = append(e.labels, labels...) }

func (e *noting) Span(ctx context.Context, _ ports.Span) (context.Context, func(ports.Ending)) {
	return ctx, func(end ports.Ending) { e.endings = append(e.endings, end) }
}
