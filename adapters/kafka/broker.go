package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/ports"
)

const (
	commitEvery = 250 * time.Millisecond // how often the group is told how far it is
	fetchWait   = 500 * time.Millisecond // how long a broker may gather what is fetched
)

// Broker is a ports.Broker for Kafka. A queue's path is topic/group. A group that is new begins with the oldest message. What a partition
// has before its first unsettled message is committed, and nothing behind: what was in hand when a member dies comes again, to whoever
// has the partition then. Kafka has no dead letters: a refused message is passed over.
type Broker struct{}

// Consume takes messages as a member of the group until ctx ends, from as many partitions as the group leaves to it: perhaps none.
func (Broker) Consume(ctx context.Context, from ports.Queue, opened func(), take func(ports.Incoming) ports.Ruling) error {
	topic, group, _ := strings.Cut(from.Path, "/")
	at, err := read(from.URL)
	if err == nil {
		err = at.find(ctx, topic, group, from.Alone)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	m := &member{
		queue: from, topic: topic, take: take, slots: make(chan struct{}, from.Ahead), span: 4 * max(from.Ahead, 16), partitions: map[int32]*partition{},
	}
	joining, joined := context.WithCancel(ctx)
	defer joined()
	client, err := kgo.NewClient(at.with(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(at.session), kgo.HeartbeatInterval(at.session/4), kgo.FetchMaxWait(fetchWait),
		kgo.AutoCommitMarks(), kgo.AutoCommitInterval(commitEvery), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, added map[string][]int32) {
			m.assign(ctx, client, added[topic])
			joined()
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
			m.giveBack(ctx, client, revoked[topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { m.stop(lost[topic]) }),
	)...)
	if err != nil {
		return fmt.Errorf("begin with Kafka: %w", err)
	}
	defer leave(ctx, client)
	defer m.end()
	return m.poll(ctx, joining, client, opened)
}

// leave tells the group how far it is, and that this member is gone.
func leave(ctx context.Context, client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = client.LeaveGroupContext(ctx) // else the group finds out
	client.CloseAllowingRebalance()
}

// member is one membership of a group.
type member struct {
	queue ports.Queue
	topic string
	take  func(ports.Incoming) ports.Ruling
	slots chan struct{} // one for each message that is handed over and not settled
	span  int           // messages of a partition that are held here; beyond, it is fetched from no more

	mu         sync.Mutex
	partitions map[int32]*partition
	ended      bool
	running    sync.WaitGroup // partitions, those that were lost too
}

// poll fetches for the partitions until ctx ends, or the membership does. joining ends when the group has assigned something, were it
// nothing.
func (m *member) poll(ctx, joining context.Context, client *kgo.Client, opened func()) error {
	for polling := joining; ; {
		fetches := client.PollRecords(polling, m.span)
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if p := m.partition(f.Partition); p != nil {
				p.add(f.Records)
			}
		})
		client.AllowRebalance()
		if ctx.Err() != nil {
			return nil
		}
		for _, f := range fetches.Errors() {
			if !errors.Is(f.Err, context.Canceled) {
				return fmt.Errorf("consume from %s: %w", m.queue.Path, f.Err)
			}
		}
		if polling == joining && joining.Err() != nil {
			polling = ctx
			opened()
		}
	}
}

func (m *member) partition(number int32) *partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.partitions[number]
}

// assign begins with partitions. They end with ctx.
func (m *member) assign(ctx context.Context, client *kgo.Client, numbers []int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	client.ResumeFetchPartitions(map[string][]int32{m.topic: numbers}) // an earlier assignment may have ended while it was full
	for _, n := range numbers {
		p := &partition{member: m, client: client, number: n, done: make(chan struct{}), bell: make(chan struct{}, 1)}
		var working context.Context
		working, p.cancel = context.WithCancel(ctx)
		m.partitions[n] = p
		m.running.Go(func() { p.run(working) })
	}
}

// stop has partitions begin with nothing more.
func (m *member) stop(numbers []int32) []*partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stopped []*partition
	for _, n := range numbers {
		if p := m.partitions[n]; p != nil {
			p.cancel()
			delete(m.partitions, n)
			stopped = append(stopped, p)
		}
	}
	return stopped
}

// giveBack waits for what is in hand of partitions that go to another member, for a while, and says how far they are. The heart beats on
// meanwhile.
func (m *member) giveBack(ctx context.Context, client *kgo.Client, numbers []int32) {
	waiting, over := context.WithTimeout(ctx, patience)
	defer over()
	for _, p := range m.stop(numbers) {
		select {
		case <-p.done:
		case <-waiting.Done():
		}
	}
	telling, told := context.WithTimeout(ctx, goodbye)
	defer told()
	_ = client.CommitMarkedOffsets(telling) // else what is settled comes again, and is known
}

// end waits for all that was handed over.
func (m *member) end() {
	m.mu.Lock()
	m.ended = true
	for _, p := range m.partitions {
		p.cancel()
	}
	m.mu.Unlock()
	m.running.Wait()
}
