package dialects_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/dialects"
)

func layer(text string) fs.FS { return fstest.MapFS{"a.sql": {Data: []byte(text)}} }

func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	const base = "-- name: one\nSELECT a\nFROM t\nWHERE tenant = :tenant\n"
	for name, c := range map[string]struct{ over, want string }{
		"unknown":   {"-- name: two\n-- why\nSELECT 1\n", "overrides nothing"},
		"the same":  {base, "equals what it overrides"},
		"a param":   {"-- name: one\n-- why\nSELECT a\nFROM t\nWHERE tenant = :tenant\nAND b = :b\n", "the base takes"},
		"no reason": {"-- name: one\nSELECT b\nFROM t\nWHERE tenant = :tenant\n", "says not why"},
		"no expect": {"-- name: one\n-- expect: some\nSELECT b\n", "cannot read"},
		"fits":      {"-- name: one\n-- why\nSELECT b\nFROM t\nWHERE tenant = :tenant\n", ""},
	} {
		_, err := dialects.Load(dialects.Dialect{Name: "d", Layers: []fs.FS{layer(base), layer(c.over)}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"no tenant": {"-- name: one\nSELECT a\nFROM t\n", "names no :tenant"},
		"twice":     {base + base, "is there twice"},
		"fleet":     {"-- name: one\n-- scope: fleet\nSELECT a\nFROM t\n", ""},
	} {
		_, err := dialects.Load(dialects.Dialect{Name: "d", Layers: []fs.FS{layer(c.text)}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("base with %s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestTextIsSaidInEachDialectsWords(t *testing.T) {
	question := func(int) string { return "?" }
	numbered := func(n int) string { return "$" + string(rune('0'+n)) }
	casts := map[string]string{"instant": "CAST(%s AS T)"}
	unnest := dialects.Unnest(map[string]string{"uuid": "uuid", "instant": "timestamptz"})
	joined := dialects.Joined{
		Update: "UPDATE :rows AS r STRAIGHT_JOIN $1 AS $2 SET $3 WHERE $4", Delete: "DELETE $2 FROM :rows AS r JOIN $1 AS $2 WHERE $3", Qualified: true,
	}
	const update = "-- name: s\n-- rows: id uuid, at instant\nUPDATE t AS x\nSET at = r.at, n = x.n + 1\nFROM :rows AS r\nWHERE x.id = r.id\nAND x.tenant = :tenant?\n"
	const remove = "-- name: s\n-- rows: id uuid\nDELETE FROM t AS x\nUSING :rows AS r\nWHERE x.id = r.id\nAND x.tenant = :tenant?\n"
	const list = "-- name: s\n-- rows: id uuid\nSELECT a\nFROM t AS x :skipping\nJOIN u ON u.a = x.a\nWHERE x.id IN :rows\nAND x.tenant = :tenant?\n:page\n:skip\n"
	for _, c := range []struct {
		name, statement string
		d               dialects.Dialect
		given           bool
		want            string
	}{
		{"arrays", update, dialects.Dialect{Bind: numbered, Rows: unnest}, false, "UPDATE t AS x\nSET at = r.at, n = x.n + 1\n" +
			"FROM (SELECT * FROM unnest($1::uuid[], $2::timestamptz[]) AS u(id, at)) AS r\nWHERE x.id = r.id"},
		{
			"union", update,
			dialects.Dialect{Bind: question, Rows: dialects.UnionAll(0, casts), Joined: joined},
			true,
			"UPDATE (SELECT ? AS id, CAST(? AS T) AS at UNION ALL SELECT ?, CAST(? AS T)) AS r STRAIGHT_JOIN t AS x " +
				"SET x.at = r.at, x.n = x.n + 1 WHERE x.id = r.id\nAND x.tenant = ?",
		},
		{
			"row by row", update,
			dialects.Dialect{Bind: question, Rows: dialects.RowByRow()},
			true,
			"UPDATE t AS x\nSET at = ?, n = x.n + 1\nWHERE x.id = ?\nAND x.tenant = ?",
		},
		{
			"delete", remove,
			dialects.Dialect{Bind: question, Rows: dialects.Values(0, nil, nil), Joined: joined},
			false,
			"DELETE x FROM (SELECT * FROM (VALUES (?), (?)) AS v(id)) AS r JOIN t AS x WHERE x.id = r.id",
		},
		{"words", list, dialects.Dialect{
			Bind: question, Rows: dialects.Values(0, nil, nil), Words: dialects.Words{Page: "LIMIT :limit", Skipping: "WITH (X)"},
		}, false, "SELECT a\nFROM t AS x WITH (X)\nJOIN u ON u.a = x.a\nWHERE x.id IN (?, ?)\nLIMIT ?"},
		{
			"a list of one", list,
			dialects.Dialect{Bind: question, Rows: dialects.RowByRow(), Words: dialects.Words{Skip: "SKIP"}},
			true,
			"SELECT a\nFROM t AS x \nJOIN u ON u.a = x.a\nWHERE x.id = ?\nAND x.tenant = ?\n\nSKIP",
		},
	} {
		all, err := dialects.Load(dialects.Dialect{Name: "d", Layers: []fs.FS{layer(c.statement)}})
		if err != nil {
			t.Fatal(err)
		}
		got := all["s"].Text(c.d, 0, 2, func(string) bool { return c.given })
		if got.SQL != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got.SQL, c.want)
		}
	}
}
