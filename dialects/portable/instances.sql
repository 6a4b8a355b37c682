-- name: deployment_share
-- scope: any
-- rows: deployment text
SELECT d.id
FROM sutra_deployment AS d
WHERE d.id IN :rows
:share

-- name: deployment_active
-- rows: deployment text
-- expect: each
SELECT d.id
FROM sutra_deployment AS d
WHERE d.tenant = :tenant
AND d.phase = 'active'
AND d.id IN :rows

-- name: deployment_state
-- rows: deployment text
SELECT d.id, d.phase
FROM sutra_deployment AS d
WHERE d.tenant = :tenant
AND d.id IN :rows

-- name: instance_insert
-- rows: id uuid, deployment text, module text, process text, channel text, parent uuid, parent_wait int, root uuid, status text, snapshot bytes, fault_code text, fault_detail text, fault_node text, ended instant
INSERT INTO sutra_instance (id, tenant, deployment, module, process, channel, parent, parent_wait, root, status, snapshot, fault_code, fault_detail, fault_node, claim_epoch, created_at, updated_at, ended_at)
SELECT r.id, :tenant, r.deployment, r.module, r.process, r.channel, r.parent, r.parent_wait, r.root, r.status, r.snapshot, r.fault_code, r.fault_detail, r.fault_node, 0, :now, :now, r.ended
FROM :rows AS r

-- name: instance_guard
-- rows: id uuid, owner text, epoch int, step uuid, status text, snapshot bytes, fault_code text, fault_detail text, fault_node text, ended instant
-- expect: each
UPDATE sutra_instance AS i
SET status = r.status, snapshot = r.snapshot, fault_code = r.fault_code, fault_detail = r.fault_detail, fault_node = r.fault_node, ended_at = r.ended, last_step = r.step, updated_at = :now, claim_owner = NULL, claimed_at = NULL
FROM :rows AS r
WHERE i.tenant = :tenant
AND i.id = r.id
AND i.claim_owner = r.owner
AND i.claim_epoch = r.epoch

-- name: instance_move
-- rows: id uuid, deployment text, module text, process text
-- expect: each
UPDATE sutra_instance AS i
SET deployment = r.deployment, module = r.module, process = r.process
FROM :rows AS r
WHERE i.tenant = :tenant
AND i.id = r.id

-- name: instance_state
-- rows: id uuid
SELECT i.id, i.last_step, i.claim_owner, i.claim_epoch, i.claimed_at
FROM sutra_instance AS i
WHERE i.id IN :rows
AND i.tenant = :tenant?

-- name: instance_read
-- rows: id uuid
SELECT i.tenant, i.id, i.deployment, i.module, i.process, i.channel, i.parent, i.parent_wait, i.root, i.status, i.snapshot, i.fault_code, i.fault_detail, i.fault_node, i.claim_owner, i.claim_epoch, i.claimed_at, i.last_step, i.created_at, i.updated_at, i.ended_at
FROM sutra_instance AS i
WHERE i.tenant = :tenant
AND i.id IN :rows

-- name: wait_insert
-- rows: instance uuid, wait int, kind text, node text, name bytes, due instant
INSERT INTO sutra_wait (instance, wait_id, tenant, kind, node, name_key, armed_at, due_at, attempt_at)
SELECT r.instance, r.wait, :tenant, r.kind, r.node, r.name, :now, r.due, r.due
FROM :rows AS r

-- name: wait_delete
-- rows: instance uuid, wait int
DELETE FROM sutra_wait AS w
USING :rows AS r
WHERE w.tenant = :tenant
AND w.instance = r.instance
AND w.wait_id = r.wait

-- name: wait_move
-- rows: instance uuid, wait int, node text, name bytes, due instant
-- expect: each
UPDATE sutra_wait AS w
SET node = r.node, name_key = r.name, due_at = r.due, attempt_at = r.due
FROM :rows AS r
WHERE w.tenant = :tenant
AND w.instance = r.instance
AND w.wait_id = r.wait

-- name: wait_clear
-- rows: instance uuid
DELETE FROM sutra_wait
WHERE tenant = :tenant
AND instance IN :rows

