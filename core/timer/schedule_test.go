package timer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sutra-engine/sutra/core/bpmn"
	"github.com/sutra-engine/sutra/core/timer"
	"github.com/sutra-engine/sutra/ports"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func cycle(text string) *bpmn.TimerSpec { return &bpmn.TimerSpec{Cycle: &bpmn.Text{Literal: text}} }

func TestFirstFire(t *testing.T) {
	now := at("2026-01-31T10:00:00Z")
	for name, tc := range map[string]struct {
		spec  *bpmn.TimerSpec
		due   time.Time
		left  int
		armed bool
	}{
		"a date":                        {&bpmn.TimerSpec{Date: &bpmn.Text{Literal: "2026-02-01T00:00:00Z"}}, at("2026-02-01T00:00:00Z"), 1, true},
		"a date without zone is UTC":    {&bpmn.TimerSpec{Date: &bpmn.Text{Literal: "2026-02-01T00:00:00"}}, at("2026-02-01T00:00:00Z"), 1, true},
		"a date that passed":            {&bpmn.TimerSpec{Date: &bpmn.Text{Literal: "2025-01-01T00:00:00Z"}}, at("2025-01-01T00:00:00Z"), 1, false},
		"a duration":                    {&bpmn.TimerSpec{Duration: &bpmn.Text{Literal: "PT1H"}}, at("2026-01-31T11:00:00Z"), 1, true},
		"a calendar duration":           {&bpmn.TimerSpec{Duration: &bpmn.Text{Literal: "P1M"}}, at("2026-02-28T10:00:00Z"), 1, true},
		"a cycle":                       {cycle("R3/PT10M"), at("2026-01-31T10:10:00Z"), 3, true},
		"a cycle without end":           {cycle("R/PT10M"), at("2026-01-31T10:10:00Z"), -1, true},
		"a cycle of no repeats":         {cycle("R0/PT10M"), time.Time{}, 0, false},
		"a cycle with a start to come":  {cycle("R2/2026-02-01T00:00:00Z/P1D"), at("2026-02-01T00:00:00Z"), 2, true},
		"a cycle with a start long ago": {cycle("R/2026-01-01T09:00:00Z/P1D"), at("2026-02-01T09:00:00Z"), -1, true},
		"a cycle that is over":          {cycle("R2/2026-01-01T09:00:00Z/P1D"), time.Time{}, 0, false},
		"a cycle with an end":           {cycle("R/P1D/2026-02-03T09:00:00Z"), at("2026-02-01T09:00:00Z"), 3, true},
		"a cycle whose end has passed":  {cycle("R/P1D/2026-01-31T10:00:00Z"), time.Time{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			due, left, armed, err := timer.First(tc.spec, now)
			if err != nil || !due.Equal(tc.due) || left != tc.left || armed != tc.armed {
				t.Fatalf("got %v %d %v %v, want %v %d %v", due, left, armed, err, tc.due, tc.left, tc.armed)
			}
		})
	}
}

// TestCycleDoesNotDrift: fires are counted from the anchor, also when each comes late.
func TestCycleDoesNotDrift(t *testing.T) {
	anchor := at("2026-01-31T10:00:00Z")
	s := ports.Schedule{Due: anchor, Anchor: anchor, Left: -1}
	for _, want := range []string{"2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-31T10:00:00Z"} {
		next, left, err := timer.Next(cycle("R/P1M"), s, s.Due.Add(17*time.Second))
		if err != nil || left != -1 || !next.Equal(at(want)) {
			t.Fatalf("after %v: got %v %d %v, want %s", s.Due, next, left, err, want)
		}
		s.Due = next
	}
}

