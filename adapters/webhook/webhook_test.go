package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/adapters/webhook"
	"github.com/sutra-engine/sutra/core/callback"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

func TestStatusBecomesADisposition(t *testing.T) {
	for status, want := range map[int]fault.Disposition{
		200: "", 204: "", 301: fault.Reject, 400: fault.Reject, 404: fault.Reject, 408: fault.Redeliver, 429: fault.Redeliver, 500: fault.Redeliver, 503: fault.Redeliver,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
		}))
		_, err := webhook.New(time.Second, http.DefaultTransport).Send(t.Context(), ports.Emission{Destination: server.URL})
		server.Close()
		got := fault.Disposition("")
		if err != nil {
			got = fault.Of(err).Code.Disposition()
		}
		if got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}

func TestTheEmissionsIdIsTheIdempotencyKey(t *testing.T) {
	id := ports.ID{1, 2, 3}
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	_, err := webhook.New(time.Second, http.DefaultTransport).Send(t.Context(), ports.Emission{
		ID: id, Destination: server.URL, ContentType: "text/plain", Headers: []ports.Header{{Name: "X-One", Value: "1"}},
	})
	if err != nil || got.Get("Idempotency-Key") != id.String() || got.Get("X-One") != "1" || got.Get("Content-Type") != "text/plain" {
		t.Fatalf("got %v %v", got, err)
	}
}

func TestNoAnswerIsRedelivered(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	_, err := webhook.New(50*time.Millisecond, http.DefaultTransport).Send(t.Context(), ports.Emission{Destination: server.URL})
	if !errors.Is(err, fault.SendFailed) {
		t.Fatalf("got %v, want %s", err, fault.SendFailed)
	}
}

func TestCallbacksAreSignedAndStayOutside(t *testing.T) {
	at := time.Unix(1700000000, 0)
	var signature, body string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		signature, body = r.Header.Get("Sutra-Signature"), string(data)
	}))
	defer server.Close()
	e := ports.Emission{Destination: webhook.CallbackScheme + server.URL, Body: []byte(`{"a":1}`)}

	now := func() time.Time { return at }
	// The name is one that only its resolution leads inside.
	named := e
	named.Destination = strings.Replace(e.Destination, "127.0.0.1", "localhost", 1)
	for _, e := range []ports.Emission{e, named} {
		_, err := webhook.NewCallback(time.Second, "secret", callback.Rules{}.Allow, now).Send(t.Context(), e)
		if !errors.Is(err, fault.CallbackInvalid) || !strings.Contains(err.Error(), "an address inside") || body != "" {
			t.Fatalf("a callback to this machine: got %v, sent %q, want a refusal", err, body)
		}
	}
	if _, err := webhook.NewCallback(time.Second, "secret", callback.Rules{Private: true}.Allow, now).Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if want := "t=1700000000,v1=" + webhook.Sign([]byte("secret"), "1700000000", []byte(body)); signature != want {
		t.Fatalf("got %q, want %q", signature, want)
	}
}

// TestRedirectsAreNotFollowed: where the answer points, nobody is called.
func TestRedirectsAreNotFollowed(t *testing.T) {
	called := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer inside.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.RedirectHandler(inside.URL, status))
		_, err := webhook.NewCallback(time.Second, "", callback.Rules{Private: true}.Allow, time.Now).Send(t.Context(), ports.Emission{
			Destination: webhook.CallbackScheme + server.URL,
		})
		server.Close()
		if !errors.Is(err, fault.SendRefused) || called {
			t.Fatalf("%d: got %v, the target was called: %v; want it refused", status, err, called)
		}
	}
}

// TestALongAnswerIsCutOff: what a receiver answers costs no more than is read of it.
func TestALongAnswerIsCutOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 64 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}))
	defer server.Close()
	res, err := webhook.NewCallback(5*time.Second, "", callback.Rules{Private: true}.Allow, time.Now).Send(t.Context(), ports.Emission{
		Destination: webhook.CallbackScheme + server.URL,
	})
	if err != nil || len(res.Body) > 1<<20 {
		t.Fatalf("got %d bytes, %v; want at most 1 MiB", len(res.Body), err)
	}
}

// TestWhatHTTPCannotSayIsRefusedForGood: sent again it would be the same, for ever.
func TestWhatHTTPCannotSayIsRefusedForGood(t *testing.T) {
	for name, e := range map[string]ports.Emission{
		"a line break in a value": {Destination: "http://127.0.0.1:1/", Headers: []ports.Header{{Name: "X-One", Value: "a\nb"}}},
		"a blank in a name":       {Destination: "http://127.0.0.1:1/", Headers: []ports.Header{{Name: "X One", Value: "a"}}},
		"no host":                 {Destination: "http:///path"},
	} {
		if _, err := webhook.New(time.Second, http.DefaultTransport).Send(t.Context(), e); !errors.Is(err, fault.SendRefused) {
			t.Errorf("%s: got %v, want %s", name, err, fault.SendRefused)
		}
	}
}

// TestAnAnswerThatIsTooLongIsNotCutOff for a call, which would go on with half of it. Who does not wait for it does not care.
func TestAnAnswerThatIsTooLongIsNotCutOff(t *testing.T) {
	const most = 1 << 20
	size := most
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) }))
	defer server.Close()
	send := func(wait ports.WaitID) (ports.Response, error) {
		return webhook.New(10*time.Second, http.DefaultTransport).Send(t.Context(), ports.Emission{Destination: server.URL, Wait: wait})
	}
	if r, err := send(7); err != nil || len(r.Body) != most {
		t.Errorf("the longest: got %d bytes, %v", len(r.Body), err)
	}
	size++
	if r, err := send(7); !errors.Is(err, fault.SendRefused) {
		t.Errorf("one more: got %d bytes, %v; want %s", len(r.Body), err, fault.SendRefused)
	}
	if _, err := send(0); err != nil {
		t.Errorf("one more, and nobody waits: got %v", err)
	}
}
