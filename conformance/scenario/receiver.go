package scenario

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Receiver is a server that the engine emits to. It counts what arrives by idempotency key: one key is one emission, however often
// it was sent.
type Receiver struct {
	URL string

	mu     sync.Mutex
	counts map[string]int
	bodies map[string]string
	first  map[string]time.Time
	status int           // 0: 200
	delay  time.Duration // before an answer
}

// Receive starts a receiver. It ends with the test.
func Receive(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{counts: map[string]int{}, bodies: map[string]string{}, first: map[string]time.Time{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
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
	r.bodies[key] = string(body)
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
