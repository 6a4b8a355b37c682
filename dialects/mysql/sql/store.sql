-- name: store_writable
-- A replica, or a server that failed over, answers reads.
SELECT CASE WHEN @@read_only = 1 OR @@innodb_read_only = 1 THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT UTC_TIMESTAMP(6)
