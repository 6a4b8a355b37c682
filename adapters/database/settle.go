package database

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sutra-engine/sutra/dialects"
	"github.com/sutra-engine/sutra/ports"
)

// The bounds of one transaction, and of what follows a surprise.
const (
	maxElements = 64
	maxBytes    = 256 << 10
	maxTries    = 5
	wariness    = 32
)

// group is a call's elements, as settle needs to know them.
type group struct {
	n      int
	tenant func(i int) string
	keys   func(i int) []string // what no two elements of one transaction may share; the first is the order of writing
	size   func(i int) int      // bytes, roughly
	// write makes the open elements durable: all, or none and an error. They come sorted by key.
	write func(ctx context.Context, tenant string, open []int) error
	// ask looks at what is committed and answers the open elements of which that tells the outcome.
	ask func(ctx context.Context, tenant string, open []int, out []ports.Answer) error
}

// settle makes a group durable and answers each element.
//
// Writing is strict: every row or none. When it fails, ask looks at what is committed and settles what can be told (done already,
// duplicate, lost …); the rest is written again. That one loop serves duplicates, lost claims, races and uncertain commits alike.
// What fails without a reason to be found is halved until the trouble stands alone. After a group that had to ask, the next ones ask
// first: that only saves work, the write alone refuses.
func (s *Store) settle(ctx context.Context, g group) []ports.Answer {
	out := make([]ports.Answer, g.n)
	open := make([]int, g.n)
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		now, later := g.split(open)
		for _, part := range g.cut(now) {
			s.part(ctx, g, part, out)
		}
		open = nil
		for _, part := range g.cut(later) {
			left, _ := s.ask(ctx, g, part, out) // when it cannot be asked, the write will tell
			open = append(open, left...)
		}
	}
	return out
}

// split keeps elements that share a key apart: the later ones of the group wait until the first is settled.
func (g group) split(open []int) (now, later []int) {
	slices.Sort(open)
	taken := map[string]bool{}
	for _, i := range open {
		keys := g.keys(i)
		if slices.ContainsFunc(keys, func(k string) bool { return taken[k] }) {
			later = append(later, i)
		} else {
			now = append(now, i)
		}
		for _, k := range keys {
			taken[k] = true
		}
	}
	return now, later
}

// cut makes transactions: one tenant each, sorted by key so that groups wait for each other and never deadlock, bounded.
func (g group) cut(open []int) [][]int {
	first := make(map[int]string, len(open))
	for _, i := range open {
		first[i] = g.keys(i)[0]
	}
	slices.SortFunc(open, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.tenant(a), g.tenant(b)), cmp.Compare(first[a], first[b]))
	})
	var out [][]int
	bytes := 0
	for _, i := range open {
		size := g.size(i)
		last := len(out) - 1
		if last < 0 || g.tenant(i) != g.tenant(out[last][0]) || len(out[last]) == maxElements || bytes+size > maxBytes {
			out, last, bytes = append(out, nil), last+1, 0
		}
		out[last], bytes = append(out[last], i), bytes+size
	}
	return out
}

// part settles one transaction's elements.
func (s *Store) part(ctx context.Context, g group, open []int, out []ports.Answer) {
	tenant := g.tenant(open[0])
	if s.wary.Add(-1) >= 0 {
		open, _ = s.ask(ctx, g, open, out)
	}
	var err error
	alone, stuck := false, false // the trouble is one element's; asking told nothing
	for try := 0; try < maxTries && len(open) > 0; try++ {
		s.retried(try)
		if err = g.write(ctx, tenant, open); err == nil {
			for _, i := range open {
				out[i].Outcome = ports.Done
			}
			return
		}
		class, uncertain := classOf(err)
		s.book.watch.Count("sutra_store_troubles_total", 1, "class", string(class))
		alone = !uncertain && (class == dialects.Other || class == dialects.Duplicate || class == dialects.Missed || class == dialects.TooLong)
		if again(err) && s.pause(ctx, try) == nil {
			continue
		}
		if !uncertain && !alone {
			break
		}
		left, asked := s.ask(ctx, g, open, out)
		if asked != nil {
			alone = false
			break
		}
		if len(left) == len(open) && !uncertain && (stuck || class == dialects.Other || class == dialects.TooLong) {
			break // asked twice, or beyond asking
		}
		stuck = len(left) == len(open)
		open = left
	}
	switch {
	case len(open) == 0:
	case alone && len(open) > 1:
		s.part(ctx, g, open[:len(open)/2], out)
		s.part(ctx, g, open[len(open)/2:], out)
	default:
		for _, i := range open {
			out[i].Err = coded(err)
		}
	}
}

// ask settles what the database can tell about, and answers what is still open. It asks even when the caller is gone: the answer
// decides whether a commit happened.
func (s *Store) ask(ctx context.Context, g group, open []int, out []ports.Answer) ([]int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	var err error
	for try := range maxTries {
		if err = g.ask(ctx, g.tenant(open[0]), open, out); err == nil || !again(err) || s.pause(ctx, try) != nil {
			break
		}
	}
	if err != nil {
		return open, err
	}
	left := slices.DeleteFunc(slices.Clone(open), func(i int) bool { return out[i].Outcome != ports.Unsettled })
	if len(left) < len(open) && !s.bold {
		s.wary.Store(wariness)
	}
	return left, nil
}

// repeat sends a transaction again while nothing of it was applied and the reason passes.
func (s *Store) repeat(ctx context.Context, transaction func() error) error {
	var err error
	for try := range maxTries {
		s.retried(try)
		if err = transaction(); err == nil || !again(err) || s.pause(ctx, try) != nil {
			break
		}
	}
	return err
}

// retried counts a transaction that is sent again.
func (s *Store) retried(try int) {
	if try > 0 {
		s.book.watch.Count("sutra_store_retries_total", 1)
	}
}

// pause waits 5 to 50 ms, with full jitter, longer after each try.
func (s *Store) pause(ctx context.Context, try int) error {
	return nap(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond<<min(try, 4)))
}
