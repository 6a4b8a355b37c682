package conformance_test

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// TestChartRenders renders the chart as Helm does, with those of Helm's functions that it uses, and looks at what comes out.
func TestChartRenders(t *testing.T) {
	plain := rendered(t, func(map[string]any) {})
	for name, want := range map[string]string{
		"Deployment spec.replicas": "2", "Deployment spec.template.spec.terminationGracePeriodSeconds": "35",
		"Deployment spec.template.spec.serviceAccountName": "shop", "ServiceAccount metadata.name": "shop",
		"Deployment spec.template.spec.containers.0.image":                            "ghcr.io/sutra-engine/sutra:0.1.0",
		"Deployment spec.template.spec.containers.0.ports.0.containerPort":            "8080",
		"Deployment spec.template.spec.containers.0.readinessProbe.httpGet.path":      "/sutra/health/ready",
		"Deployment spec.template.spec.containers.0.securityContext.capabilities":     "map[drop:[ALL]]",
		"Deployment spec.template.spec.containers.0.lifecycle.preStop.sleep.seconds":  "5",
		"Deployment spec.template.metadata.annotations.prometheus.io/port":            "8080",
		"Deployment spec.selector.matchLabels.app.kubernetes.io/instance":             "shop",
		"Deployment spec.template.metadata.labels.app.kubernetes.io/instance":         "shop",
		"Service spec.selector.app.kubernetes.io/instance":                            "shop",
		"Service spec.ports.0.targetPort":                                             "http",
		"PodDisruptionBudget spec.maxUnavailable":                                     "1",
		"Job metadata.annotations.helm.sh/hook":                                       "pre-install,pre-upgrade",
		"Job spec.template.spec.containers.0.args":                                    "[migrate up]",
		"Job spec.template.spec.containers.0.env.0.valueFrom.secretKeyRef.key":        "datasource-url",
		"Job spec.template.spec.serviceAccountName":                                   "<nil>",
		"Deployment spec.template.spec.containers.0.env.0.valueFrom.secretKeyRef.key": "datasource-url",
	} {
		kind, at, _ := strings.Cut(name, " ")
		if got := fmt.Sprint(find(plain[kind], at)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	env := map[string]any{}
	for _, v := range find(plain["Deployment"], "spec.template.spec.containers.0.env").([]any) {
		env[v.(map[string]any)["name"].(string)] = v.(map[string]any)["value"]
	}
	if env["SUTRA_SHUTDOWN_GRACE"] != "PT25S" || env["SUTRA_HTTP_LISTEN"] != ":8080" || env["SUTRA_DATASOURCE_MAX_CONNECTIONS"] != "16" {
		t.Errorf("environment: got %v", env)
	}

	other := rendered(t, func(v map[string]any) {
		v["replicas"] = nil
		v["env"] = []any{map[string]any{"name": "SHOP_URL", "value": "http://shop"}}
		v["podLabels"], v["podAnnotations"] = map[string]any{"team": "x"}, map[string]any{"a": "b"}
		v["tolerations"], v["nodeSelector"], v["affinity"] = []any{map[string]any{"key": "x"}}, map[string]any{"n": "m"}, map[string]any{"podAffinity": map[string]any{}}
		v["image"].(map[string]any)["pullSecrets"] = []any{"registry"}
		for _, off := range []string{"migration", "disruptionBudget"} {
			v[off].(map[string]any)["enabled"] = false
		}
		v["serviceAccount"].(map[string]any)["create"] = false
	})
	if kinds := slices.Sorted(maps.Keys(other)); !slices.Equal(kinds, []string{"Deployment", "Service"}) {
		t.Errorf("with all that can be off: got %v", kinds)
	}
	for at, want := range map[string]string{
		"spec.replicas": "<nil>", "spec.template.spec.serviceAccountName": "default", "spec.template.spec.imagePullSecrets.0.name": "registry",
		"spec.template.metadata.labels.team": "x", "spec.template.metadata.annotations.a": "b", "spec.template.spec.nodeSelector.n": "m",
	} {
		if got := fmt.Sprint(find(other["Deployment"], at)); got != want {
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
}

// rendered are the chart's objects by kind, as the release "shop".
func rendered(t *testing.T, change func(values map[string]any)) map[string]any {
	t.Helper()
	files := deployFiles(t)
	var values, chart map[string]any
	for name, into := range map[string]*map[string]any{"values.yaml": &values, "Chart.yaml": &chart} {
		if err := yaml.Unmarshal(files["helm/sutra/"+name], into); err != nil {
			t.Fatal(err)
		}
	}
	change(values)
	all := template.New("").Option("missingkey=error")
	all.Funcs(helmFunctions(all))
	for name, text := range files {
		if strings.HasPrefix(name, "helm/sutra/templates/") {
			template.Must(all.New(path.Base(name)).Parse(string(text)))
		}
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
		"Release": map[string]any{"Name": "shop", "Namespace": "shops", "Service": "Helm"},
	}
	objects := map[string]any{}
	for _, one := range all.Templates() {
		var out bytes.Buffer
		if path.Ext(one.Name()) != ".yaml" && one.Name() != "NOTES.txt" {
			continue
		}
		if err := one.Execute(&out, data); err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if one.Name() == "NOTES.txt" {
			continue
		}
		if err := yaml.Unmarshal(out.Bytes(), &object); err != nil {
			t.Fatalf("%s: %v\n%s", one.Name(), err, out.Bytes())
		}
		if kind, ok := object["kind"].(string); ok {
			objects[kind] = object
		}
	}
	return objects
}

// helmFunctions are Helm's, as far as the chart uses them.
func helmFunctions(all *template.Template) template.FuncMap {
	indent := func(n int, text string) string {
		pad := strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(v any) (string, error) {
			out, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(out), "\n"), err
		},
		"indent":     indent,
		"nindent":    func(n int, text string) string { return "\n" + indent(n, text) },
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default":    func(instead, v string) string { return map[bool]string{true: instead, false: v}[v == ""] },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"replace":    func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
		"upper":      strings.ToUpper,
		"add": func(all ...int) (sum int) {
			for _, n := range all {
				sum += n
			}
			return sum
		},
	}
}

// find walks an object by names and numbers with dots between them. Names of labels have dots of their own.
func find(at any, names string) any {
	switch v := at.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == names {
				return inner
			}
			if rest, ok := strings.CutPrefix(names, name+"."); ok {
				return find(inner, rest)
			}
		}
	case []any:
		number, rest, _ := strings.Cut(names, ".")
		for i, inner := range v {
			if fmt.Sprint(i) != number {
				continue
			}
			if rest == "" {
				return inner
			}
			return find(inner, rest)
		}
	}
	return nil
}
