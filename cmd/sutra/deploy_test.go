package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const deployFolder = "../../deploy"

// TestDeployNamesSettingsThatExist: whatever deploy/ sets is a setting of this program, by its key or by its variable.
func TestDeployNamesSettingsThatExist(t *testing.T) {
	known := map[string]bool{
		"SUTRA_DB_PASSWORD": true,                                         // of the compose files themselves
		"SUTRA_URL":         true, "SUTRA_KEY": true, "SUTRA_TOKEN": true, // of the commands that talk to a server
	}
	for _, p := range properties() {
		known[p.key], known[envOf(p.key)] = true, true
	}
	names := regexp.MustCompile(`\bSUTRA_[A-Z_]+\b|\bsutra(\.[a-z][a-z-]*)+\b`)
	files := regexp.MustCompile(`^sutra\.(yaml|json|sql|md|git|tenant|labels|selector|name|env|image|pull|pod|container|service)`)
	seen := 0
	for path, text := range deployFiles(t) {
		for _, name := range names.FindAllString(text, -1) {
			if files.MatchString(name) {
				continue
			}
			seen++
			if !known[name] {
				t.Errorf("%s: %s is no setting", path, name)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d settings were found in deploy/: the search is broken", seen)
	}
}

// TestChartSetsWhatServeTakes: the values are valid, the container listens where the image says, and a pod is left the time to stop.
func TestChartSetsWhatServeTakes(t *testing.T) {
	var values struct {
		Settings map[string]string `yaml:"settings"`
		Port     int               `yaml:"port"`
		Grace    int               `yaml:"shutdownGraceSeconds"`
	}
	files := deployFiles(t)
	if err := yaml.Unmarshal([]byte(files["helm/sutra/values.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	s := defaults()
	for _, p := range properties() {
		if v, ok := values.Settings[p.key]; ok {
			if err := p.set(&s, v); err != nil {
				t.Errorf("%s is %q: %v", p.key, v, err)
			}
		}
	}
	if values.Port != 8080 || s.listen != ":8080" || !strings.Contains(files["Dockerfile"], "EXPOSE 8080\n") {
		t.Errorf("the chart's port is %d, the program's %s; both and the image's are to be 8080", values.Port, s.listen)
	}
	if grace := time.Duration(values.Grace) * time.Second; grace != s.grace {
		t.Errorf("the chart's grace is %v, the program's %v", grace, s.grace)
	}
	if want := "terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.shutdownGraceSeconds 5 }}"; !strings.Contains(files["helm/sutra/templates/deployment.yaml"], want) {
		t.Errorf("the pod's grace does not cover the drain and the program's: want %s", want)
	}
}

// TestComposeLeavesTimeToStop: Docker waits longer than the program does.
func TestComposeLeavesTimeToStop(t *testing.T) {
	files := deployFiles(t)
	for _, dialect := range []string{"postgres", "mysql", "mariadb", "sqlserver"} {
		var file struct {
			Services map[string]struct {
				Wait        string            `yaml:"stop_grace_period"`
				Environment map[string]string `yaml:"environment"`
				Ports       []string          `yaml:"ports"`
			} `yaml:"services"`
		}
		if err := yaml.Unmarshal([]byte(files["compose/"+dialect+".yaml"]), &file); err != nil {
			t.Fatalf("%s: %v", dialect, err)
		}
		for _, name := range []string{"sutra-1", "sutra-2"} {
			service := file.Services[name]
			grace, err := duration(service.Environment["SUTRA_SHUTDOWN_GRACE"])
			if err != nil {
				t.Errorf("%s of %s: SUTRA_SHUTDOWN_GRACE: %v", name, dialect, err)
			}
			wait, err := time.ParseDuration(service.Wait)
			if err != nil || wait <= grace {
				t.Errorf("%s of %s: it is given %v to stop and takes up to %v (%v)", name, dialect, wait, grace, err)
			}
			if len(service.Ports) != 1 || !strings.HasSuffix(service.Ports[0], defaults().listen) {
				t.Errorf("%s of %s: ports %q do not lead to %s", name, dialect, service.Ports, defaults().listen)
			}
		}
	}
}

// deployFiles are the texts under deploy/, by their paths there.
func deployFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(deployFolder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(deployFolder, path))
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
