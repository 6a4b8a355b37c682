package scenario

import (
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Receiver is a server that the engine emits to. It counts what arrives by idempotency key: one key is one emission, however often
// it was sent.
type Receiver struct {
	URL string

	mu      sync.Mutex
	counts  map[string]int
	bodies  map[string]string
	headers map[string]http.Header
	first   map[string]time.Time
	status  int           // 0: 200
	delay   time.Duration // before an answer
}

// Receive starts a receiver. It ends with the test.
func Receive(t testing.TB) *Receiver {
	t.Helper()
	r := newReceiver()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func newReceiver() *Receiver {
	return &Receiver{
		counts: map[string]int{}, bodies: map[string]string{}, headers: map[string]http.Header{}, first: map[string]time.Time{},
	}
}

// Secure starts a receiver over TLS that the replicas which are started from now on trust. It ends with the test.
func (f *Fleet) Secure() *Receiver {
	f.t.Helper()
	r := newReceiver()
	server := httptest.NewTLSServer(r)
	f.t.Cleanup(server.Close)
	r.URL = server.URL
	f.trusted = filepath.Join(f.home, "trusted.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(f.trusted, certificate, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// ServeHTTP counts one delivery. A delivery that is answered with a failure counts as well: the engine cannot know that it arrived.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // broke off: nothing arrived
	}
	key := req.Header.Get("Idempotency-Key")
	r.mu.Lock()
	status, delay := r.status, r.delay
	r.counts[key]++
	r.bodies[key], r.headers[key] = string(body), req.Header.Clone()
	if r.counts[key] == 1 {
		r.first[key] = time.Now()
	}
	r.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	if status != 0 {
		w.WriteHeader(status)
	}
}

// Answer makes every later delivery end with a status, after a delay.
func (r *Receiver) Answer(status int, delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.delay = status, delay
}

// Deliveries are the keys that arrived, and how often each did.
func (r *Receiver) Deliveries() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Headers are what arrived last with each key.
func (r *Receiver) Headers() map[string]http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.headers)
}

// Arrivals are when each key arrived first.
func (r *Receiver) Arrivals() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.first)
}

// Bodies are what arrived last under each key.
func (r *Receiver) Bodies() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bodies)
}
