package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/adapters/system"
	"github.com/sutra-engine/sutra/ports"
)

// hand commits the rows that the engine commits, each operation as one pipelined transaction: what somebody would write who needs no
// engine. It claims and guards, as anybody has to who runs several processes.
type hand struct {
	pool *pgxpool.Pool
	ids  system.IDs
}

// What the engine writes for these loads, in bytes: measured once, so that both sides write alike.
var (
	handSnapshot = make([]byte, 260)
	handHistory  = make([]byte, 330)
	handReply    = make([]byte, 45)
	handPayload  = make([]byte, 180)
)

func newHand(b *testing.B, url string) *hand {
	b.Helper()
	if err := database.Migrate(b.Context(), database.Config{URL: url}); err != nil {
		b.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(b.Context()), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return &hand{pool: pool}
}

const (
	handEnter = `SELECT set_config('sutra.tenant', 'bench', true)`
	handInbox = `INSERT INTO sutra_inbox (event_key, tenant, channel, event_id, kind, state, instance, step, reply, attempts, accepted_at, done_at)
		VALUES ($1, 'bench', $2, $3, 'message', 'done', $4, $5, $6, 0, now(), now())`
	handKeep = `INSERT INTO sutra_inbox (event_key, tenant, channel, event_id, kind, state, deployment, payload, attempts, next_attempt_at, accepted_at)
		VALUES ($1, 'bench', 'persist', $2, 'message', 'pending', 'd', $3, 0, now() + interval '1 minute', now())`
	handKept = `WITH hit AS (UPDATE sutra_inbox SET state = 'done', payload = NULL, instance = $2, step = $3, next_attempt_at = NULL, done_at = now()
		WHERE event_key = $1 AND state = 'pending' RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM hit`
	handInstance = `INSERT INTO sutra_instance (id, tenant, deployment, module, process, channel, status, snapshot, claim_epoch, created_at, updated_at, ended_at)
		VALUES ($1, 'bench', 'd', 'bench', 'p', $2, $3, $4, 0, now(), now(), CASE WHEN $3 = 'completed' THEN now() END)`
	handHistoryInsert = `INSERT INTO sutra_history (instance, seq, tenant, at, step, document) VALUES ($1, $2, 'bench', now(), $3, $4)`
	handWait          = `INSERT INTO sutra_wait (instance, wait_id, tenant, kind, node, name_key, armed_at) VALUES ($1, 3, 'bench', 'message', 'w', $2, now())`
	handAlias         = `INSERT INTO sutra_alias (instance, wait_id, alias_key, tenant, module, name) VALUES ($1, 0, $2, 'bench', 'bench', 'order')`
	handFind          = `SELECT w.instance FROM sutra_alias AS a JOIN sutra_wait AS w ON w.instance = a.instance
		WHERE a.alias_key = $1 AND a.tenant = 'bench' AND w.name_key = $2 LIMIT 2`
	handClaim = `UPDATE sutra_instance SET claim_owner = 'h', claim_epoch = claim_epoch + 1, claimed_at = now()
		WHERE id = $1 AND claim_owner IS NULL RETURNING claim_epoch, snapshot`
	handCommit = `WITH hit AS (UPDATE sutra_instance SET status = 'completed', snapshot = $2, claim_owner = NULL, claimed_at = NULL, last_step = $3,
		updated_at = now(), ended_at = now() WHERE id = $1 AND claim_owner = 'h' AND claim_epoch = $4 RETURNING 1)
		SELECT 1 / (count(*) = 1)::int FROM hit`
)

var handWaitName = ports.NewKey("message", "relay")

func handKey(n int64) []byte { k := ports.NewKey("order", fmt.Sprint(n)); return k[:] }

func (h *hand) message(batch *pgx.Batch, channel string, n int64, instance, step ports.ID) {
	event := fmt.Sprintf("%s-%d", channel, n)
	key := ports.NewKey(tenant, channel, event)
	batch.Queue(handInbox, key[:], channel, []byte(event), instance, step, handReply)
}

func (h *hand) send(ctx context.Context, batch *pgx.Batch) error {
	return h.pool.SendBatch(ctx, batch).Close()
}

func (h *hand) start(ctx context.Context, n int64) error {
	id, step := h.ids.New(), h.ids.New()
	batch := &pgx.Batch{}
	batch.Queue(handEnter)
	h.message(batch, "start", n, id, step)
	batch.Queue(handInstance, id, "start", "completed", handSnapshot[:60])
	batch.Queue(handHistoryInsert, id, 1, step, handHistory)
	return h.send(ctx, batch)
}

// persist makes a message durable, and then starts the instance and marks the message done.
func (h *hand) persist(ctx context.Context, n int64) error {
	event := fmt.Sprintf("persist-%d", n)
	key := ports.NewKey(tenant, "persist", event)
	batch := &pgx.Batch{}
	batch.Queue(handEnter)
	batch.Queue(handKeep, key[:], []byte(event), handPayload)
	if err := h.send(ctx, batch); err != nil {
		return err
	}
	id, step := h.ids.New(), h.ids.New()
	batch = &pgx.Batch{}
	batch.Queue(handEnter)
	batch.Queue(handKept, key[:], id, step)
	batch.Queue(handInstance, id, "persist", "completed", handSnapshot[:60])
	batch.Queue(handHistoryInsert, id, 1, step, handHistory)
	return h.send(ctx, batch)
}

func (h *hand) park(ctx context.Context, n int64) error {
	id, step := h.ids.New(), h.ids.New()
	batch := &pgx.Batch{}
	batch.Queue(handEnter)
	h.message(batch, "park", n, id, step)
	batch.Queue(handInstance, id, "park", "suspended", handSnapshot)
	batch.Queue(handWait, id, handWaitName[:])
	batch.Queue(handAlias, id, handKey(n))
	batch.Queue(handHistoryInsert, id, 1, step, handHistory)
	return h.send(ctx, batch)
}

func (h *hand) relay(ctx context.Context, n int64) error {
	step := h.ids.New()
	var id ports.ID
	var epoch int64
	var snapshot []byte
	find := &pgx.Batch{}
	find.Queue(handEnter)
	find.Queue(handFind, handKey(n), handWaitName[:]).QueryRow(func(r pgx.Row) error { return r.Scan((*[16]byte)(&id)) })
	if err := h.send(ctx, find); err != nil {
		return err
	}
	claim := &pgx.Batch{}
	claim.Queue(handEnter)
	claim.Queue("SET LOCAL synchronous_commit = off")
	claim.Queue(handClaim, id).QueryRow(func(r pgx.Row) error { return r.Scan(&epoch, &snapshot) })
	if err := h.send(ctx, claim); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(handEnter)
	batch.Queue(handCommit, id, handSnapshot[:60], step, epoch)
	h.message(batch, "relay", n, id, step)
	batch.Queue(`DELETE FROM sutra_wait WHERE instance = $1`, id)
	batch.Queue(`DELETE FROM sutra_alias WHERE instance = $1`, id)
	batch.Queue(handHistoryInsert, id, 2, step, handHistory)
	return h.send(ctx, batch)
}
