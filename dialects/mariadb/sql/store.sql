-- name: session_old
-- As in mysql; performance_schema is off here as a rule, and this processlist bears bytes.
SELECT CAST(p.id AS SIGNED)
FROM information_schema.innodb_trx AS t
JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id
WHERE p.db = DATABASE()
AND p.user = SUBSTRING_INDEX(USER(), '@', 1)
AND p.id <> CONNECTION_ID()
AND p.time >= :age
