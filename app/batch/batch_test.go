package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sutra-engine/sutra/app/batch"
)

// doubling answers twice each question, a second a round, and notes the rounds.
type doubling struct {
	mu     sync.Mutex
	rounds [][]int
	fails  error
}

func (d *doubling) do(ctx context.Context, round []int) ([]int, error) {
	d.mu.Lock()
	d.rounds = append(d.rounds, slices.Clone(round))
	d.mu.Unlock()
	time.Sleep(time.Second)
	if err := errors.Join(ctx.Err(), d.fails); err != nil {
		return nil, err
	}
	out := make([]int, len(round))
	for i, q := range round {
		out[i] = 2 * q
	}
	return out, nil
}

// ask asks in order, a moment apart, and waits for all.
func ask(t *testing.T, b *batch.Batches[int, int], questions ...int) {
	t.Helper()
	var all sync.WaitGroup
	for _, q := range questions {
		all.Go(func() {
			if got, err := b.Ask(t.Context(), "k", q); err != nil || got != 2*q {
				t.Errorf("%d: got %d, %v; want %d", q, got, err, 2*q)
			}
		})
		time.Sleep(time.Millisecond)
	}
	all.Wait()
}

func (d *doubling) want(t *testing.T, rounds ...[]int) {
	t.Helper()
	if !slices.EqualFunc(d.rounds, rounds, slices.Equal) {
		t.Errorf("got rounds %v, want %v", d.rounds, rounds)
	}
}

func TestWhoComesMeanwhileIsInTheNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{}
		ask(t, &batch.Batches[int, int]{Do: d.do, Most: 3, Width: 1}, 1, 2, 3, 4, 5)
		d.want(t, []int{1}, []int{2, 3, 4}, []int{5})
	})
}

func TestAsManyRoundsAsAllowedGoOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, began := &doubling{}, time.Now()
		ask(t, &batch.Batches[int, int]{Do: d.do, Most: 9, Width: 2}, 1, 2, 3, 4)
		d.want(t, []int{1}, []int{2}, []int{3, 4})
		if took := time.Since(began); took > 2100*time.Millisecond {
			t.Errorf("took %v, want two rounds' time", took)
		}
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{}
		b := &batch.Batches[int, int]{Do: d.do, Most: 9, Width: 1}
		var all sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			all.Go(func() { _, _ = b.Ask(t.Context(), key, 1) })
		}
		all.Wait()
		d.want(t, []int{1}, []int{1})
	})
}

func TestAFailureIsEverybodysOfTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{fails: errors.New("away")}
		b := &batch.Batches[int, int]{Do: d.do, Most: 9, Width: 1}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := b.Ask(t.Context(), "k", 1); !errors.Is(err, d.fails) {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
	})
}

// Who leaves before its turn asks nothing, and takes nobody's turn away.
func TestLeavingHandsTheTurnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{}
		b := &batch.Batches[int, int]{Do: d.do, Most: 1, Width: 1}
		var all sync.WaitGroup
		all.Go(func() { ask(t, b, 1) })
		time.Sleep(time.Millisecond)
		for _, patience := range []time.Duration{500 * time.Millisecond, time.Second - time.Millisecond} { // gone before, and just when told
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, _ = b.Ask(ctx, "k", 7)
			})
		}
		time.Sleep(time.Millisecond)
		all.Go(func() { ask(t, b, 2) })
		all.Wait()
		if last := d.rounds[len(d.rounds)-1]; !slices.Equal(last, []int{2}) {
			t.Errorf("got rounds %v, want 2 asked in the end", d.rounds)
		}
	})
}

// Once asked, a question is answered, whoever makes the round.
func TestARoundOutlivesItsCallersContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{}
		b := &batch.Batches[int, int]{Do: d.do, Most: 9, Width: 1}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for q := range 3 {
			all.Go(func() {
				if got, err := b.Ask(ctx, "k", q); err != nil || got != 2*q {
					t.Errorf("%d: got %d, %v; want the answer", q, got, err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(1500 * time.Millisecond) // the second round is under way
		cancel()
		all.Wait()
		d.want(t, []int{0}, []int{1, 2})
	})
}

func TestEveryQuestionIsAnsweredOnceUnderMany(t *testing.T) {
	var asked atomic.Int64
	b := &batch.Batches[int, int]{Most: 8, Width: 2, Do: func(_ context.Context, round []int) ([]int, error) {
		asked.Add(int64(len(round)))
		return round, nil
	}}
	const callers, each = 32, 500
	var all sync.WaitGroup
	var gone atomic.Int64
	for c := range callers {
		all.Go(func() {
			for n := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if n%7 == 0 {
					time.AfterFunc(time.Microsecond, cancel)
				}
				q := c*each + n
				got, err := b.Ask(ctx, "k", q)
				switch {
				case err != nil:
					gone.Add(1)
				case got != q:
					t.Errorf("got %d, want %d", got, q)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != callers*each-gone.Load() {
		t.Errorf("asked %d times for %d questions, %d callers gone", n, callers*each, gone.Load())
	}
}

// TestARoundThatPanicsLeavesNobodyWaiting: whoever made it has the panic, those it would have served are told, and the next round begins.
func TestARoundThatPanicsLeavesNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doubling{}
		b := &batch.Batches[int, int]{Most: 8, Width: 1, Do: func(ctx context.Context, round []int) ([]int, error) {
			if slices.Contains(round, 13) {
				panic("13")
			}
			return d.do(ctx, round)
		}}
		var all sync.WaitGroup
		var panicked, told atomic.Int64
		for _, q := range []int{1, 13, 14} { // 13 makes the round after the first, and 14 is in it
			all.Go(func() {
				defer func() {
					if recover() != nil {
						panicked.Add(1)
					}
				}()
				if _, err := b.Ask(t.Context(), "k", q); err != nil {
					told.Add(1)
				}
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		if panicked.Load() != 1 || told.Load() != 1 {
			t.Errorf("%d panicked and %d were told; want one each", panicked.Load(), told.Load())
		}
		ask(t, b, 3)
	})
}
