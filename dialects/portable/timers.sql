-- name: timer_due
-- scope: fleet
SELECT w.tenant, w.instance, w.wait_id, w.kind, w.due_at, (SELECT i.deployment FROM sutra_instance AS i WHERE i.id = w.instance)
FROM sutra_wait AS w :skipping
WHERE w.attempt_at <= :now
ORDER BY w.attempt_at, w.instance, w.wait_id
:page
:skip

-- name: timer_lease
-- scope: fleet
-- rows: instance uuid, wait int
-- expect: each
UPDATE sutra_wait AS w
SET attempt_at = :until
FROM :rows AS r
WHERE w.instance = r.instance
AND w.wait_id = r.wait
AND w.attempt_at <= :now

-- name: timer_defer
-- scope: fleet
-- rows: instance uuid, wait int
UPDATE sutra_wait AS w
SET attempt_at = :until, error = :why, refused_at = :now
FROM :rows AS r
WHERE w.instance = r.instance
AND w.wait_id = r.wait
AND w.attempt_at IS NOT NULL

-- name: schedule_due
-- scope: fleet
SELECT s.tenant, s.deployment, s.process, s.node, s.next_due_at, s.anchor_at, s.fires_left
FROM sutra_schedule AS s
WHERE s.next_due_at <= :now
ORDER BY s.next_due_at, s.deployment, s.process, s.node
:page
