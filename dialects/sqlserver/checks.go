package sqlserver

import "github.com/sutra-engine/sutra/dialects"

const schema = `SELECT t.name, CAST('' AS NVARCHAR(128)), c.name, CAST(c.column_id AS BIGINT)
FROM sys.tables AS t
JOIN sys.columns AS c ON c.object_id = t.object_id
WHERE t.name LIKE 'sutra[_]%'
UNION ALL
SELECT t.name, i.name, c.name, CAST(k.key_ordinal AS BIGINT)
FROM sys.tables AS t
JOIN sys.indexes AS i ON i.object_id = t.object_id
JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE t.name LIKE 'sutra[_]%' AND i.is_primary_key = 0 AND i.is_disabled = 0 AND k.key_ordinal > 0
ORDER BY 1, 2, 4`

func checks() []dialects.Check {
	return []dialects.Check{
		{
			Name: "version", Query: "SELECT CAST(SERVERPROPERTY('ProductVersion') AS VARCHAR(60))", Want: `^(1[5-9]|[2-9]\d)\.`, Fail: true,
			Advice: "use SQL Server 2019 or later",
		},
		{
			Name: "READ_COMMITTED_SNAPSHOT", Want: "^1$", Boot: true,
			Query:  "SELECT CAST(is_read_committed_snapshot_on AS VARCHAR(1)) FROM sys.databases WHERE name = DB_NAME()",
			Advice: "ALTER DATABASE … SET READ_COMMITTED_SNAPSHOT ON: readers wait for writers without it",
		},
		{
			Name: "DELAYED_DURABILITY", Want: "^(DISABLED|ALLOWED)$", Boot: true,
			Query:  "SELECT COALESCE(CAST(delayed_durability_desc AS VARCHAR(60)), 'DISABLED') FROM sys.databases WHERE name = DB_NAME()",
			Advice: "ALTER DATABASE … SET DELAYED_DURABILITY = DISABLED: what was answered as durable is lost with the machine",
		},
		{
			Name: "isolation", Want: "^2$", Fail: true,
			Query:  "SELECT CAST(transaction_isolation_level AS VARCHAR(2)) FROM sys.dm_exec_sessions WHERE session_id = @@SPID",
			Advice: "leave the isolation to the engine: READPAST is for READ COMMITTED alone",
		},
		{
			Name: "collation", Fail: true,
			Query: `SELECT CONCAT(t.name, '.', c.name, ' is ', c.collation_name)
FROM sys.tables AS t
JOIN sys.columns AS c ON c.object_id = t.object_id
WHERE t.name LIKE 'sutra[_]%' AND t.name <> 'sutra_migration' AND c.collation_name NOT LIKE '%[_]BIN2'`,
			Advice: "make it Latin1_General_100_BIN2 as the migrations did: under another collation two keys may be one",
		},
		{
			Name: "connections",
			Query: `SELECT CONCAT(r.n, ' replicas of ', :pool, ' connections each, the server takes ', @@MAX_CONNECTIONS)
FROM (SELECT COUNT(*) AS n FROM sutra_replica) AS r
WHERE r.n * :pool > @@MAX_CONNECTIONS`,
			Advice: "raise the user connections, or lower sutra.datasource.max-connections",
		},
		{
			Name: "rights",
			Query: `SELECT CONCAT('without ', r.name)
FROM (SELECT 'VIEW SERVER STATE' AS name UNION ALL SELECT 'ALTER ANY CONNECTION') AS r
WHERE HAS_PERMS_BY_NAME(NULL, NULL, r.name) = 0`,
			Advice: "GRANT it to the engine's login: without both, its own sessions that were abandoned in a transaction keep their locks",
		},
		{
			Name: "old transactions",
			Query: `SELECT CONCAT('session ', s.session_id, ' of ', s.login_name, ' (', s.program_name, ', ', s.status, ') is in a transaction since ', CONVERT(VARCHAR(19), t.transaction_begin_time, 126))
FROM sys.dm_exec_sessions AS s
JOIN sys.dm_tran_session_transactions AS x ON x.session_id = s.session_id
JOIN sys.dm_tran_active_transactions AS t ON t.transaction_id = x.transaction_id
WHERE s.database_id = DB_ID() AND s.session_id <> @@SPID AND t.transaction_begin_time < DATEADD(SECOND, -:age, GETDATE())`,
			Advice: "end it (KILL …): it keeps its locks, and the version store grows behind it",
		},
	}
}
