-- name: store_writable
-- A secondary replica answers reads.
SELECT CASE WHEN DATABASEPROPERTYEX(DB_NAME(), 'Updateability') = 'READ_ONLY' THEN 0 ELSE 1 END

-- name: store_now
-- The base is for databases whose clock is the process's own.
SELECT SYSUTCDATETIME()

-- name: session_old
-- A client that was stopped keeps its row locks. Without VIEW SERVER STATE the role sees no session but its own.
SELECT CAST(s.session_id AS BIGINT)
FROM sys.dm_exec_sessions AS s
JOIN sys.dm_tran_session_transactions AS x ON x.session_id = s.session_id
JOIN sys.dm_tran_active_transactions AS t ON t.transaction_id = x.transaction_id
WHERE s.database_id = DB_ID()
AND s.program_name = APP_NAME()
AND s.login_name = SUSER_SNAME()
AND s.session_id <> @@SPID
AND t.transaction_begin_time < DATEADD(SECOND, -:age, GETDATE())

-- name: session_end
-- KILL takes a number, not a parameter.
EXEC sp_executesql N'DECLARE @kill NVARCHAR(40) = CONCAT(N''KILL '', @session) EXEC (@kill)', N'@session BIGINT', :session
