-- name: version_bump
-- scope: fleet
-- expect: each
UPDATE sutra_version
SET version = version + 1
WHERE id = 1

-- name: version_read
-- scope: fleet
SELECT v.version
FROM sutra_version AS v
WHERE v.id = 1

-- name: deployment_lock
-- scope: fleet
-- rows: deployment text
SELECT d.id
FROM sutra_deployment AS d
WHERE d.id IN :rows
:lock

-- name: deployment_find
-- scope: fleet
-- rows: deployment text
SELECT d.id, d.tenant, d.module, d.version, d.number, d.phase, d.size, d.operation, d.since, d.dropped, d.activated_at, d.drained_at, d.retired_at
FROM sutra_deployment AS d
WHERE d.id IN :rows

-- name: deployment_slot
-- scope: fleet
SELECT d.id, d.tenant, d.module, d.version, d.number, d.phase, d.size, d.operation, d.since, d.dropped, d.activated_at, d.drained_at, d.retired_at
FROM sutra_deployment AS d
WHERE d.tenant = :tenant
AND d.module = :module
AND d.version = :version

-- name: deployment_insert
-- scope: fleet
INSERT INTO sutra_deployment (id, tenant, module, version, number, phase, size, operation, since, activated_at, dropped)
VALUES (:id, :tenant, :module, :version, :number, 'active', :size, :operation, :since, :now, 0)

-- name: deployment_activate
-- scope: fleet
-- expect: each
UPDATE sutra_deployment
SET phase = 'active', number = :number, operation = :operation, since = :since, activated_at = :now, drained_at = NULL, retired_at = NULL, dropped = 0
WHERE id = :id

-- name: deployment_drain
-- scope: fleet
-- rows: deployment text
UPDATE sutra_deployment
SET phase = 'draining', drained_at = :now, retired_at = NULL
WHERE id IN :rows

-- name: deployment_retire
-- scope: fleet
-- expect: each
UPDATE sutra_deployment
SET phase = 'retired', retired_at = :now
WHERE id = :id
AND phase = 'draining'

-- name: deployment_served
-- scope: fleet
SELECT v.version, d.id, d.tenant, d.module, d.version, d.number, d.phase, d.size, d.operation, d.since, d.dropped, d.activated_at, d.drained_at, d.retired_at
FROM sutra_version AS v
LEFT JOIN sutra_deployment AS d ON d.phase IN ('active', 'draining')
WHERE v.id = 1

-- name: deployment_list
-- scope: fleet
SELECT d.id, d.tenant, d.module, d.version, d.number, d.phase, d.size, d.operation, d.since, d.dropped, d.activated_at, d.drained_at, d.retired_at
FROM sutra_deployment AS d
WHERE 1 = 1
AND d.tenant = :tenant?
ORDER BY d.activated_at DESC, d.id

-- name: deployment_dropped
-- scope: fleet
-- rows: deployment text
UPDATE sutra_deployment
SET dropped = 1
WHERE id IN :rows

-- name: deployment_old
-- scope: fleet
SELECT d.id
FROM sutra_deployment AS d
WHERE d.phase = 'retired'
AND d.retired_at < :before
AND d.dropped = 0
ORDER BY d.retired_at, d.id
:page

-- name: archive_insert
-- scope: fleet
-- rows: owner text, chunk int, bytes bytes
INSERT INTO sutra_archive (owner, chunk, tenant, bytes)
SELECT r.owner, r.chunk, :tenant, r.bytes
FROM :rows AS r

-- name: archive_read
-- scope: fleet
SELECT a.bytes
FROM sutra_archive AS a
WHERE a.owner = :owner
ORDER BY a.chunk

-- name: archive_delete
-- scope: fleet
-- rows: owner text
DELETE FROM sutra_archive
WHERE owner IN :rows

-- name: door_insert
-- scope: fleet
-- rows: door bytes, deployment text, channel text, address text, channel_key bytes
INSERT INTO sutra_door (door_key, tenant, deployment, channel, address, channel_key)
SELECT r.door, :tenant, r.deployment, r.channel, r.address, r.channel_key
FROM :rows AS r

-- name: door_delete
-- scope: fleet
-- rows: deployment text
DELETE FROM sutra_door
WHERE deployment IN :rows

-- name: door_holder
-- scope: fleet
-- rows: door bytes
SELECT b.channel, b.address, d.tenant, d.module, d.version
FROM sutra_door AS b
JOIN sutra_deployment AS d ON d.id = b.deployment
WHERE b.door_key IN :rows

