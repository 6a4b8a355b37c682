-- name: verify_wait
-- scope: fleet
SELECT w.tenant, w.instance
FROM sutra_wait AS w
LEFT JOIN sutra_instance AS i ON i.id = w.instance
WHERE i.id IS NULL OR i.status <> 'suspended'
ORDER BY w.instance
:page

-- name: verify_alias
-- scope: fleet
SELECT a.tenant, a.instance
FROM sutra_alias AS a
LEFT JOIN sutra_instance AS i ON i.id = a.instance
WHERE i.id IS NULL OR i.ended_at IS NOT NULL
ORDER BY a.instance
:page

-- name: verify_task
-- scope: fleet
SELECT t.tenant, t.instance
FROM sutra_task AS t
LEFT JOIN sutra_instance AS i ON i.id = t.instance
WHERE i.id IS NULL OR i.status <> 'suspended'
ORDER BY t.instance
:page

-- name: verify_driven
-- scope: fleet
SELECT i.tenant, i.id
FROM sutra_instance AS i
WHERE i.status = 'suspended'
AND i.ended_at IS NULL
AND NOT EXISTS (SELECT 1 FROM sutra_wait AS w WHERE w.instance = i.id)
AND NOT EXISTS (SELECT 1 FROM sutra_inbox AS x WHERE x.target = i.id AND x.state = 'pending')
ORDER BY i.id
:page

-- name: verify_claim
-- scope: fleet
SELECT i.tenant, i.id
FROM sutra_instance AS i
WHERE (i.claim_owner IS NULL AND i.claimed_at IS NOT NULL)
OR (i.claim_owner IS NOT NULL AND i.claimed_at IS NULL)
ORDER BY i.id
:page

-- name: verify_slot
-- scope: fleet
SELECT d.tenant, min(d.id)
FROM sutra_deployment AS d
WHERE d.phase = 'active'
GROUP BY d.tenant, d.module, d.version
HAVING count(*) > 1
ORDER BY min(d.id)
:page

-- name: verify_retired
-- scope: fleet
SELECT d.tenant, d.id
FROM sutra_deployment AS d
WHERE d.phase = 'retired'
AND (EXISTS (SELECT 1 FROM sutra_instance AS i WHERE i.deployment = d.id AND i.ended_at IS NULL)
OR EXISTS (SELECT 1 FROM sutra_outbox AS o WHERE o.deployment = d.id AND o.poisoned = 0)
OR EXISTS (SELECT 1 FROM sutra_task AS t WHERE t.deployment = d.id AND t.terminal = 0))
ORDER BY d.id
:page

-- name: verify_timer
-- scope: fleet
SELECT w.tenant, w.instance
FROM sutra_wait AS w
WHERE w.kind IN ('timer', 'retry')
AND w.attempt_at IS NULL
ORDER BY w.instance
:page

-- name: verify_work
-- scope: fleet
SELECT w.tenant, w.instance
FROM sutra_wait AS w
WHERE w.kind = 'task'
AND NOT EXISTS (SELECT 1 FROM sutra_task AS t WHERE t.instance = w.instance AND t.wait_id = w.wait_id)
AND NOT EXISTS (SELECT 1 FROM sutra_inbox AS x WHERE x.target = w.instance AND x.state = 'pending')
ORDER BY w.instance
:page

-- name: verify_door
-- scope: fleet
SELECT o.tenant, o.deployment
FROM sutra_door AS o
WHERE NOT EXISTS (SELECT 1 FROM sutra_deployment AS d WHERE d.id = o.deployment AND d.phase = 'active')
ORDER BY o.deployment
:page

-- name: verify_schedule
-- scope: fleet
SELECT s.tenant, s.deployment
FROM sutra_schedule AS s
WHERE NOT EXISTS (SELECT 1 FROM sutra_deployment AS d WHERE d.id = s.deployment AND d.phase = 'active')
ORDER BY s.deployment
:page

-- name: verify_archive
-- scope: fleet
SELECT d.tenant, d.id
FROM sutra_deployment AS d
WHERE d.dropped = 0
AND NOT EXISTS (SELECT 1 FROM sutra_archive AS a WHERE a.owner = d.id)
ORDER BY d.id
:page

-- name: verify_history
-- scope: fleet
SELECT h.tenant, h.instance
FROM sutra_history AS h
WHERE NOT EXISTS (SELECT 1 FROM sutra_instance AS i WHERE i.id = h.instance)
ORDER BY h.instance, h.seq
:page
