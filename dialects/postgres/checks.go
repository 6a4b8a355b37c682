package postgres

import "github.com/sutra-engine/sutra/dialects"

const ours = `c.relkind = 'r' AND c.relname LIKE 'sutra\_%' AND c.relnamespace = current_schema()::regnamespace`

const schema = `SELECT c.relname::text, '', a.attname::text, a.attnum::bigint
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE ` + ours + ` AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT c.relname::text, i.relname::text, a.attname::text, a.attnum::bigint
FROM pg_class AS c
JOIN pg_index AS x ON x.indrelid = c.oid
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_attribute AS a ON a.attrelid = i.oid
WHERE ` + ours + ` AND x.indisvalid AND NOT x.indisprimary
ORDER BY 1, 2, 4`

func checks() []dialects.Check {
	return []dialects.Check{
		{
			Name: "version", Query: "SHOW server_version_num", Want: `^(1[3-9]|[2-9]\d)\d{4}$`, Fail: true, Boot: true,
			Advice: "use PostgreSQL 13 or later",
		},
		{
			Name: "role", Fail: true, Boot: true,
			Query: `SELECT 'role ' || rolname || CASE WHEN rolsuper THEN ' is a superuser' ELSE ' has BYPASSRLS' END
FROM pg_roles
WHERE rolname = current_user AND (rolsuper OR rolbypassrls)`,
			Advice: "connect as a role made with NOSUPERUSER NOBYPASSRLS: this one is not held to the rows of its tenant",
		},
		{
			Name: "row security", Fail: true, Boot: true,
			Query: `SELECT c.relname || CASE
WHEN NOT c.relrowsecurity THEN ' has no row security'
WHEN NOT c.relforcerowsecurity THEN ' does not force row security on its owner'
ELSE ' has other policies than its own' END
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
WHERE ` + ours + ` AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND (
SELECT count(CASE WHEN p.polname = 'tenant' THEN 1 END) = 1 AND count(*) = 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polpermissive))
ORDER BY c.relname`,
			Advice: "ALTER TABLE … ENABLE ROW LEVEL SECURITY, then FORCE ROW LEVEL SECURITY; its one permissive policy is named tenant, as the migrations made it",
		},
		{
			Name: "encoding", Query: "SHOW server_encoding", Want: "^UTF8$", Fail: true, Boot: true,
			Advice: "create the database with ENCODING 'UTF8'",
		},
		{
			Name: "isolation", Query: "SHOW default_transaction_isolation", Want: "^read committed$", Fail: true, Boot: true,
			Advice: "leave default_transaction_isolation out of sutra.datasource.url: under a stricter one the replicas abort each other's work",
		},
		{
			Name: "fsync", Query: "SHOW fsync", Want: "^on$", Boot: true,
			Advice: "turn fsync on: what was answered as durable is lost with the machine",
		},
		{
			Name: "synchronous_commit", Query: "SHOW synchronous_commit", Want: "^(on|local|remote_write|remote_apply)$", Boot: true,
			Advice: "turn synchronous_commit on for this role",
		},
		{
			Name: "full_page_writes", Query: "SHOW full_page_writes", Want: "^on$",
			Advice: "turn full_page_writes on, unless the file system writes pages whole: a crash may tear them",
		},
		{
			Name: "timeouts",
			Query: `SELECT name || ' is off'
FROM pg_settings
WHERE name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout') AND setting = '0'
ORDER BY name`,
			Advice: "leave it out of sutra.datasource.url: the engine sets it, so that nothing waits for ever",
		},
		{
			Name: "connections",
			Query: `SELECT r.n || ' replicas of ' || :pool || ' connections each, the server takes ' || s.most
FROM (SELECT greatest(count(*), 1) AS n FROM sutra_replica) AS r
CROSS JOIN (SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most) AS s
WHERE r.n * :pool > s.most`,
			Advice: "raise max_connections, or lower sutra.datasource.max-connections",
		},
		{
			Name: "autovacuum",
			Query: `SELECT 'autovacuum is off' WHERE current_setting('autovacuum') = 'off' OR current_setting('track_counts') = 'off'
UNION ALL
SELECT c.relname || ' is left out'
FROM pg_class AS c
WHERE ` + ours + ` AND EXISTS (SELECT 1 FROM unnest(c.reloptions) AS o WHERE o ~ '^autovacuum_enabled=(off|false|no|0)')`,
			Advice: "turn autovacuum and track_counts on, and ALTER TABLE … RESET (autovacuum_enabled): queues without it get slower by the hour",
		},
		{
			Name: "old transactions",
			Query: `SELECT 'session ' || a.pid || ' of ' || a.usename || ' (' || a.application_name || ', ' || a.state || ') is in a transaction since ' || date_trunc('second', a.xact_start)
FROM pg_stat_activity AS a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start < clock_timestamp() - make_interval(secs => :age)
UNION ALL
SELECT 'the prepared transaction ' || p.gid || ' of ' || p.owner || ' is open since ' || date_trunc('second', p.prepared)
FROM pg_prepared_xacts AS p
WHERE p.database = current_database() AND p.prepared < clock_timestamp() - make_interval(secs => :age)`,
			Advice: "end it (SELECT pg_terminate_backend(…), ROLLBACK PREPARED '…'): no vacuum cleans behind it. Of other roles' sessions one with pg_read_all_stats sees more",
		},
		{
			Name: "dead rows",
			Query: `SELECT relname || ' has ' || n_dead_tup || ' dead rows beside ' || n_live_tup || ' live ones'
FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname LIKE 'sutra\_%' AND n_dead_tup > 10000 AND n_dead_tup > n_live_tup / 5
ORDER BY relname`,
			Advice: "VACUUM it, and look for an old transaction or a slow autovacuum",
		},
	}
}