-- name: channel_holder
-- scope: fleet
-- rows: channel_key bytes
SELECT b.channel, b.address, d.tenant, d.module, d.version
FROM sutra_door AS b
JOIN sutra_deployment AS d ON d.id = b.deployment
WHERE b.channel_key IN :rows

-- name: schedule_of
-- scope: fleet
-- rows: deployment text
SELECT s.deployment, s.process, s.node, s.next_due_at, s.anchor_at, s.fires_left
FROM sutra_schedule AS s
WHERE s.deployment IN :rows

-- name: schedule_delete
-- scope: fleet
-- rows: deployment text
DELETE FROM sutra_schedule
WHERE deployment IN :rows

-- name: schedule_insert
-- scope: fleet
-- rows: deployment text, process text, node text, due instant, anchor instant, fires_left int
INSERT INTO sutra_schedule (deployment, process, node, tenant, next_due_at, anchor_at, fires_left)
SELECT r.deployment, r.process, r.node, :tenant, r.due, r.anchor, r.fires_left
FROM :rows AS r

-- name: schedule_fire
-- rows: deployment text, process text, node text, due instant, next instant, fires_left int
-- expect: each
UPDATE sutra_schedule AS s
SET next_due_at = r.next, fires_left = r.fires_left
FROM :rows AS r
WHERE s.tenant = :tenant
AND s.deployment = r.deployment
AND s.process = r.process
AND s.node = r.node
AND s.next_due_at = r.due

-- name: schedule_end
-- rows: deployment text, process text, node text, due instant
-- expect: each
DELETE FROM sutra_schedule AS s
USING :rows AS r
WHERE s.tenant = :tenant
AND s.deployment = r.deployment
AND s.process = r.process
AND s.node = r.node
AND s.next_due_at = r.due

-- name: schedule_state
-- rows: deployment text
SELECT s.deployment, s.process, s.node, s.next_due_at
FROM sutra_schedule AS s
WHERE s.tenant = :tenant
AND s.deployment IN :rows

-- name: count_instances
-- scope: fleet
-- rows: deployment text
SELECT i.deployment, count(*)
FROM sutra_instance AS i
WHERE i.deployment IN :rows
AND i.ended_at IS NULL
GROUP BY i.deployment

-- name: count_outbox
-- scope: fleet
-- rows: deployment text
SELECT o.deployment, count(*)
FROM sutra_outbox AS o
WHERE o.deployment IN :rows
AND o.poisoned = 0
GROUP BY o.deployment

-- name: count_tasks
-- scope: fleet
-- rows: deployment text
SELECT t.deployment, count(*)
FROM sutra_task AS t
WHERE t.deployment IN :rows
AND t.terminal = 0
GROUP BY t.deployment

-- name: example_instances
-- scope: fleet
SELECT i.id
FROM sutra_instance AS i
WHERE i.deployment = :deployment
AND i.ended_at IS NULL
ORDER BY i.deployment
:page

-- name: example_outbox
-- scope: fleet
SELECT o.id
FROM sutra_outbox AS o
WHERE o.deployment = :deployment
AND o.poisoned = 0
ORDER BY o.deployment
:page

-- name: example_tasks
-- scope: fleet
SELECT t.id
FROM sutra_task AS t
WHERE t.deployment = :deployment
AND t.terminal = 0
ORDER BY t.deployment
:page

-- name: replica_update
-- scope: fleet
-- rows: id text, seen instant, served int, broken text, lanes int, address text
UPDATE sutra_replica AS p
SET seen_at = r.seen, served = r.served, broken = r.broken, lanes = r.lanes, address = r.address
FROM :rows AS r
WHERE p.id = r.id

-- name: replica_insert
-- scope: fleet
-- rows: id text, started instant, seen instant, served int, broken text, lanes int, address text
INSERT INTO sutra_replica (id, started_at, seen_at, served, broken, lanes, address)
SELECT r.id, r.started, r.seen, r.served, r.broken, r.lanes, r.address
FROM :rows AS r

-- name: replica_delete
-- scope: fleet
-- rows: id text
DELETE FROM sutra_replica
WHERE id IN :rows

-- name: replica_forget
-- scope: fleet
DELETE FROM sutra_replica
WHERE seen_at < :before

-- name: replica_list
-- scope: fleet
SELECT p.id, p.started_at, p.seen_at, p.served, p.broken, p.lanes, p.address
FROM sutra_replica AS p
WHERE p.seen_at > :since
ORDER BY p.id

-- name: change_notify
-- scope: fleet
SELECT 1

-- name: deployment_revive
-- scope: fleet
-- expect: each
UPDATE sutra_deployment
SET phase = 'draining', since = :since, retired_at = NULL
WHERE id = :id
AND phase = 'retired'
AND dropped = 0
