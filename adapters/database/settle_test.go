package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// scripted is a group whose writes are answered by a script, to see what settle makes of trouble.
type scripted struct {
	n      int
	write  func(try int, open []int) error
	ask    func(open []int, out []ports.Answer) error
	writes [][]int
	asks   int
}

func (s *scripted) settle(t *testing.T) []ports.Answer {
	t.Helper()
	var out []ports.Answer
	synctest.Test(t, func(t *testing.T) {
		store := &Store{book: book{watch: ports.Blind{}}, patience: time.Minute}
		out = store.settle(t.Context(), group{
			n:      s.n,
			tenant: func(int) string { return "t" },
			keys:   func(i int) []string { return []string{fmt.Sprintf("%04d", i)} },
			size:   func(int) int { return 1 },
			write: func(_ context.Context, _ string, open []int) error {
				s.writes = append(s.writes, slices.Clone(open))
				return s.write(len(s.writes), open)
			},
			ask: func(_ context.Context, _ string, open []int, out []ports.Answer) error {
				s.asks++
				if s.ask == nil {
					return nil
				}
				return s.ask(open, out)
			},
		})
	})
	return out
}

func failing(class dialects.Class, uncertain bool) error {
	return &trouble{class: class, uncertain: uncertain, err: errors.New("made up")}
}

func TestUncertainCommitIsAskedAndThenSentAgain(t *testing.T) {
	landed := false
	s := &scripted{n: 2, write: func(try int, _ []int) error {
		if try == 1 {
			return failing(dialects.Lost, true)
		}
		return nil
	}, ask: func(_ []int, out []ports.Answer) error {
		if landed {
			out[0].Outcome, out[1].Outcome = ports.Done, ports.Done
		}
		return nil
	}}
	out := s.settle(t)
	if out[0].Outcome != ports.Done || len(s.writes) != 2 || s.asks != 1 {
		t.Errorf("a commit that was lost: got %+v after %d writes and %d asks, want done after 2 and 1", out, len(s.writes), s.asks)
	}
	landed, s.writes, s.asks = true, nil, 0
	out = s.settle(t)
	if out[1].Outcome != ports.Done || len(s.writes) != 1 || s.asks != 1 {
		t.Errorf("a commit that had landed: got %+v after %d writes and %d asks, want done after 1 and 1", out, len(s.writes), s.asks)
	}
}

func TestUncertainReachesTheCallerWhenNobodyCanBeAsked(t *testing.T) {
	s := &scripted{
		n: 4, write: func(int, []int) error { return failing(dialects.Lost, true) },
		ask: func([]int, []ports.Answer) error { return failing(dialects.Lost, false) },
	}
	for i, a := range s.settle(t) {
		if !errors.Is(a.Err, fault.StoreUncertain) {
			t.Errorf("element %d: got %+v, want %s", i, a, fault.StoreUncertain)
		}
	}
	if len(s.writes) != 1 {
		t.Errorf("%d writes, want 1: what may have happened is not sent again unasked", len(s.writes))
	}
}

func TestConflictIsRetriedFiveTimes(t *testing.T) {
	s := &scripted{n: 64, write: func(int, []int) error { return failing(dialects.Conflict, false) }}
	for i, a := range s.settle(t) {
		if !errors.Is(a.Err, fault.StoreUnavailable) {
			t.Fatalf("element %d: got %+v, want %s", i, a, fault.StoreUnavailable)
		}
	}
	if len(s.writes) != maxTries || s.asks != 0 {
		t.Errorf("%d writes and %d asks, want %d and none: what passes is not halved", len(s.writes), s.asks, maxTries)
	}
}

func TestTroubleIsHalvedUntilItStandsAlone(t *testing.T) {
	s := &scripted{n: 64, write: func(_ int, open []int) error {
		if slices.Contains(open, 41) {
			return failing(dialects.TooLong, false)
		}
		return nil
	}}
	for i, a := range s.settle(t) {
		if i == 41 && !errors.Is(a.Err, fault.StoreTooLarge) || i != 41 && a.Outcome != ports.Done {
			t.Errorf("element %d: got %+v", i, a)
		}
	}
	if len(s.writes) > 16 {
		t.Errorf("%d writes to find one element of 64", len(s.writes))
	}
}

