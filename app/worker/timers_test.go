package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/app/converge"
	"github.com/sutra-engine/sutra/app/worker"
	"github.com/sutra-engine/sutra/ports"
)

// stuck are due schedules that nobody may start now.
type stuck struct {
	ports.Timers
	due    int
	widest int // the longest list that was read
}

func (s *stuck) Due(context.Context, time.Duration, int) ([]ports.Timer, error) { return nil, nil }

func (s *stuck) Schedules(_ context.Context, limit int) ([]ports.Schedule, error) {
	var out []ports.Schedule
	for i := range min(limit, s.due) {
		out = append(out, ports.Schedule{Deployment: ports.DeploymentID(fmt.Sprint(i))})
	}
	s.widest = max(s.widest, len(out))
	return out, nil
}

// A batch of schedules that cannot start now hides none behind them.
func TestSchedulesThatCannotStartHoldUpNoOther(t *testing.T) {
	s := &stuck{due: 25}
	w := worker.Timers{TimerDeps: worker.TimerDeps{Timers: s, Served: converge.New(converge.Deps{}), Batch: 10}}
	if err := w.Tick(t.Context()); err != nil || s.widest != s.due {
		t.Errorf("%d of %d due schedules were looked at (%v), want all", s.widest, s.due, err)
	}
}
