// Package telemetry is the engine's ports.Watch over Prometheus, and the backlog of the database as gauges. It keeps no state of its own.
package telemetry

import (
	"context"
	"net/http"
	"slices"
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
	ports.Blind // spans are not recorded
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

// Backlog adds what waits in the database to every scrape. A database that does not answer in time leaves the gauges out.
func (m *Metrics) Backlog(views ports.Views, clock ports.Clock) {
	m.registry.MustRegister(backlog{views, clock})
}

type backlog struct {
	views ports.Views
	clock ports.Clock
}

var (
	waiting = prometheus.NewDesc("sutra_backlog", "Rows that are due and not done, by kind; claim: instances that somebody advances.", []string{"kind"}, nil)
	oldest  = prometheus.NewDesc("sutra_backlog_oldest_seconds", "Age of the oldest row that is due and not done, by kind.", []string{"kind"}, nil)
	stuck   = prometheus.NewDesc("sutra_stuck", "Rows that wait for an operator, by kind.", []string{"kind"}, nil)
	parked  = prometheus.NewDesc("sutra_instances_suspended", "Instances that wait.", nil, nil)
)

// Describe names the gauges.
func (backlog) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waiting, oldest, stuck, parked} {
		c <- d
	}
}

// Collect reads them with one query.
func (b backlog) Collect(c chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a collector is given no context
	defer cancel()
	now, err := b.views.Backlog(ctx)
	if err != nil {
		return
	}
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
			age = max(0, b.clock.Now().Sub(g.oldest).Seconds())
		}
		c <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(g.n), g.kind)
		c <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, age, g.kind)
	}
	for kind, n := range map[string]int64{
		"instance-failed": now.InstancesFailed, "outbox-poisoned": now.OutboxPoisoned, "inbox-dead": now.InboxDead, "task-terminal": now.TasksTerminal,
	} {
		c <- prometheus.MustNewConstMetric(stuck, prometheus.GaugeValue, float64(n), kind)
	}
	c <- prometheus.MustNewConstMetric(parked, prometheus.GaugeValue, float64(now.InstancesSuspended))
}
