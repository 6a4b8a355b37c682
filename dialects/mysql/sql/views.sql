-- name: instance_range
-- What is old would be looked for from the end of the primary key, through all that is newer.
SELECT i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, NULL, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at
FROM sutra_instance AS i FORCE INDEX (sutra_instance_status, sutra_instance_process, sutra_instance_revision, sutra_instance_parent)
WHERE 1 = 1
AND i.tenant = :tenant?
AND i.process = :process?
AND i.deployment = :deployment?
AND i.status = :status?
AND i.parent = :parent?
AND i.id < :after?
AND i.id >= :since_id?
AND i.id < :until_id?
ORDER BY i.id DESC
:page
