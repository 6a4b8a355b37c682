-- name: instance_claim
-- READPAST is this database's SKIP LOCKED, and OUTPUT its RETURNING.
UPDATE sutra_instance WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK)
SET claim_epoch = claim_epoch + 1, claim_owner = :owner, claimed_at = :now
OUTPUT inserted.tenant, inserted.id, inserted.deployment, inserted.module, inserted.process, inserted.channel, inserted.parent, inserted.parent_wait, inserted.root, inserted.status, inserted.snapshot, inserted.fault_code, inserted.fault_detail, inserted.fault_node, inserted.claim_owner, inserted.claim_epoch, inserted.claimed_at, inserted.last_step, inserted.created_at, inserted.updated_at, inserted.ended_at
WHERE tenant = :tenant
AND id IN :rows
AND (claim_owner IS NULL OR claim_owner = :owner OR claimed_at < :silent)

-- name: instance_free
-- READPAST, so that it never waits for whoever has the row locked.
UPDATE i
SET claim_owner = NULL, claimed_at = NULL
FROM sutra_instance AS i WITH (UPDLOCK, READPAST, READCOMMITTEDLOCK)
CROSS JOIN :rows AS r
WHERE i.id = r.id
AND i.tenant = :tenant?
AND i.claim_owner = r.owner
AND i.claim_epoch = r.epoch
AND i.claimed_at < :silent