// TestMissedFiresAreMadeUpByOne: after a night without a replica there is one fire, and the repeats that passed are gone.
func TestMissedFiresAreMadeUpByOne(t *testing.T) {
	anchor := at("2026-01-01T00:00:00Z")
	for _, tc := range []struct {
		left, want int
		now        string
		next       string
	}{
		{-1, -1, "2026-01-01T08:05:00Z", "2026-01-01T08:10:00Z"},
		{100, 51, "2026-01-01T08:05:00Z", "2026-01-01T08:10:00Z"},
		{10, 0, "2026-01-01T08:05:00Z", ""},
		{2, 1, "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"},
		{1, 0, "2026-01-01T00:00:00Z", ""},
	} {
		next, left, err := timer.Next(cycle("R100/PT10M"), ports.Schedule{Due: anchor, Anchor: anchor, Left: tc.left}, at(tc.now))
		want := time.Time{}
		if tc.next != "" {
			want = at(tc.next)
		}
		if err != nil || left != tc.want || !next.Equal(want) {
			t.Errorf("%d left at %s: got %v %d %v, want %v %d", tc.left, tc.now, next, left, err, want, tc.want)
		}
	}
}

// TestAnchoredCyclesEndWithTheirInterval: fires are counted from the start or the end that the model gives.
func TestAnchoredCyclesEndWithTheirInterval(t *testing.T) {
	for _, text := range []string{"R3/2026-02-01T09:00:00Z/P1D", "R/P1D/2026-02-03T09:00:00Z"} {
		due, left, armed, err := timer.First(cycle(text), at("2026-01-31T10:00:00Z"))
		var fired []string
		for armed && err == nil && left != 0 && len(fired) < 5 {
			fired = append(fired, due.Format("02"))
			due, left, err = timer.Next(cycle(text), ports.Schedule{Due: due, Anchor: due, Left: left}, due.Add(time.Second))
		}
		if got := strings.Join(fired, " "); err != nil || got != "01 02 03" {
			t.Errorf("%s fired on %s, %v", text, got, err)
		}
	}
}

func TestWhatIsNoCycleFiresOnce(t *testing.T) {
	next, left, err := timer.Next(&bpmn.TimerSpec{Duration: &bpmn.Text{Literal: "PT1H"}}, ports.Schedule{Left: 1}, at("2026-01-01T00:00:00Z"))
	if err != nil || left != 0 || !next.IsZero() {
		t.Fatalf("got %v %d %v, want nothing more", next, left, err)
	}
}

// TestCronStartsComeByTheirCalendar: missed ones are made up by one, and one of a year that ends comes no more.
func TestCronStartsComeByTheirCalendar(t *testing.T) {
	saturday := at("2026-01-31T10:00:00Z")
	weekdays := cycle("0 0 9 ? * MON-FRI")
	due, left, armed, err := timer.First(weekdays, saturday)
	if err != nil || left != -1 || !armed || !due.Equal(at("2026-02-02T09:00:00Z")) {
		t.Fatalf("got %v %d %v %v, want Monday at nine, without end", due, left, armed, err)
	}
	for now, want := range map[string]string{"2026-02-02T09:00:01Z": "2026-02-03T09:00:00Z", "2026-02-06T12:00:00Z": "2026-02-09T09:00:00Z"} {
		next, left, err := timer.Next(weekdays, ports.Schedule{Due: due, Anchor: due, Left: -1}, at(now))
		if err != nil || left != -1 || !next.Equal(at(want)) {
			t.Errorf("fired at %s: got %v %d %v, want %s", now, next, left, err, want)
		}
	}
	once := cycle("0 0 12 1 1 ? 2027")
	due = at("2027-01-01T12:00:00Z")
	if next, left, err := timer.Next(once, ports.Schedule{Due: due, Anchor: due, Left: -1}, due); err != nil || left != 0 || !next.IsZero() {
		t.Errorf("got %v %d %v, want nothing more", next, left, err)
	}
	if _, _, armed, err := timer.First(once, due); err != nil || armed {
		t.Errorf("armed %v, %v; want a schedule that is over", armed, err)
	}
}
