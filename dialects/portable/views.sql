-- name: instance_list
-- scope: fleet
SELECT i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, NULL, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at
FROM sutra_instance AS i
WHERE 1 = 1
AND i.id IN (SELECT a.instance FROM sutra_alias AS a WHERE a.alias_key = :alias?)
AND i.id < :after?
AND i.id >= :since_id?
AND i.id < :until_id?
ORDER BY i.id DESC
:page

-- name: instance_range
-- scope: fleet
SELECT i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, NULL, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at
FROM sutra_instance AS i :listing
WHERE 1 = 1
AND i.tenant = :tenant?
AND i.process = :process?
AND i.deployment = :deployment?
AND i.status = :status?
AND i.parent = :parent?
AND i.id < :after?
AND i.id >= :since_id?
AND i.id < :until_id?
ORDER BY i.id DESC :newest
:page

-- name: tenant_list
-- scope: fleet
SELECT DISTINCT d.tenant
FROM sutra_deployment AS d
ORDER BY d.tenant
:page

-- name: instance_living
SELECT count(*)
FROM (
SELECT i.id
FROM sutra_instance AS i
WHERE i.tenant = :tenant
AND i.status = :status
ORDER BY i.status
:page
) AS living

-- name: channel_living
SELECT count(*)
FROM (
SELECT i.id
FROM sutra_instance AS i
WHERE i.tenant = :tenant
AND i.channel = :channel
AND i.ended_at IS NULL
ORDER BY i.channel
:page
) AS living

-- name: instance_tenant
-- scope: fleet
-- rows: id uuid
SELECT i.tenant
FROM sutra_instance AS i
WHERE i.id IN :rows

-- name: wait_list
-- rows: instance uuid
SELECT w.wait_id, w.kind, w.node, w.name_key, w.due_at, w.armed_at, w.attempt_at, w.error, w.refused_at
FROM sutra_wait AS w
WHERE w.tenant = :tenant
AND w.instance IN :rows
ORDER BY w.wait_id

-- name: history_list
SELECT h.seq, h.at, h.step, h.document
FROM sutra_history AS h
WHERE h.tenant = :tenant
AND h.instance = :instance
AND h.seq > :after
ORDER BY h.seq
:page

-- name: backlog
-- scope: fleet
SELECT x.n, o.n, w.n, t.n, c.n, x.oldest, o.oldest, w.oldest, t.oldest, c.oldest, poisoned.n, dead.n, ended.n, i.failed, i.suspended
FROM (SELECT count(*) AS n, min(accepted_at) AS oldest FROM sutra_inbox WHERE state = 'pending' AND next_attempt_at <= :now) AS x
CROSS JOIN (SELECT count(*) AS n, min(created_at) AS oldest FROM sutra_outbox WHERE poisoned = 0 AND next_attempt_at <= :now) AS o
CROSS JOIN (SELECT count(*) AS n, min(due_at) AS oldest FROM sutra_wait WHERE attempt_at <= :now) AS w
CROSS JOIN (SELECT count(*) AS n, min(created_at) AS oldest FROM sutra_task WHERE terminal = 0 AND lock_until <= :now) AS t
CROSS JOIN (SELECT count(*) AS n, min(claimed_at) AS oldest FROM sutra_instance WHERE claimed_at IS NOT NULL) AS c
CROSS JOIN (SELECT count(*) AS n FROM sutra_outbox WHERE poisoned = 1) AS poisoned
CROSS JOIN (SELECT count(*) AS n FROM sutra_inbox WHERE state = 'dead') AS dead
CROSS JOIN (SELECT count(*) AS n FROM sutra_task WHERE terminal = 1) AS ended
CROSS JOIN (SELECT count(CASE WHEN status = 'failed' THEN 1 END) AS failed, count(CASE WHEN status = 'suspended' THEN 1 END) AS suspended FROM sutra_instance WHERE ended_at IS NULL) AS i
