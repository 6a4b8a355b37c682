package httpapi

import (
	"regexp"
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
	described := map[string]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			described[strings.ToUpper(method)+" "+path] = op.Role
			if open := op.Security != nil && len(*op.Security) == 0; open != (op.Role == "") || op.Summary == "" {
				t.Errorf("%s %s: role %q, open %v, summary %q", method, path, op.Role, open, op.Summary)
			}
		}
	}
	parameter := regexp.MustCompile(`:([a-z]+)`)
	for _, r := range (&Server{}).Routes() {
		name := r.Method + " " + parameter.ReplaceAllString(r.Path, "{$1}")
		role, ok := described[name]
		if !ok || role != string(r.Role) {
			t.Errorf("%s: described %v with role %q, the route has %q", name, ok, role, r.Role)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s is described and no route", name)
	}
}
