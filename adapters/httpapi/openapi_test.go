package httpapi

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestOpenAPIDescribesTheRoutes: every route is described with its role, and nothing is described that is no route.
func TestOpenAPIDescribesTheRoutes(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Role     string `yaml:"x-role"`
			Security *[]any `yaml:"security"`
			Summary  string `yaml:"summary"`
		} `yaml:"paths"`
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	roles := map[string]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			roles[strings.ToUpper(method)+" "+path] = op.Role
			if open := op.Security != nil && len(*op.Security) == 0; open != (op.Role == "") || op.Summary == "" {
				t.Errorf("%s %s: role %q, open %v, summary %q", method, path, op.Role, open, op.Summary)
			}
		}
	}
	for _, r := range (&Server{}).Routes() {
		name := r.Method + " " + described(r.Path)
		role, ok := roles[name]
		if !ok || role != string(r.Role) {
			t.Errorf("%s: described %v with role %q, the route has %q", name, ok, role, r.Role)
		}
		delete(roles, name)
	}
	for name := range roles {
		t.Errorf("%s is described and no route", name)
	}
}