func TestGroupsAreCutByTenantSizeAndCount(t *testing.T) {
	tenants := []string{"b", "a", "b", "a"}
	sizes := []int{10, maxBytes, 20, 1}
	g := group{
		n: 4, tenant: func(i int) string { return tenants[i] }, size: func(i int) int { return sizes[i] },
		keys: func(i int) []string { return []string{fmt.Sprint(9 - i)} },
	}
	if got, want := fmt.Sprint(g.cut([]int{0, 1, 2, 3})), "[[3] [1] [2 0]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	g.keys = func(i int) []string { return []string{fmt.Sprint(i), fmt.Sprint("shared ", i/2)} }
	now, later := g.split([]int{3, 2, 1, 0})
	if got, want := fmt.Sprint(now, later), "[0 2] [1 3]"; got != want {
		t.Errorf("elements that share a key: got %s, want %s", got, want)
	}
}

func TestWaryGroupsAskFirst(t *testing.T) {
	store := &Store{book: book{watch: ports.Blind{}}, patience: time.Minute}
	asked, wrote := 0, 0
	one := func() {
		store.settle(t.Context(), group{
			n: 1, tenant: func(int) string { return "t" }, keys: func(int) []string { return []string{"k"} }, size: func(int) int { return 1 },
			write: func(context.Context, string, []int) error { wrote++; return failing(dialects.Duplicate, false) },
			ask: func(_ context.Context, _ string, _ []int, out []ports.Answer) error {
				asked++
				out[0].Outcome = ports.Duplicate
				return nil
			},
		})
	}
	for range wariness + 2 {
		one()
	}
	if wrote != 1 || asked != wariness+2 {
		t.Errorf("got %d writes and %d asks, want 1 and %d", wrote, asked, wariness+2)
	}
	store.bold = true
	store.wary.Store(0)
	wrote = 0
	one()
	one()
	if wrote != 2 {
		t.Errorf("a bold store wrote %d times, want 2", wrote)
	}
}

// cut is a runner whose first try ends in the middle.
type cut struct {
	runner
	tries int
	after int // rows that the first try tells, or hits
}

func (c *cut) try(o op) error {
	c.tries++
	n := 3
	if c.tries == 1 {
		n = c.after
	}
	for range n {
		if o.hits != nil {
			*o.hits++
		}
		if o.scan != nil {
			if err := o.scan(nil); err != nil {
				return err
			}
		}
	}
	if c.tries == 1 {
		return failing(dialects.Lost, false)
	}
	return nil
}

func (c *cut) read(_ context.Context, _ string, ops []op) error { return c.try(ops[0]) }
func (c *cut) write(_ context.Context, t tx) error              { return c.try(t.ops[0]) }

func TestNoRowIsReadTwice(t *testing.T) {
	for after, want := range map[int]struct {
		rows, tries int
		err         error
	}{0: {3, 2, nil}, 2: {2, 1, fault.StoreUnavailable}} {
		synctest.Test(t, func(t *testing.T) {
			c, rows := &cut{after: after}, 0
			s := &Store{book: book{watch: ports.Blind{}}, run: c}
			err := s.read(t.Context(), "t", op{scan: func(row) error { rows++; return nil }})
			if rows != want.rows || c.tries != want.tries || !errors.Is(err, want.err) {
				t.Errorf("cut after %d rows: got %d rows in %d tries, %v; want %+v", after, rows, c.tries, err, want)
			}
		})
	}
}

func TestATryThatWasRolledBackHasHitNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hits := &Store{book: book{watch: ports.Blind{}}, run: &cut{after: 2}}, 0
		if err := s.write(t.Context(), "t", op{hits: &hits}); err != nil || hits != 3 {
			t.Errorf("got %d hits, %v; want 3", hits, err)
		}
	})
}
