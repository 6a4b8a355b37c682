-- name: store_writable
-- A standby answers reads.
SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT clock_timestamp()
