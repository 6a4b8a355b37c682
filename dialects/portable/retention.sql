-- name: instance_old
-- scope: fleet
SELECT i.id
FROM sutra_instance AS i
WHERE i.ended_at < :before
ORDER BY i.ended_at, i.id
:page

-- name: history_of
-- scope: fleet
-- rows: instance uuid
SELECT h.instance, h.seq
FROM sutra_history AS h
WHERE h.instance IN :rows
ORDER BY h.instance, h.seq
:page

-- name: history_delete
-- scope: fleet
-- rows: instance uuid, seq int
DELETE FROM sutra_history AS h
USING :rows AS r
WHERE h.instance = r.instance
AND h.seq = r.seq

-- name: instance_delete
-- scope: fleet
-- rows: id uuid
DELETE FROM sutra_instance
WHERE ended_at < :before
AND id IN :rows
