package scenario_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

const (
	ofBrokers = "sutra_broker_"              // begins the names of what is there only where a channel is at a broker
	leads     = "sutra_lease_attempts_total" // is there only where several replicas can be
)

// TestDashboardAndAlertsAskForWhatIsThere: after some work, one of it failed, a replica says everything that the dashboard and the
// alerts ask for, and its database's gauges are what the API lists.
func TestDashboardAndAlertsAskForWhatIsThere(t *testing.T) {
	f, replicas := parts(t, nil, "a")
	a := replicas[0]
	const number = 3
	failing(t, f, a, number)
	there := scraped(t, a)
	for name, by := range asked(t) {
		if *dialect == "sqlite" && name == leads {
			continue // one process, which leads without asking
		}
		if !strings.HasPrefix(name, ofBrokers) && !there[name] {
			t.Errorf("%s asks for %s, which %s does not say", by, name, a.Name)
		}
	}
	if n := a.Metric("sutra_stuck", `kind="instance-failed"`); n != number {
		t.Errorf("sutra_stuck: got %d failed instances, want %d", n, number)
	}
	if n := a.Metric("sutra_instances_started_total", ""); n != number {
		t.Errorf("sutra_instances_started_total: got %d, want %d", n, number)
	}
	if n := a.Metric("sutra_store_statements_total", `statement="instance_insert"`); n == 0 {
		t.Error("sutra_store_statements_total: the store counts nothing")
	}
	if n := a.Metric(leads, `outcome="leading"`); n == 0 && *dialect != "sqlite" {
		t.Errorf("%s: nobody leads", leads)
	}
}

func TestDashboardAndAlertsAskForWhatBrokersHave(t *testing.T) {
	onBrokers(t, condition{}, func(b brokered) {
		b.queues.Put("orders", ordersOf(1, 1)...)
		a := b.launch("a")
		b.deploy(a)
		wantEnded(b.T, b.fleet, a, 1)
		there, found := scraped(b.T, a), 0
		for name, by := range asked(b.T) {
			if !strings.HasPrefix(name, ofBrokers) {
				continue
			}
			found++
			if !there[name] {
				b.Errorf("%s asks for %s, which %s does not say", by, name, a.Name)
			}
		}
		if found == 0 {
			b.Error("nothing asks for a broker's figures: the search is broken")
		}
	})
}

// asked are the metrics that deploy/ asks for, each with the file that does.
func asked(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := regexp.MustCompile(`\b(?:sutra|go|process)_[a-z_]+`)
	for _, file := range []string{"grafana/sutra.json", "prometheus/rules.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names.FindAllString(string(text), -1) {
			all[name] = file
		}
	}
	if len(all) < 20 {
		t.Fatalf("got %v: the search is broken", slices.Sorted(maps.Keys(all)))
	}
	return all
}

// scraped are the names of the series that a replica says.
func scraped(t *testing.T, r *scenario.Replica) map[string]bool {
	t.Helper()
	a, err := r.Call(scenario.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("metrics of %s: got %d, %v", r.Name, a.Status, err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(a.Body)) {
		if !strings.HasPrefix(line, "#") {
			all[line[:strings.IndexAny(line, "{ ")]] = true
		}
	}
	return all
}
