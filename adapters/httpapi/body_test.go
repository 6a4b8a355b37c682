package httpapi

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/ports"
)

// pipes is a listener of connections within this process.
type pipes struct {
	net.Listener
	conns chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p.conns; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

// called is a server, and a connection to it.
func called(t *testing.T, d Deps) net.Conn {
	t.Helper()
	p := pipes{conns: make(chan net.Conn, 1)}
	s := New(d, p)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	client, server := net.Pipe()
	p.conns <- server
	t.Cleanup(func() {
		_ = client.Close()
		close(p.conns)
		<-ended
		_ = s.http.Close()
	})
	return client
}

// TestABodyThatStopsInTheMiddleIsGivenUp, whether the handler reads it or refuses before: its connection and all that is held for it are
// free again, and nothing was taken. How long answering takes is not bounded by it.
func TestABodyThatStopsInTheMiddleIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		want       int
	}{
		"a message":         {"/orders", "{", http.StatusBadRequest},
		"no credentials":    {"/sutra/signals/x", "{", http.StatusServiceUnavailable},
		"it is slow itself": {"/slow", "{}{}{}{}{", http.StatusAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := called(t, Deps{Intake: sleepyDoors{}, Log: slog.New(slog.DiscardHandler), Clock: still{}, Watch: ports.Blind{}})
				if _, err := io.WriteString(conn, "POST "+c.path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"+c.body); err != nil {
					t.Fatal(err)
				}
				if err := conn.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("no answer within an hour: %v", err)
				}
				defer res.Body.Close()
				if res.StatusCode != c.want {
					t.Errorf("got %s, want %d", res.Status, c.want)
				}
			})
		})
	}
}

// sleepyDoors have one that takes longer to answer than a caller may to ask.
type sleepyDoors struct{ doors }

func (d sleepyDoors) Enter(ctx context.Context, address string) (ports.Entrance, error) {
	if address == "http POST /slow" {
		return ports.Entrance{Channel: "slow", Limit: 10, Auth: ports.Auth{Scheme: "none"}}, nil
	}
	return d.doors.Enter(ctx, address)
}

func (d sleepyDoors) Take(ctx context.Context, in ports.Incoming) (ports.Receipt, error) {
	if in.Channel == "slow" {
		select {
		case <-ctx.Done():
			return ports.Receipt{}, ctx.Err()
		case <-time.After(2 * patience):
		}
	}
	return d.doors.Take(ctx, in)
}

// slowDoors hold every message until its caller hangs up.
type slowDoors struct{ doors }

func (slowDoors) Take(ctx context.Context, _ ports.Incoming) (ports.Receipt, error) {
	<-ctx.Done()
	return ports.Receipt{}, ctx.Err()
}

// TestACallerThatHangsUpIsNoTroubleOfOurs: neither is it logged as one, nor counted as one.
func TestACallerThatHangsUpIsNoTroubleOfOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := telemetry.New()
		conn := called(t, Deps{Intake: slowDoors{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: still{}, Watch: m})
		if _, err := io.WriteString(conn, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("the log says %s", &log)
		}
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		figures := w.Body.String()
		if !strings.Contains(figures, `sutra_http_requests_total{method="POST",route="channel order",status="4xx"} 1`) {
			t.Errorf("got\n%s", figures)
		}
	})
}

func TestADurationThatIsTooLongIsNotTakenForAShortOne(t *testing.T) {
	for _, n := range []int64{18446744073710, math.MaxInt64} {
		if got := milliseconds(n); got < 290*365*24*time.Hour {
			t.Errorf("%d ms: got %s", n, got)
		}
		if got := milliseconds(-n); got > -290*365*24*time.Hour {
			t.Errorf("%d ms: got %s", -n, got)
		}
	}
}
