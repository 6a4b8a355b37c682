package database_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/dialects"
)

var (
	referred = regexp.MustCompile(`\b(FROM|JOIN|STRAIGHT_JOIN|UPDATE|INTO|USING) (sutra_\w+)(?: AS (\w+))?`)
	whole    = regexp.MustCompile(`^sutra_(migration|lease|version|replica)$`) // belong to no tenant
)

// TestEveryStatementKeepsToItsTenant reads the catalogue of every dialect: each table of tenants that a tenant's statement reads or
// changes is held to the tenant by name, and each row that it inserts bears it.
func TestEveryStatementKeepsToItsTenant(t *testing.T) {
	for _, d := range database.Dialects() {
		all, err := dialects.Load(d)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, name := range slices.Sorted(maps.Keys(all)) {
			s := all[name]
			if s.Fleet || name == "deployment_share" { // a lock by id, which answers nothing
				continue
			}
			for _, part := range s.Parts {
				for _, m := range referred.FindAllStringSubmatch(part, -1) {
					if whole.MatchString(m[2]) {
						continue
					}
					seen++
					if !held(part, m[1], m[3]) {
						t.Errorf("%s: %s reaches %s of every tenant:\n%s", d.Name, name, m[2], part)
					}
				}
			}
		}
		if seen < 50 {
			t.Errorf("%s: %d references to tables of tenants were read; has the catalogue moved?", d.Name, seen)
		}
	}
}

// held says that the table under this alias is held to the tenant: by name, or by its key to a row that is. Derived tables are read in
// the same text.
func held(part, how, alias string) bool {
	switch {
	case how == "INTO":
		return strings.Contains(part, "tenant") && strings.Contains(part, ":tenant")
	case alias == "":
		return regexp.MustCompile(`(^|[^.\w])tenant = :tenant\b`).MatchString(part)
	case strings.Contains(part, alias+".tenant = :tenant"):
		return true
	}
	for _, key := range regexp.MustCompile(`\b`+alias+`\.(?:id|instance) = (\w+)\.\w+`).FindAllStringSubmatch(part, -1) {
		if held(part, "", key[1]) || regexp.MustCompile(`(?s)\(.*\.tenant = :tenant.*\) AS `+key[1]+`\b|\b`+key[1]+` AS MATERIAL\w+ \(.*\.tenant = :tenant`).MatchString(part) {
			return true
		}
	}
	return false
}
