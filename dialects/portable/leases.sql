-- name: lease_share
-- scope: any
-- rows: role text
SELECT l.role
FROM sutra_lease AS l
WHERE l.role IN :rows
:share

-- name: lease_stands
-- scope: any
-- rows: role text, holder text, term int
-- expect: each
SELECT l.role
FROM sutra_lease AS l
CROSS JOIN :rows AS r
WHERE l.role = r.role
AND l.holder = r.holder
AND l.term = r.term

-- name: lease_state
-- scope: any
-- rows: role text
SELECT l.role, l.holder, l.term, l.expires_at
FROM sutra_lease AS l
WHERE l.role IN :rows

-- name: lease_lock
-- scope: fleet
-- rows: role text
SELECT l.role
FROM sutra_lease AS l
WHERE l.role IN :rows
:lock

-- name: lease_insert
-- scope: fleet
INSERT INTO sutra_lease (role, holder, term, expires_at)
VALUES (:role, :holder, :term, :expires)

-- name: lease_update
-- scope: fleet
-- expect: each
UPDATE sutra_lease
SET holder = :holder, term = :term, expires_at = :expires
WHERE role = :role

-- name: lease_end
-- scope: fleet
-- rows: role text, holder text, term int
UPDATE sutra_lease AS l
SET expires_at = :now
FROM :rows AS r
WHERE l.role = r.role
AND l.holder = r.holder
AND l.term = r.term

-- name: lease_list
-- scope: fleet
SELECT l.role, l.holder, l.term, l.expires_at
FROM sutra_lease AS l
ORDER BY l.role
