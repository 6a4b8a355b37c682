package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/ports"
)

// partition hands the messages of one partition over, as they stand in it.
type partition struct {
	*member

	client *kgo.Client
	number int32
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing of it is in hand
	bell   chan struct{} // rung when there is more

	mu     sync.Mutex
	held   []*message // fetched, from the first that is not settled on
	begun  int        // of these, handed over
	paused bool       // it is fetched from no more
}

// message is a record and whether it is settled.
type message struct {
	*kgo.Record

	settled bool
}

// add takes what was fetched.
func (p *partition) add(records []*kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		p.held = append(p.held, &message{Record: r})
	}
	if len(p.held) >= p.span {
		p.paused = true
		p.client.PauseFetchPartitions(p.self())
	}
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

func (p *partition) self() map[string][]int32 { return map[string][]int32{p.topic: {p.number}} }

// run hands over until ctx ends, and waits for what it has handed over. Where the order counts, a message is settled before the next one is
// handed over.
func (p *partition) run(ctx context.Context) {
	defer close(p.done)
	var taking sync.WaitGroup
	defer taking.Wait()
	for m := p.next(ctx); m != nil; m = p.next(ctx) {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		settle := func() {
			defer func() { <-p.slots }()
			p.settle(ctx, m)
		}
		if p.queue.Ordered {
			settle()
		} else {
			taking.Go(settle)
		}
	}
}

// next waits for the next message; nil: ctx has ended.
func (p *partition) next(ctx context.Context) *message {
	for ctx.Err() == nil {
		if m := p.begin(); m != nil {
			return m
		}
		select {
		case <-p.bell:
		case <-ctx.Done():
		}
	}
	return nil
}

func (p *partition) begin() *message {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun == len(p.held) {
		return nil
	}
	p.begun++
	return p.held[p.begun-1]
}

// settle hands a message over until it is settled. One that cannot be taken now is kept here meanwhile: Kafka takes nothing back.
func (p *partition) settle(ctx context.Context, m *message) {
	for ctx.Err() == nil {
		ruling := p.take(incoming(m.Record))
		if ruling.Disposal != ports.Requeue {
			p.settled(m)
			return
		}
		pause(ctx, ruling.After)
	}
}

// settled notes it, and has committed what is settled without a gap.
func (p *partition) settled(m *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.settled = true
	n := 0
	for n < p.begun && p.held[n].settled {
		n++
	}
	if n > 0 {
		p.client.MarkCommitRecords(p.held[n-1].Record) // to no effect where the partition is another's by now
	}
	p.held, p.begun = p.held[n:], p.begun-n
	if p.paused && len(p.held) <= p.span/2 {
		p.paused = false
		p.client.ResumeFetchPartitions(p.self())
	}
}

func pause(ctx context.Context, span time.Duration) {
	t := time.NewTimer(span)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
