package conformance_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sutra-engine/sutra/conformance/provision"
	"github.com/sutra-engine/sutra/conformance/suite"
	"github.com/sutra-engine/sutra/dialects"
)

// TestTheDatabaseItselfKeepsTenantsApart takes the tenant out of every condition of the engine's own statements, and wants what
// holds with it to hold without.
func TestTheDatabaseItselfKeepsTenantsApart(t *testing.T) {
	eachServer(t, func(t *testing.T, server *provision.Server) {
		t.Helper()
		d := dialect(t, server.Dialect)
		if !d.Caps.RowSecurity {
			t.Skip("the database hides no rows by itself")
		}
		d = unguarded(t, d)
		url := server.Database(t)
		admin, err := server.Administrator(url)
		if err != nil {
			t.Fatal(err)
		}
		place := suite.Place{URL: url, Admin: admin, Dialect: d, Words: words(server.Dialect)}
		suite.RunTenants(t, suite.Harness{
			Dialect: d, Words: place.Words, Shared: suite.Migrated(t, place),
			Own: func(t testing.TB) suite.Database {
				t.Helper()
				own := place
				own.URL = server.Database(t)
				if own.Admin, err = server.Administrator(own.URL); err != nil {
					t.Fatal(err)
				}
				return suite.Migrated(t, own)
			},
		})
	})
}

var guard = regexp.MustCompile(`\b(?:\w+\.)?tenant = :tenant\b\??`)

// unguarded is a dialect whose statements of one tenant say nowhere which.
func unguarded(t *testing.T, d dialects.Dialect) dialects.Dialect {
	t.Helper()
	cut := 0
	fleet := map[string]bool{} // statements that are not of one tenant, in whatever layer they say so
	var layers []fs.FS
	for _, layer := range d.Layers {
		files, err := fs.Glob(layer, "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		stripped := fstest.MapFS{}
		for _, file := range files {
			text, err := fs.ReadFile(layer, file)
			if err != nil {
				t.Fatal(err)
			}
			blocks := strings.Split(string(text), "-- name: ")
			for i, block := range blocks {
				name, _, _ := strings.Cut(block, "\n")
				fleet[name] = fleet[name] || strings.Contains(block, "-- scope: fleet")
				if !fleet[name] {
					cut += len(guard.FindAllString(block, -1))
					blocks[i] = guard.ReplaceAllString(block, "CAST(:tenant AS text) IS NOT NULL")
				}
			}
			stripped[file] = &fstest.MapFile{Data: []byte(strings.Join(blocks, "-- name: "))}
		}
		layers = append(layers, stripped)
	}
	if cut < 30 {
		t.Fatalf("%d conditions were taken out; has the catalogue moved?", cut)
	}
	d.Layers = layers
	return d
}
