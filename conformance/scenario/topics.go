package scenario

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sutra-engine/sutra/conformance/provision"
)

// topics is a corner of a Kafka broker: a topic for each queue, with a group of the same name.
type topics struct {
	broker  *provision.Broker
	prefix  string
	session time.Duration
}

// beating is an address with the time after which the broker gives away the partitions of a client that says nothing; 0: the usual one.
func (k *topics) beating(address string) string {
	if k.session == 0 {
		return address
	}
	return fmt.Sprintf("%s?session.timeout.ms=%d", address, k.session.Milliseconds())
}

func (k *topics) name(queue string) string { return k.prefix + "." + queue }

func (k *topics) words() *strings.Replacer {
	return strings.NewReplacer("transport: rabbitmq", "transport: kafka", "main/amq.direct/scenario.", "main/"+k.name(""),
		"main/scenario.orders", "main/"+k.name("orders")+"/"+k.name("orders"), "main/scenario.ticks", "main/"+k.name("ticks")+"/"+k.name("ticks"), "scenario.", k.name(""))
}

func (k *topics) declare(time.Duration) error {
	return k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) error {
		for queue, partitions := range map[string]int32{"orders": 4, "shipped": 4, "ticks": 4, "counted": 1} {
			if _, err := admin.CreateTopic(ctx, partitions, 1, nil, k.name(queue)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k *topics) put(queue string, messages []Sent) error {
	return k.with(func(ctx context.Context, client *kgo.Client, _ *kadm.Client) error {
		var records []*kgo.Record
		for _, m := range messages {
			r := &kgo.Record{Topic: k.name(queue), Key: []byte(cmp.Or(m.Key, m.Body)), Value: []byte(m.Body), Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(m.Kind)}}}
			if m.ID != "" {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "Idempotency-Key", Value: []byte(m.ID)})
			}
			records = append(records, r)
		}
		return client.ProduceSync(ctx, records...).FirstErr()
	})
}

// depth takes for a consumer who has something to consume from.
func (k *topics) depth(queue string) (messages, consumers int, err error) {
	err = k.with(func(ctx context.Context, _ *kgo.Client, admin *kadm.Client) error {
		ends, err := admin.ListEndOffsets(ctx, k.name(queue))
		if err != nil {
			return err
		}
		settled, err := admin.FetchOffsets(ctx, k.name(queue))
		if err != nil {
			return err
		}
		ends.Each(func(end kadm.ListedOffset) {
			at, _ := settled.Lookup(end.Topic, end.Partition)
			messages += int(end.Offset - max(at.At, 0))
		})
		groups, err := admin.DescribeGroups(ctx, k.name(queue))
		if err != nil {
			return err
		}
		for _, m := range groups[k.name(queue)].Members {
			if a, ok := m.Assigned.AsConsumer(); ok && len(a.Topics) > 0 {
				consumers++
			}
		}
		return nil
	})
	return messages, consumers, err
}

// with connects for one piece of work, which has to be done in time.
func (k *topics) with(work func(context.Context, *kgo.Client, *kadm.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := k.broker.Kafka(kgo.UnknownTopicRetries(-1)) // the broker hears of its own topics a little later
	if err != nil {
		return err
	}
	defer client.Close()
	return work(ctx, client, kadm.NewClient(client))
}

// take reads past every group, from the first message on.
func (k *topics) take(ctx context.Context, queue string, got func(Sent)) error {
	client, err := k.broker.Kafka(kgo.ConsumeTopics(k.name(queue)))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil { // the client finds its way back to a broker that was away
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			got(Sent{ID: headers["Idempotency-Key"], Kind: headers["content-type"], Body: string(r.Value), Headers: headers})
		})
	}
	return nil
}
