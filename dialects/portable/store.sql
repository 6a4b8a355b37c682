-- name: store_writable
-- scope: fleet
SELECT 1

-- name: store_migrations
-- scope: fleet
SELECT m.number, m.checksum
FROM sutra_migration AS m

-- name: store_now
-- scope: fleet
SELECT 0

-- name: session_old
-- scope: fleet
SELECT 0
WHERE :age < 0

-- name: session_end
-- scope: fleet
SELECT 0
WHERE :session < 0
