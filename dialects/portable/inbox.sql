-- name: inbox_insert
-- rows: event bytes, channel text, event_id bytes, kind text, target uuid, wait int, source uuid, deployment text, name bytes, correlation bytes, stream text, position int, payload bytes, accepted instant, expires instant, next instant
INSERT INTO sutra_inbox (event_key, tenant, channel, event_id, kind, state, target, wait_id, source, deployment, name_key, correlation_key, stream, position, payload, attempts, accepted_at, expires_at, next_attempt_at)
SELECT r.event, :tenant, r.channel, r.event_id, r.kind, 'pending', r.target, r.wait, r.source, r.deployment, r.name, r.correlation, r.stream, r.position, r.payload, 0, r.accepted, r.expires, r.next
FROM :rows AS r

-- name: inbox_take
-- rows: event bytes, channel text, event_id bytes, kind text, instance uuid, step uuid, reply bytes
INSERT INTO sutra_inbox (event_key, tenant, channel, event_id, kind, state, instance, step, reply, attempts, accepted_at, done_at)
SELECT r.event, :tenant, r.channel, r.event_id, r.kind, 'done', r.instance, r.step, r.reply, 0, :now, :now
FROM :rows AS r

-- name: inbox_flip
-- rows: event bytes, instance uuid, step uuid, reply bytes
-- expect: each
UPDATE sutra_inbox AS x
SET state = 'done', instance = r.instance, step = r.step, reply = r.reply, payload = NULL, next_attempt_at = NULL, done_at = :now
FROM :rows AS r
WHERE x.tenant = :tenant
AND x.event_key = r.event
AND x.state = 'pending'

-- name: inbox_state
-- rows: event bytes
SELECT x.event_key, x.state, x.instance, x.step, x.cursor_at
FROM sutra_inbox AS x
WHERE x.tenant = :tenant
AND x.event_key IN :rows

-- name: inbox_reply
-- rows: event bytes, reply bytes
UPDATE sutra_inbox AS x
SET reply = r.reply
FROM :rows AS r
WHERE x.tenant = :tenant
AND x.event_key = r.event

-- name: inbox_bury
-- rows: event bytes
UPDATE sutra_inbox
SET state = 'dead', error = :why, next_attempt_at = NULL
WHERE tenant = :tenant
AND state = 'pending'
AND event_key IN :rows

-- name: inbox_finish
-- rows: event bytes
-- expect: each
UPDATE sutra_inbox
SET state = 'done', payload = NULL, next_attempt_at = NULL, done_at = :now
WHERE tenant = :tenant
AND state = 'pending'
AND event_key IN :rows

-- name: inbox_defer
-- rows: event bytes
UPDATE sutra_inbox
SET next_attempt_at = :until, attempts = attempts + 1, error = :why, refused_at = :now
WHERE tenant = :tenant
AND state = 'pending'
AND event_key IN :rows

-- name: inbox_forward
-- rows: event bytes, cursor_at bytes
-- expect: each
UPDATE sutra_inbox AS x
SET cursor_at = r.cursor_at, next_attempt_at = :now
FROM :rows AS r
WHERE x.tenant = :tenant
AND x.event_key = r.event
AND x.state = 'pending'

-- name: inbox_due
-- scope: fleet
SELECT x.tenant, x.event_key, x.channel, x.event_id, x.kind, x.target, x.wait_id, x.source, x.deployment, x.name_key, x.correlation_key, x.stream, x.position, x.cursor_at, x.payload, x.accepted_at, x.expires_at, x.attempts, x.next_attempt_at, x.error, x.refused_at
FROM sutra_inbox AS x :skipping
WHERE x.state = 'pending'
AND x.next_attempt_at < :before
AND (x.stream IS NULL OR NOT EXISTS (
SELECT 1
FROM sutra_inbox AS e
WHERE e.state = 'pending'
AND e.tenant = x.tenant
AND e.channel = x.channel
AND e.stream = x.stream
AND e.position < x.position))
ORDER BY x.next_attempt_at, x.event_key
:page
:skip

-- name: inbox_along
-- scope: fleet
-- rows: target uuid
SELECT x.tenant, x.event_key, x.channel, x.event_id, x.kind, x.target, x.wait_id, x.source, x.deployment, x.name_key, x.correlation_key, x.stream, x.position, x.cursor_at, x.payload, x.accepted_at, x.expires_at, x.attempts, x.next_attempt_at, x.error, x.refused_at
FROM sutra_inbox AS x :skipping
WHERE x.state = 'pending'
AND x.next_attempt_at < :before
AND x.target IN :rows
:skip

-- name: inbox_lease
-- scope: fleet
-- rows: event bytes
-- expect: each
UPDATE sutra_inbox
SET next_attempt_at = :until
WHERE event_key IN :rows
AND next_attempt_at < :before

-- name: inbox_of
-- rows: target uuid
SELECT x.tenant, x.event_key, x.channel, x.event_id, x.kind, x.target, x.wait_id, x.source, x.deployment, x.name_key, x.correlation_key, x.stream, x.position, x.cursor_at, x.payload, x.accepted_at, x.expires_at, x.attempts, x.next_attempt_at, x.error, x.refused_at
FROM sutra_inbox AS x
WHERE x.tenant = :tenant
AND x.state = 'pending'
AND x.target IN :rows

-- name: inbox_kept
-- rows: name bytes
SELECT x.tenant, x.event_key, x.channel, x.event_id, x.kind, x.target, x.wait_id, x.source, x.deployment, x.name_key, x.correlation_key, x.stream, x.position, x.cursor_at, x.payload, x.accepted_at, x.expires_at, x.attempts, x.next_attempt_at, x.error, x.refused_at
FROM sutra_inbox AS x
WHERE x.tenant = :tenant
AND x.state = 'pending'
AND x.target IS NULL
AND x.name_key IN :rows
ORDER BY x.accepted_at, x.event_key
:page

-- name: inbox_taken
-- rows: event bytes
SELECT x.tenant, x.channel, x.event_key, x.state, x.instance, x.reply, i.status, i.fault_code, i.fault_detail, i.fault_node, i.deployment
FROM sutra_inbox AS x
LEFT JOIN sutra_instance AS i ON i.id = x.instance
WHERE x.tenant = :tenant
AND x.event_key IN :rows

-- name: inbox_old
-- scope: fleet
SELECT x.event_key
FROM sutra_inbox AS x :skipping
WHERE x.state = 'done'
AND x.done_at < :before
ORDER BY x.done_at, x.event_key
:page
:skip

-- name: inbox_delete
-- scope: fleet
-- rows: event bytes
DELETE FROM sutra_inbox
WHERE event_key IN :rows
