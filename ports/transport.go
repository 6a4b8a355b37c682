package ports

import (
	"context"
	"time"
)

// Queue is where the messages of one consumer wait at a broker.
type Queue struct {
	URL   string // of the broker, with what opens it: it stays out of errors and logs
	Path  string // what is there: a queue, stream/consumer, or topic/group
	Ahead int    // messages that may be unsettled at once; 1: one after the other, as they are queued
	Alone bool   // nobody else may consume from it meanwhile: refused while somebody does

	// Ordered: of the streams that the broker itself keeps apart, messages are handed over one after the other, as they stand in them.
	// Brokers with one stream have Ahead for that.
	Ordered bool
}

// Disposal is what a broker does with a message.
type Disposal string

// The disposals.
const (
	Acknowledge Disposal = "acknowledge" // it is durable: the broker forgets it
	Requeue     Disposal = "requeue"     // nothing was applied: again, after a while
	Refuse      Disposal = "refuse"      // never as it is: to the dead letters, if the broker has a place for them
)

// Ruling is what becomes of a message that was handed over.
type Ruling struct {
	Disposal Disposal
	After    time.Duration // Requeue: not before
}

// Broker takes messages from one kind of broker. It decides nothing, and declares nothing there: queues are the operator's.
type Broker interface {
	// Consume opens a queue, says so, and hands each message to take, which may be called for several at once. When ctx ends it takes
	// nothing more, and returns nil when what was handed over is settled. An error is trouble with the broker: what was not settled is
	// delivered again, and the caller opens the queue again.
	Consume(ctx context.Context, from Queue, opened func(), take func(Incoming) Ruling) error
}
