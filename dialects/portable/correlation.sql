-- name: correlate_alias
SELECT DISTINCT w.instance, i.deployment, w.wait_id, w.node, w.armed_at
FROM sutra_alias AS a
JOIN sutra_wait AS w ON w.instance = a.instance AND (a.wait_id = 0 OR a.wait_id = w.wait_id)
JOIN sutra_instance AS i ON i.id = w.instance
WHERE a.tenant = :tenant
AND a.alias_key = :alias
AND w.name_key = :name
ORDER BY w.armed_at, w.instance, w.wait_id
:page

-- name: correlate_name
SELECT w.instance, i.deployment, w.wait_id, w.node, w.armed_at
FROM sutra_wait AS w
JOIN sutra_instance AS i ON i.id = w.instance
WHERE w.tenant = :tenant
AND w.name_key = :name
ORDER BY w.armed_at, w.instance, w.wait_id
:page

-- name: correlate_signal
SELECT w.instance, i.deployment, w.wait_id, w.node, w.armed_at
FROM sutra_wait AS w
JOIN sutra_instance AS i ON i.id = w.instance
WHERE w.tenant = :tenant
AND w.name_key = :name
AND w.kind = 'signal'
AND w.armed_at <= :armed
AND w.instance >= :instance
AND (w.instance > :instance OR w.wait_id > :wait)
ORDER BY w.instance, w.wait_id
:page