-- name: alias_insert
-- rows: instance uuid, wait int, alias bytes, module text, name text, taken bytes
INSERT INTO sutra_alias (instance, wait_id, alias_key, tenant, module, name, unique_key)
SELECT r.instance, r.wait, r.alias, :tenant, r.module, r.name, r.taken
FROM :rows AS r

-- name: alias_delete
-- rows: instance uuid, wait int, alias bytes
DELETE FROM sutra_alias AS a
USING :rows AS r
WHERE a.tenant = :tenant
AND a.instance = r.instance
AND a.wait_id = r.wait
AND a.alias_key = r.alias

-- name: alias_clear
-- rows: instance uuid
DELETE FROM sutra_alias
WHERE tenant = :tenant
AND instance IN :rows

-- name: alias_holder
-- rows: taken bytes
SELECT a.unique_key, a.instance
FROM sutra_alias AS a
WHERE a.tenant = :tenant
AND a.unique_key IN :rows

-- name: task_insert
-- rows: id uuid, instance uuid, wait int, deployment text, process text, node text, topic text, inputs bytes, headers bytes, retries int, unlocked int
INSERT INTO sutra_task (id, tenant, instance, wait_id, deployment, process, node, topic, inputs, headers, retries, unlocked, lock_epoch, lock_until, terminal, created_at)
SELECT r.id, :tenant, r.instance, r.wait, r.deployment, r.process, r.node, r.topic, r.inputs, r.headers, r.retries, r.unlocked, 0, :now, 0, :now
FROM :rows AS r

-- name: task_complete
-- rows: id uuid, worker text, epoch int
-- expect: each
DELETE FROM sutra_task AS t
USING :rows AS r
WHERE t.tenant = :tenant
AND t.id = r.id
AND (r.worker = '' OR t.lock_owner = r.worker)
AND (r.epoch = 0 OR t.lock_epoch = r.epoch)

-- name: task_delete
-- rows: id uuid
DELETE FROM sutra_task
WHERE tenant = :tenant
AND id IN :rows

-- name: task_clear
-- rows: instance uuid
DELETE FROM sutra_task
WHERE tenant = :tenant
AND instance IN :rows

-- name: task_move
-- rows: instance uuid, deployment text, process text
UPDATE sutra_task AS t
SET deployment = r.deployment, process = r.process
FROM :rows AS r
WHERE t.tenant = :tenant
AND t.instance = r.instance

-- name: task_alter
-- rows: id uuid, node text, headers bytes, unlocked int
UPDATE sutra_task AS t
SET node = r.node, headers = r.headers, unlocked = r.unlocked
FROM :rows AS r
WHERE t.tenant = :tenant
AND t.id = r.id

-- name: task_retopic
-- rows: id uuid, topic text
-- expect: each
UPDATE sutra_task AS t
SET topic = r.topic
FROM :rows AS r
WHERE t.tenant = :tenant
AND t.id = r.id
AND (t.lock_owner IS NULL OR t.lock_until <= :now)

-- name: task_state
-- rows: id uuid
SELECT t.id, t.lock_owner, t.lock_epoch, t.lock_until
FROM sutra_task AS t
WHERE t.tenant = :tenant
AND t.id IN :rows

-- name: outbox_insert
-- rows: id uuid, deployment text, instance uuid, seq int, destination text, content_type text, headers bytes, body bytes, wait int, attempt int, trace bytes
INSERT INTO sutra_outbox (id, tenant, deployment, instance, seq, destination, content_type, headers, body, wait_id, attempt, trace, attempts, next_attempt_at, poisoned, created_at)
SELECT r.id, :tenant, r.deployment, r.instance, r.seq, r.destination, r.content_type, r.headers, r.body, r.wait, r.attempt, r.trace, 0, :now, 0, :now
FROM :rows AS r

-- name: history_insert
-- rows: instance uuid, seq int, step uuid, document bytes
INSERT INTO sutra_history (instance, seq, tenant, at, step, document)
SELECT r.instance, r.seq, :tenant, :now, r.step, r.document
FROM :rows AS r
