-- name: instance_living
-- Without partial indexes, those that have not ended are found by their two statuses alone.
SELECT count(*)
FROM sutra_instance AS i
WHERE i.tenant = :tenant
AND i.status IN ('suspended', 'failed')
