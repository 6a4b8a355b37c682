// Package bench measures the engine beside a hand-written load that commits the same rows without it, in turns, in one run: on a
// machine that others use, the ratio is the figure.
package bench

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/app/replica"
	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/ports"
)

var (
	turns = flag.Int("turns", 5, "time slices of each load")
	slice = flag.Duration("slice", 2*time.Second, "length of a time slice")
	lanes = flag.Int("lanes", 0, "lanes of the engine; 0: its default for two cores")
)

const tenant = "bench"

// BenchmarkStartToEnd is one message that starts a process which ends at once: an inbox row, an instance, a history row, a reply.
func BenchmarkStartToEnd(b *testing.B) { compare(b, startToEnd) }

// BenchmarkParkAndRelay is a message that parks an instance, and one that finds it by its key and ends it.
func BenchmarkParkAndRelay(b *testing.B) { compare(b, parkAndRelay) }

// BenchmarkPersist is a message that is acknowledged when it is durable, and then starts a process which ends at once.
func BenchmarkPersist(b *testing.B) { compare(b, persist) }

// work is one kind of load, by the engine and by hand.
type work struct {
	engine func(ctx context.Context, in ports.Intake, n int64) error
	later  bool // the engine goes on after it has answered; the time of that counts too
	hand   func(ctx context.Context, h *hand, n int64) error
}

var startToEnd = work{
	engine: func(ctx context.Context, in ports.Intake, n int64) error { return take(ctx, in, "start", n) },
	hand:   func(ctx context.Context, h *hand, n int64) error { return h.start(ctx, n) },
}

var parkAndRelay = work{
	engine: func(ctx context.Context, in ports.Intake, n int64) error {
		if err := take(ctx, in, "park", n); err != nil {
			return err
		}
		return take(ctx, in, "relay", n)
	},
	hand: func(ctx context.Context, h *hand, n int64) error {
		if err := h.park(ctx, n); err != nil {
			return err
		}
		return h.relay(ctx, n)
	},
}

var persist = work{
	later:  true,
	engine: func(ctx context.Context, in ports.Intake, n int64) error { return take(ctx, in, "persist", n) },
	hand:   func(ctx context.Context, h *hand, n int64) error { return h.persist(ctx, n) },
}

func take(ctx context.Context, in ports.Intake, channel string, n int64) error {
	_, err := in.Take(ctx, ports.Incoming{
		Tenant: tenant, Channel: channel, EventID: fmt.Appendf(nil, "%s-%d", channel, n), ContentType: "application/json",
		Body: fmt.Appendf(nil, `{"order": %d, "amount": 120, "customer": "Ada Lovelace", "lines": [{"sku": "A-17", "count": 3}]}`, n),
	})
	return err
}

// compare runs both loads in turns at each number of callers, and reports medians and their ratio.
func compare(b *testing.B, w work) {
	b.Helper()
	server, err := provision.Start(b.Context(), "postgres", "")
	if err != nil {
		b.Skipf("it measures on PostgreSQL: %v", err)
	}
	b.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.Error(err)
		}
	})
	in, started := engine(b, server.Database(b))
	h := newHand(b, server.Database(b))
	var next atomic.Int64
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			var engines, hands, ratios []float64
			for range *turns {
				before := started()
				e := load(b, callers, func(ctx context.Context) error { return w.engine(ctx, in, next.Add(1)) }, func(done int64) bool {
					return !w.later || started()-before == done
				})
				m := load(b, callers, func(ctx context.Context) error { return w.hand(ctx, h, next.Add(1)) }, func(int64) bool { return true })
				engines, hands, ratios = append(engines, e), append(hands, m), append(ratios, e/m)
			}
			b.ReportMetric(median(engines), "engine/s")
			b.ReportMetric(median(hands), "hand/s")
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(0, "ns/op") // a slice is no operation
		})
	}
}

// load works for one slice, and until all of it is over, and answers operations per second.
func load(b *testing.B, callers int, work func(context.Context) error, over func(done int64) bool) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), *slice)
	defer cancel()
	var wg sync.WaitGroup
	var done atomic.Int64
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := work(context.WithoutCancel(ctx)); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	for !over(done.Load()) && !b.Failed() {
		time.Sleep(time.Millisecond)
	}
	return float64(done.Load()) / time.Since(began).Seconds()
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// starts counts the instances that a replica has started.
type starts struct {
	ports.Blind
	n atomic.Int64
}

func (s *starts) Count(name string, n int64, _ ...string) {
	if name == "sutra_instances_started_total" {
		s.n.Add(n)
	}
}

// engine runs a replica in this process and deploys the models of the loads. It answers how many instances it has started, too.
func engine(b *testing.B, url string) (in ports.Intake, started func() int64) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	c := database.Config{URL: url, MaxConns: 32, Log: log}
	if err := database.Migrate(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	store, err := database.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	config := replica.Default(2)
	if *lanes > 0 {
		config.Lanes = *lanes
	}
	config.Complete()
	watch := &starts{}
	r := replica.New(replica.Deps{
		Store: store, Config: config, Secrets: system.Secrets{}, IDs: &system.IDs{}, Now: system.Now, Watch: watch, Log: log, Name: "bench",
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, 5*time.Second) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	a, err := archive.Seal(models, archive.Default())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Deployer.Deploy(b.Context(), ports.Deploy{Archive: a.Bytes}); err != nil {
		b.Fatal(err)
	}
	return r.Intake, watch.n.Load
}

var models = fstest.MapFS{
	"package.yaml": {Data: []byte("labels: {tenant: bench, module: bench, version: '1'}\n")},
	"channels.yaml": {Data: []byte(`channels:
  - {name: start, transport: http, auth: {scheme: none}}
  - {name: park, transport: http, auth: {scheme: none}}
  - {name: relay, transport: http, auth: {scheme: none}}
  - {name: persist, transport: http, ack-mode: on-persist, auth: {scheme: none}}
`)},
	"bpmn/bench.bpmn": {Data: []byte(`<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0">
  <process id="start-to-end" isExecutable="true">
    <startEvent id="s"><extensionElements><q:source channel="start"/></extensionElements></startEvent>
    <sequenceFlow id="f" sourceRef="s" targetRef="e"/>
    <endEvent id="e"><extensionElements><q:reply contentType="application/json" body="{ok: true}"/></extensionElements></endEvent>
  </process>
  <process id="persist" isExecutable="true">
    <startEvent id="s1"><extensionElements><q:source channel="persist"/></extensionElements></startEvent>
    <sequenceFlow id="f0" sourceRef="s1" targetRef="e1"/>
    <endEvent id="e1"/>
  </process>
  <process id="park-and-relay" isExecutable="true">
    <startEvent id="s2"><extensionElements><q:source channel="park"/><q:alias name="order" expression="payload.order"/></extensionElements></startEvent>
    <sequenceFlow id="f1" sourceRef="s2" targetRef="t"/>
    <task id="t"><extensionElements><q:reply contentType="application/json" body="{ok: true}"/></extensionElements></task>
    <sequenceFlow id="f2" sourceRef="t" targetRef="w"/>
    <receiveTask id="w"><extensionElements><q:source channel="relay" name="answer"/><q:alias name="order" expression="answer.order"/></extensionElements></receiveTask>
    <sequenceFlow id="f3" sourceRef="w" targetRef="e2"/>
    <endEvent id="e2"><extensionElements><q:reply contentType="application/json" body="{ok: true}"/></extensionElements></endEvent>
  </process>
</definitions>`)},
}
