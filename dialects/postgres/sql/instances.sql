-- name: deployment_share
-- Row locks let new sharers past a waiting deploy, which then starves; this lock is fair.
SELECT pg_advisory_xact_lock_shared(hashtextextended('deployment/' || r.deployment, 0))
FROM :rows AS r

-- name: instance_claim
-- A plain UPDATE would wait for a rival's row lock, and two groups could deadlock.
WITH free AS MATERIALIZED (
SELECT c.id
FROM sutra_instance AS c
WHERE c.tenant = :tenant
AND c.id IN :rows
AND (c.claim_owner IS NULL OR c.claim_owner = :owner OR c.claimed_at < :silent)
FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE sutra_instance AS i
SET claim_epoch = i.claim_epoch + 1, claim_owner = :owner, claimed_at = :now
FROM free
WHERE i.id = free.id
RETURNING i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, i.snapshot, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at

-- name: instance_free
-- A plain UPDATE would wait for whoever has the row locked.
WITH own AS MATERIALIZED (
SELECT c.id
FROM :rows AS r
JOIN sutra_instance AS c ON c.id = r.id
WHERE c.claim_owner = r.owner
AND c.tenant = :tenant?
AND c.claim_epoch = r.epoch
AND c.claimed_at < :silent
FOR NO KEY UPDATE OF c SKIP LOCKED
)
UPDATE sutra_instance AS i
SET claim_owner = NULL, claimed_at = NULL
FROM own
WHERE i.id = own.id

-- name: lease_share
-- As deployment_share: the holder's own steps must not starve its renewal.
SELECT pg_advisory_xact_lock_shared(hashtextextended('lease/' || r.role, 0))
FROM :rows AS r

-- name: lease_lock
-- As lease_share, alone.
SELECT pg_advisory_xact_lock(hashtextextended('lease/' || r.role, 0))
FROM :rows AS r
