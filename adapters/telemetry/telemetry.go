// Package telemetry is the engine's ports.Watch: counters and durations for Prometheus, spans for OpenTelemetry. Nothing else knows either.
// It keeps no state of its own.
package telemetry

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sutra-engine/sutra/ports"
)

// buckets are the bounds of every duration, in seconds: from a cached read to a send that times out.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Metrics counts and measures what the table of figures names, and nothing else. It is made by New.
type Metrics struct {
	ports.Blind // spans are a Tracer's
	registry    *prometheus.Registry
	counters    map[string]*prometheus.CounterVec
	histograms  map[string]*prometheus.HistogramVec
}

// New makes a registry with the process's own figures in it, and those of the engine, at zero wherever their labels are known.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, f := range counters {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
		f.zero(func(values ...string) { c.WithLabelValues(values...) })
		m.registry.MustRegister(c)
		m.counters[f.name] = c
	}
	for _, f := range durations {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.name, Help: f.help, Buckets: buckets}, f.labels)
		f.zero(func(values ...string) { h.WithLabelValues(values...) })
		m.registry.MustRegister(h)
		m.histograms[f.name] = h
	}
	return m
}

// Count adds to a counter of the table. Labels come in the table's order.
func (m *Metrics) Count(name string, n int64, labels ...string) {
	if c := m.counters[name]; c != nil {
		c.WithLabelValues(values(labels)...).Add(float64(n))
	}
}

// Observe records a duration of the table. Labels come in the table's order.
func (m *Metrics) Observe(name string, d time.Duration, labels ...string) {
	if h := m.histograms[name]; h != nil {
		h.WithLabelValues(values(labels)...).Observe(d.Seconds())
	}
}

func values(labels []string) []string {
	var out []string
	for pair := range slices.Chunk(labels, 2) {
		out = append(out, pair[1])
	}
	return out
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Backlog adds what waits in the database to every scrape. A database that does not answer in time leaves the readings out.
func (m *Metrics) Backlog(views ports.Views, clock ports.Clock) {
	m.read(backlogs, func(say saying) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a collector is given no context
		defer cancel()
		if now, err := views.Backlog(ctx); err == nil {
			tell(now, clock.Now(), say)
		}
	})
}

func tell(now ports.Backlog, at time.Time, say saying) {
	for _, g := range []struct {
		kind   string
		n      int64
		oldest time.Time
	}{
		{"inbox", now.InboxDue, now.OldestInbox},
		{"outbox", now.OutboxDue, now.OldestOutbox},
		{"timer", now.TimersOverdue, now.OldestTimer},
		{"task", now.TasksFetchable, now.OldestTask},
		{"claim", now.ClaimsHeld, now.OldestClaim},
	} {
		age := 0.0
		if !g.oldest.IsZero() {
			age = max(0, at.Sub(g.oldest).Seconds())
		}
		say("sutra_backlog", float64(g.n), g.kind)
		say("sutra_backlog_oldest_seconds", age, g.kind)
	}
	say("sutra_stuck", float64(now.InstancesFailed), "instance-failed")
	say("sutra_stuck", float64(now.OutboxPoisoned), "outbox-poisoned")
	say("sutra_stuck", float64(now.InboxDead), "inbox-dead")
	say("sutra_stuck", float64(now.TasksTerminal), "task-terminal")
	say("sutra_instances_suspended", float64(now.InstancesSuspended))
}

// Pools adds how the database's connections stand to every scrape.
func (m *Metrics) Pools(pools func() []ports.Pool) {
	m.read(pooled, func(say saying) {
		for _, p := range pools() {
			say("sutra_pool_connections", float64(p.InUse), p.Name, "in-use")
			say("sutra_pool_connections", float64(p.Open-p.InUse), p.Name, "idle")
			say("sutra_pool_connections_max", float64(p.Max), p.Name)
			say("sutra_pool_waits_total", float64(p.Waits), p.Name)
			say("sutra_pool_wait_seconds_total", p.Waited.Seconds(), p.Name)
		}
	})
}

// Doors adds how many requests are being answered to every scrape.
func (m *Metrics) Doors(inFlight func() int64) {
	m.read(doors, func(say saying) { say("sutra_http_requests_in_flight", float64(inFlight())) })
}

// saying gives one reading: of a figure, with the values of its labels.
type saying func(name string, value float64, labels ...string)

// read adds figures that are read whenever a scrape asks for them.
func (m *Metrics) read(of []figure, read func(saying)) {
	r := readings{map[string]*prometheus.Desc{}, read}
	for _, f := range of {
		r.said[f.name] = prometheus.NewDesc(f.name, f.help, f.labels, nil)
	}
	m.registry.MustRegister(r)
}

type readings struct {
	said map[string]*prometheus.Desc
	read func(saying)
}

// Describe names the figures.
func (r readings) Describe(c chan<- *prometheus.Desc) {
	for _, d := range r.said {
		c <- d
	}
}

// Collect reads them.
func (r readings) Collect(c chan<- prometheus.Metric) {
	r.read(func(name string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		c <- prometheus.MustNewConstMetric(r.said[name], kind, value, labels...)
	})
}
