-- name: store_writable
-- A secondary replica answers reads.
SELECT CASE WHEN DATABASEPROPERTYEX(DB_NAME(), 'Updateability') = 'READ_ONLY' THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT SYSUTCDATETIME()
