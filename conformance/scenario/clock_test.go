package scenario_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/conformance/scenario"
)

// The leader's machine is ten minutes ahead, then behind: timers fire by the database's time, and ids that carry a time disturb no one.
func TestAClockThatIsTenMinutesOffFiresNothingEarlyOrLate(t *testing.T) {
	const number = 20
	if *dialect == "sqlite" {
		t.Skip("SQLite has no clock but the machine's (-dialect=postgres)")
	}
	t.Parallel()
	f := stage.Built(t, append([]string{"-tags=clockshift"}, buildFlags...)...).Fleet(t, scenario.Settings{"sutra.clock.shift": "0s"})
	asked := map[int]time.Time{}
	n := 0
	for _, shift := range []string{"10m", "-10m"} {
		wrong := f.Launch("wrong"+shift, scenario.Settings{"sutra.clock.shift": shift}).AwaitReady()
		if n == 0 {
			wrong.Deploy(parcels)
		}
		leader(t, f, wrong)
		right := f.Start("right" + shift)
		for range number {
			n++
			asked[n] = time.Now()
			armer, other := wrong, right
			if n%2 == 0 {
				armer, other = right, wrong
			}
			armer.MustSend(parcel(n))
			other.MustSend(arrival(n))
		}
		if holder, _ := leader(t, f, wrong, right); holder != wrong {
			t.Errorf("%s leads, want the replica whose clock is wrong", holder.Name)
		}
		wantEnded(t, f, right, n)
		wantShippedOnce(t, f, n)
		wrong.Stop()
		right.Stop()
	}
	const due, tolerance = time.Second, 50 * time.Millisecond // the round trip in which the clocks were compared bounds the error
	early, late := time.Hour, -time.Hour
	arrived := f.Receiver.Arrivals()
	for key, body := range f.Receiver.Bodies() {
		var o order
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		off := arrived[key].Sub(asked[o.Number]) - due
		early, late = min(early, off), max(late, off)
	}
	t.Logf("of %d timers of %v, the first arrived %v after it was due, and the last %v", n, due, early, late)
	if early < -tolerance || late > 15*time.Second {
		t.Errorf("got %v early and %v late; want at most %v early, and none minutes late", early, late, tolerance)
	}
}
