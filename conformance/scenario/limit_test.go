package scenario_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

// TestATenantAtItsLimitIsToldToComeAgain: two replicas hold a tenant to its instances; the one too many gets 429, writes nothing, and
// is let in when another has ended. A limit of another tenant is no limit of this one.
func TestATenantAtItsLimitIsToldToComeAgain(t *testing.T) {
	const most = 5
	f, replicas := parts(t, scenario.Settings{"sutra.tenant.max-instances": "5,acme-other=1", "sutra.tenant.start-rate": "0,acme=1000"}, "a", "b")
	a, b := replicas[0], replicas[1]
	a.Deploy(orders)
	for n := 1; n <= most; n++ {
		a.MustSend(start(n))
	}
	f.Eventually("the other replica knows of them", func() error {
		answer, err := b.Send(start(most + 1))
		if p := answer.Problem(); err != nil || answer.Status != http.StatusTooManyRequests || p.Code != "SUTRA.RUNTIME.START.TOO_MANY_INSTANCES" || !p.Retryable || answer.Header.Get("Retry-After") == "" {
			return fmt.Errorf("got %s, retry after %q, %w", answer, answer.Header.Get("Retry-After"), err)
		}
		return nil
	})
	if answer, err := a.Send(start(1)); err != nil || !answer.Duplicate() {
		t.Errorf("a duplicate at the limit: got %s, %v", answer, err)
	}
	metrics, err := b.Call(scenario.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil || !strings.Contains(string(metrics.Body), `sutra_starts_refused_total{limit="instances",tenant="acme"}`) {
		t.Errorf("the refusal is not counted: %v", err)
	}
	a.MustSend(decide(1))
	if answer, err := b.Insist(start(most + 1)); err != nil || !answer.Good() || answer.Duplicate() {
		t.Errorf("when there is room: got %s, %v; want it started, for the first time", answer, err)
	}
	for n := 2; n <= most+1; n++ {
		a.MustSend(decide(n))
	}
	wantEnded(t, f, a, most+1)
}
