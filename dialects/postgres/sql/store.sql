-- name: store_writable
-- A standby answers reads.
SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT clock_timestamp()

-- name: session_old
-- A client stopped in the middle of a batch keeps its row locks, and no timeout of the server's ends it.
SELECT a.pid
FROM pg_stat_activity AS a
WHERE a.datname = current_database()
AND a.usename = current_user
AND a.application_name = current_setting('application_name')
AND a.pid <> pg_backend_pid()
AND a.xact_start < clock_timestamp() - make_interval(secs => :age)

-- name: session_end
-- The base is for databases that have no sessions.
SELECT CASE WHEN pg_terminate_backend(CAST(:session AS integer)) THEN 1 ELSE 0 END
