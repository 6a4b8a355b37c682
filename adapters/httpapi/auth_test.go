package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/uptrace/bunrouter"

	"github.com/sutra-engine/sutra/ports"
)

var testKeys = []Key{{Role: Admin, Secret: "a"}, {Role: Operate, Secret: "o"}, {Role: Worker, Secret: "w", Tenants: []string{"t"}}}

// TestEveryRouteAsksForItsRole runs the whole route table against no, wrong and each right key. What is behind the lock is a handler
// that only says that it was reached.
func TestEveryRouteAsksForItsRole(t *testing.T) {
	s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler), Keys: testKeys, Clock: still{}, Watch: ports.Blind{}}}
	for _, route := range s.Routes() {
		for _, tc := range []struct {
			key  string
			role Role
		}{{"", ""}, {"wrong", ""}, {"w", Worker}, {"o", Operate}, {"a", Admin}} {
			want := http.StatusOK
			switch {
			case route.Role == "":
			case tc.role == "":
				want = http.StatusUnauthorized
			case !tc.role.covers(route.Role):
				want = http.StatusForbidden
			}
			if got := knock(s, route, tc.key); got != want {
				t.Errorf("%s %s with key %q: got %d, want %d", route.Method, route.Path, tc.key, got, want)
			}
		}
	}
}

func TestWithoutKeysTheAPIIsClosed(t *testing.T) {
	s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler), Clock: still{}, Watch: ports.Blind{}}}
	for _, route := range s.Routes() {
		want := http.StatusServiceUnavailable
		if route.Role == "" {
			want = http.StatusOK
		}
		if got := knock(s, route, "a"); got != want {
			t.Errorf("%s %s: got %d, want %d", route.Method, route.Path, got, want)
		}
	}
}

func TestRolesContainEachOther(t *testing.T) {
	for _, tc := range []struct {
		has, need Role
		want      bool
	}{
		{Admin, Operate, true},
		{Admin, Worker, true},
		{Operate, Worker, true},
		{Operate, Admin, false},
		{Worker, Operate, false},
		{"", Worker, false},
		{"root", Worker, false},
	} {
		if got := tc.has.covers(tc.need); got != tc.want {
			t.Errorf("%q covers %q: got %v", tc.has, tc.need, got)
		}
	}
}

// still is a clock that stands.
type still struct{ ports.Clock }

func (still) Now() time.Time { return time.Time{} }

// knock calls a route whose handler was taken away, and answers the status.
func knock(s *Server, route Route, key string) int {
	route.handle = func(w http.ResponseWriter, _ bunrouter.Request, _ Principal) error {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	req := httptest.NewRequest(route.Method, "/", http.NoBody)
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	w := httptest.NewRecorder()
	if err := s.watched(route.Path, s.guarded(route))(w, bunrouter.NewRequest(req)); err != nil {
		return -1
	}
	return w.Code
}
