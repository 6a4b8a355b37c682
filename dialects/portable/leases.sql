-- name: lease_share
-- scope: any
-- rows: role text
SELECT l.role
FROM sutra_lease AS l :sharing
WHERE l.role IN :rows
:share

-- name: lease_stands
-- scope: any
-- rows: role text, holder text, term int
-- expect: each
SELECT l.role
FROM :rows AS r
JOIN sutra_lease AS l ON l.role = r.role
WHERE l.holder = r.holder
AND l.term = r.term

-- name: lease_state
-- scope: any
-- rows: role text
SELECT l.role, l.holder, l.term, l.expires_at
FROM sutra_lease AS l
WHERE l.role IN :rows
