package sqlite

import "github.com/sutra-engine/sutra/dialects"

const schema = `SELECT t.name, '', c.name, c.cid
FROM sqlite_master AS t
JOIN pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND t.name LIKE 'sutra%'
UNION ALL
SELECT t.name, i.name, x.name, x.seqno
FROM sqlite_master AS t
JOIN pragma_index_list(t.name) AS i
JOIN pragma_index_info(i.name) AS x
WHERE t.type = 'table' AND t.name LIKE 'sutra%' AND i.origin = 'c'
ORDER BY 1, 2, 4`

func checks() []dialects.Check {
	return []dialects.Check{
		{
			Name: "version", Query: "SELECT sqlite_version()", Want: `^3\.(3[5-9]|[4-9]\d|\d{3})\.`, Fail: true,
			Advice: "build with a driver that brings SQLite 3.35 or later",
		},
		{
			Name: "journal_mode", Query: "PRAGMA journal_mode", Want: "^wal$", Boot: true,
			Advice: "put the file on a local file system that can map shared memory: without a write-ahead log readers wait for the writer",
		},
		{
			Name: "synchronous", Query: "PRAGMA synchronous", Want: "^[23]$", Boot: true,
			Advice: "leave synchronous to the engine: what was answered as durable is lost with the machine",
		},
		{
			Name: "integrity", Query: "PRAGMA quick_check(5)", Want: "^ok$", Fail: true,
			Advice: "stop the engine and restore the file from a copy; sqlite3 FILE .recover saves what can be read",
		},
		{
			Name: "free pages",
			Query: `SELECT f.freelist_count || ' of ' || p.page_count || ' pages are empty'
FROM pragma_freelist_count AS f
CROSS JOIN pragma_page_count AS p
WHERE f.freelist_count > 1000 AND f.freelist_count > p.page_count / 2`,
			Advice: "stop the engine and VACUUM the file, if the disk is short",
		},
	}
}
