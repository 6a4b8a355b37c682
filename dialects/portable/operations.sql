-- name: operation_insert
-- scope: fleet
INSERT INTO sutra_operation (id, tenant, state, revision, callback, notify, options, owner, touched_at, created_at)
VALUES (:id, :tenant, 'pending', '', :callback, :notify, :options, :owner, :now, :now)

-- name: operation_read
-- scope: fleet
-- rows: id uuid
SELECT o.id, o.tenant, o.state, o.revision, o.fault_code, o.fault_detail, o.fault_node, o.callback, o.notify, o.options, o.owner, o.touched_at, o.created_at
FROM sutra_operation AS o
WHERE o.id IN :rows

-- name: operation_silent
-- scope: fleet
SELECT o.id, o.tenant, o.state, o.revision, o.fault_code, o.fault_detail, o.fault_node, o.callback, o.notify, o.options, o.owner, o.touched_at, o.created_at
FROM sutra_operation AS o :skipping
WHERE o.state = 'pending'
AND o.touched_at < :silent
ORDER BY o.touched_at, o.id
:page
:skip

-- name: operation_own
-- scope: fleet
-- rows: id uuid
-- expect: each
UPDATE sutra_operation
SET owner = :owner, touched_at = :now
WHERE id IN :rows
AND touched_at < :silent

-- name: operation_touch
-- scope: fleet
-- expect: each
UPDATE sutra_operation
SET touched_at = :now
WHERE id = :id
AND owner = :owner
AND state = 'pending'

-- name: operation_close
-- scope: fleet
-- expect: each
UPDATE sutra_operation
SET state = :state, revision = :revision, fault_code = :fault_code, fault_detail = :fault_detail, fault_node = :fault_node, touched_at = :now
WHERE id = :id
AND owner = :owner
AND state = 'pending'

-- name: operation_old
-- scope: fleet
SELECT o.id
FROM sutra_operation AS o
WHERE o.state <> 'pending'
AND o.touched_at < :before
ORDER BY o.touched_at, o.id
:page

-- name: operation_delete
-- scope: fleet
-- rows: id uuid
DELETE FROM sutra_operation
WHERE id IN :rows
