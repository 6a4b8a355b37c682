-- name: task_due
-- scope: fleet
SELECT t.tenant, t.id, t.instance, t.wait_id, t.deployment, t.process, t.node, t.topic, t.inputs, t.headers, t.retries, t.unlocked, t.lock_owner, t.lock_epoch, t.lock_until, t.terminal, t.last_error, t.created_at
FROM sutra_task AS t :skipping
WHERE t.terminal = 0
AND t.topic = :topic
AND t.lock_until <= :now
AND t.tenant = :tenant?
ORDER BY t.lock_until, t.id
:page
:skip

-- name: task_lock
-- scope: fleet
-- rows: id uuid
-- expect: each
UPDATE sutra_task
SET lock_owner = :worker, lock_until = :until, lock_epoch = lock_epoch + 1
WHERE id IN :rows
AND lock_until <= :now

-- name: task_read
-- rows: id uuid
SELECT t.tenant, t.id, t.instance, t.wait_id, t.deployment, t.process, t.node, t.topic, t.inputs, t.headers, t.retries, t.unlocked, t.lock_owner, t.lock_epoch, t.lock_until, t.terminal, t.last_error, t.created_at
FROM sutra_task AS t
WHERE t.tenant = :tenant
AND t.id IN :rows

-- name: task_extend
-- rows: id uuid, worker text, epoch int
-- expect: each
UPDATE sutra_task AS t
SET lock_until = :until
FROM :rows AS r
WHERE t.tenant = :tenant
AND t.id = r.id
AND t.terminal = 0
AND (r.worker = '' OR t.lock_owner = r.worker)
AND (r.epoch = 0 OR t.lock_epoch = r.epoch)

-- name: task_fail
-- rows: id uuid, worker text, epoch int, left_over int, until instant, ended int, error text
-- expect: each
UPDATE sutra_task AS t
SET retries = r.left_over, lock_until = r.until, terminal = r.ended, last_error = r.error, lock_epoch = t.lock_epoch + 1, lock_owner = NULL
FROM :rows AS r
WHERE t.tenant = :tenant
AND t.id = r.id
AND (r.worker = '' OR t.lock_owner = r.worker)
AND (r.epoch = 0 OR t.lock_epoch = r.epoch)

-- name: task_retry
-- rows: id uuid
-- expect: each
UPDATE sutra_task
SET terminal = 0, retries = :retries, lock_until = :now, lock_owner = NULL
WHERE tenant = :tenant
AND terminal = 1
AND id IN :rows

-- name: task_list
-- scope: fleet
SELECT t.tenant, t.id, t.instance, t.wait_id, t.deployment, t.process, t.node, t.topic, t.inputs, t.headers, t.retries, t.unlocked, t.lock_owner, t.lock_epoch, t.lock_until, t.terminal, t.last_error, t.created_at
FROM sutra_task AS t
WHERE t.terminal = :terminal
AND t.tenant = :tenant?
AND t.id > :after
ORDER BY t.id
:page

-- name: task_tenant
-- scope: fleet
-- rows: id uuid
SELECT t.tenant
FROM sutra_task AS t
WHERE t.id IN :rows
