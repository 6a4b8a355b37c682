-- name: instance_claim
-- rows: id uuid
UPDATE sutra_instance
SET claim_epoch = claim_epoch + 1, claim_owner = :owner, claimed_at = :now
WHERE tenant = :tenant
AND id IN :rows
AND (claim_owner IS NULL OR claim_owner = :owner OR claimed_at < :silent)
RETURNING tenant, id, deployment, module, process, channel, parent, parent_wait, root, status, snapshot, fault_code, fault_detail, fault_node, claim_owner, claim_epoch, claimed_at, last_step, created_at, updated_at, ended_at

-- name: instance_beat
-- rows: id uuid, owner text, epoch int
-- expect: each
UPDATE sutra_instance AS i
SET claimed_at = :now
FROM :rows AS r
WHERE i.tenant = :tenant
AND i.id = r.id
AND i.claim_owner = r.owner
AND i.claim_epoch = r.epoch

-- name: instance_free
-- rows: id uuid, owner text, epoch int
UPDATE sutra_instance AS i
SET claim_owner = NULL, claimed_at = NULL
FROM :rows AS r
WHERE i.id = r.id
AND i.tenant = :tenant?
AND i.claim_owner = r.owner
AND i.claim_epoch = r.epoch
AND i.claimed_at < :silent

-- name: instance_silent
-- scope: fleet
SELECT i.tenant, i.id, i.claim_owner, i.claim_epoch
FROM sutra_instance AS i
WHERE i.claimed_at < :silent
ORDER BY i.claimed_at, i.id
:page

-- name: instance_forget
-- scope: fleet
UPDATE sutra_instance
SET claim_owner = NULL, claimed_at = NULL
WHERE claimed_at IS NOT NULL
AND claim_owner >= :low
AND claim_owner < :high
