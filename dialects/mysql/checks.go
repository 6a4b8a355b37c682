package mysql

import "github.com/sutra-engine/sutra/dialects"

// Checks are those that MariaDB shares: isolation names the session's variable, sessions a view of them.
func Checks(isolation, sessions string) []dialects.Check {
	return []dialects.Check{
		{
			Name: "isolation", Query: "SELECT CONCAT(@@" + isolation + ")", Want: "^READ-COMMITTED$", Fail: true, Boot: true,
			Advice: "leave the isolation out of sutra.datasource.url: gap locks of REPEATABLE READ deadlock the queues",
		},
		{
			Name: "innodb_flush_log_at_trx_commit", Query: "SELECT CONCAT(@@innodb_flush_log_at_trx_commit)", Want: "^1$", Boot: true,
			Advice: "set it to 1: what was answered as durable is lost with the machine",
		},
		{
			Name: "sync_binlog", Query: "SELECT CONCAT('it is ', @@sync_binlog) FROM DUAL WHERE @@log_bin = 1 AND @@sync_binlog <> 1",
			Advice: "set it to 1: a replica may have what this server has lost, or lack what it has",
		},
		{
			Name: "binlog_format", Query: "SELECT CONCAT(@@binlog_format)", Want: "^ROW$", Boot: true,
			Advice: "set it to ROW: statements that skip locked rows are not the same on a replica",
		},
		{
			Name: "max_allowed_packet", Query: "SELECT CONCAT('it is ', @@max_allowed_packet) FROM DUAL WHERE @@max_allowed_packet < 16777216",
			Advice: "set it to 16M at least, and above sutra.codec.max-payload-bytes: a message travels in one packet",
		},
		{
			Name: "tables", Fail: true,
			Query: "SELECT CONCAT(table_name, ' is ', engine) FROM information_schema.tables " +
				"WHERE table_schema = DATABASE() AND table_name LIKE 'sutra\\_%' AND engine <> 'InnoDB' ORDER BY table_name",
			Advice: "ALTER TABLE … ENGINE = InnoDB: the engine needs transactions and row locks",
		},
		{
			Name: "collation", Fail: true,
			Query: "SELECT CONCAT(table_name, '.', column_name, ' is ', collation_name) FROM information_schema.columns " +
				"WHERE table_schema = DATABASE() AND table_name LIKE 'sutra\\_%' AND collation_name IS NOT NULL ORDER BY 1",
			Advice: "make it VARBINARY as the migrations did: under a collation two keys may be one",
		},
		{
			Name: "connections",
			Query: "SELECT CONCAT(r.n, ' replicas of ', :pool, ' connections each, the server takes ', @@max_connections) " +
				"FROM (SELECT GREATEST(COUNT(*), 1) AS n FROM sutra_replica) AS r WHERE r.n * :pool > @@max_connections",
			Advice: "raise max_connections, or lower sutra.datasource.max-connections",
		},
		{
			Name: "old transactions", // needs PROCESS, as ending them does
			Query: "SELECT CONCAT('session ', p.id, ' of ', p.user, ' (', p.command, ') is in a transaction since ', t.trx_started) " +
				"FROM information_schema.innodb_trx AS t JOIN " + sessions + " AS p ON p.id = t.trx_mysql_thread_id " +
				"WHERE p.id <> CONNECTION_ID() AND TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) >= :age ORDER BY t.trx_started",
			Advice: "end it (KILL …): it keeps its locks, and nothing is purged behind it. To see it, and to end its own that were abandoned, the engine's role needs GRANT PROCESS ON *.*",
		},
		{
			Name:   "purge",
			Query:  "SELECT CONCAT(count, ' old row versions are not purged') FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len' AND count > 1000000",
			Advice: "look for an old transaction; every read walks past them",
		},
	}
}

// Schema reads tables and indexes; valid says which of the latter serve.
func Schema(valid string) string {
	const ours = "table_schema = DATABASE() AND table_name LIKE 'sutra\\_%'"
	return "SELECT table_name, '', column_name, ordinal_position FROM information_schema.columns WHERE " + ours +
		" UNION ALL SELECT table_name, index_name, column_name, seq_in_index FROM information_schema.statistics WHERE " + ours +
		" AND index_name <> 'PRIMARY' AND " + valid + " ORDER BY 1, 2, 4"
}
