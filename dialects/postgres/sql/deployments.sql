-- name: deployment_lock
-- As deployment_share, alone.
SELECT pg_advisory_xact_lock(hashtextextended('deployment/' || r.deployment, 0))
FROM :rows AS r

-- name: change_notify
-- Here alone the database wakes those who wait. It ends their nap, no more: they read.
SELECT pg_notify('sutra', '')
