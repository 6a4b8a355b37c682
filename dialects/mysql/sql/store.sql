-- name: store_writable
-- A replica, or a server that failed over, answers reads.
SELECT CASE WHEN @@read_only = 1 OR @@innodb_read_only = 1 THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT UTC_TIMESTAMP(6)

-- name: session_old
-- A client that was stopped keeps its row locks until wait_timeout. The role needs PROCESS. The age is that of what the session does, or of
-- its doing nothing: when the transaction began is told in the server's own time zone.
SELECT /*+ SET_VAR(sql_mode = '') */ CAST(p.id AS SIGNED)
FROM information_schema.innodb_trx AS t
JOIN performance_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
WHERE p.db = DATABASE()
AND p.user = SUBSTRING_INDEX(USER(), '@', 1)
AND p.id <> CONNECTION_ID()
AND p.time >= :age

-- name: session_end
-- The base is for databases that have no sessions.
KILL :session
