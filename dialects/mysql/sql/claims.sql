-- name: instance_claim
-- No RETURNING here. Without the LIMIT the derived table is merged and waits; without the index a scan locks rows of others, which then look held.
UPDATE (
SELECT f.id
FROM sutra_instance AS f FORCE INDEX (PRIMARY)
WHERE f.tenant = :tenant
AND f.id IN :rows
AND (f.claim_owner IS NULL OR f.claim_owner = :owner OR f.claimed_at < :silent)
LIMIT 1000000
FOR UPDATE SKIP LOCKED
) AS free
STRAIGHT_JOIN sutra_instance AS i
SET i.claim_epoch = i.claim_epoch + 1, i.claim_owner = :owner, i.claimed_at = :now
WHERE i.id = free.id;
SELECT i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, i.snapshot, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at
FROM sutra_instance AS i FORCE INDEX (PRIMARY)
WHERE i.tenant = :tenant
AND i.id IN :rows
AND i.claim_owner = :owner
AND i.claimed_at = :now

-- name: instance_free
-- A plain UPDATE would wait for whoever has the row locked.
UPDATE (
SELECT f.id
FROM :rows AS r
STRAIGHT_JOIN sutra_instance AS f
WHERE f.id = r.id
AND f.tenant = :tenant?
AND f.claim_owner = r.owner
AND f.claim_epoch = r.epoch
AND f.claimed_at < :silent
LIMIT 1000000
FOR UPDATE SKIP LOCKED
) AS own
STRAIGHT_JOIN sutra_instance AS i
SET i.claim_owner = NULL, i.claimed_at = NULL
WHERE i.id = own.id
