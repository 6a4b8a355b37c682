// Package batch does together what callers ask for at the same time: one round, one answer each. It knows nothing of what is asked.
package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Batches puts the questions of callers together, those of one key. Who finds fewer than Width rounds under way begins one at once, alone;
// who comes meanwhile is in the next. So nobody waits for company, and company makes itself when there is much to do. A round is made by
// one of the callers that it serves: there is nothing to start or to stop. The fields are set before the first Ask.
type Batches[Q, A any] struct {
	// Do answers a round in the order of its questions, or fails as a whole. Its context outlives that of any caller.
	Do    func(ctx context.Context, round []Q) ([]A, error)
	Most  int // questions of one round
	Width int // rounds of one key at once

	mu    sync.Mutex
	lines map[string]*line[Q, A] // those with a round under way
}

// line is what is asked under one key. Nobody waits while a round may begin.
type line[Q, A any] struct {
	rounds  int
	waiting []*seat[Q, A]
}

// seat is one caller's. Who waits is told once: to make the next round, or that the answer is here.
type seat[Q, A any] struct {
	question Q
	answer   A
	err      error
	leads    bool
	told     chan bool
}

// Ask answers one question. When ctx ends before its round begins, it was not asked; once it is asked, the answer is waited for.
func (b *Batches[Q, A]) Ask(ctx context.Context, key string, question Q) (A, error) {
	s := &seat[Q, A]{question: question, told: make(chan bool, 1)}
	leads := b.sit(key, s)
	if !leads {
		select {
		case leads = <-s.told:
		case <-ctx.Done():
			if b.leave(key, s) {
				return s.answer, ctx.Err()
			}
			<-s.told
		}
	}
	if leads {
		b.round(ctx, key, s)
	}
	return s.answer, s.err
}

// sit says whether s makes a round at once; else it waits.
func (b *Batches[Q, A]) sit(key string, s *seat[Q, A]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[key]
	if l == nil {
		if b.lines == nil {
			b.lines = map[string]*line[Q, A]{}
		}
		l = &line[Q, A]{}
		b.lines[key] = l
	}
	if l.rounds < b.Width {
		l.rounds++
		return true
	}
	l.waiting = append(l.waiting, s)
	return false
}

// leave gives up a seat, and the round that it may have been told to make. False: it is being answered.
func (b *Batches[Q, A]) leave(key string, s *seat[Q, A]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[key]
	if l == nil {
		return false
	}
	if at := slices.Index(l.waiting, s); at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
		return true
	}
	if s.leads {
		b.next(key)
	}
	return s.leads
}

// round serves its leader and those who wait.
func (b *Batches[Q, A]) round(ctx context.Context, key string, leader *seat[Q, A]) {
	seats := append([]*seat[Q, A]{leader}, b.company(key)...)
	questions := make([]Q, len(seats))
	for i, s := range seats {
		questions[i] = s.question
	}
	answers, err := []A(nil), errPanicked
	defer func() { b.end(key, seats, answers, err) }()
	answers, err = b.Do(context.WithoutCancel(ctx), questions)
}

// errPanicked is what those are told whose round panicked: whoever made it has the panic.
var errPanicked = errors.New("the round that this was asked in panicked")

// end gives the seats of a round their answers, the first of which has made it.
func (b *Batches[Q, A]) end(key string, seats []*seat[Q, A], answers []A, err error) {
	for i, s := range seats {
		if s.err = err; err == nil {
			s.answer = answers[i]
		}
		if i > 0 {
			s.told <- false
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next(key)
}

// company takes the seats of those who have waited longest.
func (b *Batches[Q, A]) company(key string) []*seat[Q, A] {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[key]
	n := min(b.Most-1, len(l.waiting))
	seats := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return seats
}

// next hands a round that is over on to whoever has waited longest.
func (b *Batches[Q, A]) next(key string) {
	l := b.lines[key]
	if len(l.waiting) > 0 {
		first := l.waiting[0]
		l.waiting = l.waiting[1:]
		first.leads = true
		first.told <- true
		return
	}
	if l.rounds--; l.rounds == 0 {
		delete(b.lines, key)
	}
}
