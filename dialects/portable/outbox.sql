-- name: outbox_due
-- scope: fleet
SELECT o.tenant, o.id, o.deployment, o.instance, o.seq, o.destination, o.content_type, o.headers, o.body, o.wait_id, o.attempt, o.trace, o.attempts, o.claimed_by, o.claimed_at, o.created_at
FROM sutra_outbox AS o :skipping
WHERE o.poisoned = 0
AND o.next_attempt_at <= :now
AND (o.claimed_at IS NULL OR o.claimed_at < :stale)
ORDER BY o.next_attempt_at, o.id
:page
:skip

-- name: outbox_stamp
-- scope: fleet
-- rows: id uuid
-- expect: each
UPDATE sutra_outbox
SET claimed_by = :by, claimed_at = :now
WHERE id IN :rows
AND (claimed_at IS NULL OR claimed_at < :stale)

-- name: outbox_sent
-- rows: id uuid, by_whom text, at instant
-- expect: each
DELETE FROM sutra_outbox AS o
USING :rows AS r
WHERE o.tenant = :tenant
AND o.id = r.id
AND o.claimed_by = r.by_whom
AND o.claimed_at = r.at

-- name: outbox_later
-- rows: id uuid, by_whom text, at instant, next instant, tries int, error text
-- expect: each
UPDATE sutra_outbox AS o
SET next_attempt_at = r.next, attempts = o.attempts + r.tries, last_error = COALESCE(r.error, o.last_error), claimed_by = NULL, claimed_at = NULL
FROM :rows AS r
WHERE o.tenant = :tenant
AND o.id = r.id
AND o.claimed_by = r.by_whom
AND o.claimed_at = r.at

-- name: outbox_poison
-- rows: id uuid, by_whom text, at instant, error text
-- expect: each
UPDATE sutra_outbox AS o
SET poisoned = 1, attempts = o.attempts + 1, last_error = r.error, claimed_by = NULL, claimed_at = NULL
FROM :rows AS r
WHERE o.tenant = :tenant
AND o.id = r.id
AND o.claimed_by = r.by_whom
AND o.claimed_at = r.at

-- name: outbox_state
-- rows: id uuid
SELECT o.id, o.claimed_by, o.claimed_at, o.deployment, o.poisoned
FROM sutra_outbox AS o
WHERE o.tenant = :tenant
AND o.id IN :rows

-- name: outbox_free
-- scope: fleet
UPDATE sutra_outbox
SET claimed_by = NULL, claimed_at = NULL
WHERE poisoned = 0
AND claimed_by >= :low
AND claimed_by < :high

-- name: outbox_redrive
-- rows: id uuid
-- expect: each
UPDATE sutra_outbox
SET poisoned = 0, attempts = 0, next_attempt_at = :now, claimed_by = NULL, claimed_at = NULL
WHERE tenant = :tenant
AND poisoned = 1
AND id IN :rows

-- name: outbox_list
-- scope: fleet
SELECT o.tenant, o.id, o.deployment, o.instance, o.seq, o.destination, o.content_type, o.headers, o.body, o.wait_id, o.attempt, o.trace, o.attempts, o.claimed_by, o.claimed_at, o.created_at, o.next_attempt_at, o.last_error
FROM sutra_outbox AS o
WHERE o.poisoned = :poisoned
AND o.tenant = :tenant?
AND o.id > :after
ORDER BY o.id
:page
