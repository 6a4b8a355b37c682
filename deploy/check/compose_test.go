package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// environment is what the files ask for.
func environment() types.Mapping {
	return types.Mapping{"SUTRA_DB_PASSWORD": "Secret1234", "SUTRA_ADMIN_AUTH_KEYS": "admin:change-me"}
}

// compose loads a file as `docker compose config` does.
func compose(ctx context.Context, path string, text []byte, env types.Mapping) (*types.Project, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path, Content: text}}, Environment: env,
	})
}

// TestComposeLoads: two replicas, which begin when the migration is done, which begins when the database is healthy; and every file that a
// container is built of or is given stands.
func TestComposeLoads(t *testing.T) {
	paths, err := filepath.Glob("../compose/*.yaml")
	if err != nil || len(paths) != 4 {
		t.Fatalf("got %v, %v; want a file for each of four databases", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			project, err := compose(t.Context(), path, text, environment())
			if err != nil {
				t.Fatal(err)
			}
			for name, service := range project.Services {
				for _, file := range files(service) {
					if _, err := os.Stat(file); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			begins(t, project)
			for name := range environment() {
				less := environment()
				delete(less, name)
				if _, err := compose(t.Context(), path, text, less); err == nil {
					t.Errorf("loads without %s", name)
				}
			}
		})
	}
}

// files are those of this machine that a service needs.
func files(service types.ServiceConfig) (all []string) {
	if service.Build != nil {
		all = append(all, filepath.Join(service.Build.Context, service.Build.Dockerfile))
	}
	for _, volume := range service.Volumes {
		if volume.Type == types.VolumeTypeBind {
			all = append(all, volume.Source)
		}
	}
	return all
}

func begins(t *testing.T, project *types.Project) {
	t.Helper()
	for _, name := range []string{"sutra-1", "sutra-2"} {
		if got := project.Services[name].DependsOn["migrate"].Condition; got != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("%s begins when the migration is %q", name, got)
		}
	}
	for name, service := range project.Services {
		for other, dependency := range service.DependsOn {
			waited := project.Services[other]
			if tested := waited.HealthCheck != nil && !waited.HealthCheck.Disable && len(waited.HealthCheck.Test) > 0; dependency.Condition == types.ServiceConditionHealthy && !tested {
				t.Errorf("%s begins when %s is healthy, which nothing says", name, other)
			}
			if dependency.Condition == types.ServiceConditionCompletedSuccessfully && waited.Restart == types.RestartPolicyUnlessStopped {
				t.Errorf("%s begins when %s has ended, which is started again for ever", name, other)
			}
		}
	}
}

// TestComposeCheckBites: the loader refuses what would fail on somebody's machine.
func TestComposeCheckBites(t *testing.T) {
	const path = "../compose/postgres.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"migrate: {condition":           "migrated: {condition",
		"service_healthy":               "service_well",
		"interval: 3s":                  "interval: soon",
		"retries: 30":                   "retries: many",
		"[CMD, pg_isready":              "[RUN, pg_isready",
		"- data:/var":                   "- date:/var",
		`"8081:8080"`:                   `"8081:http"`,
		"read_only: true":               "readonly: true",
		"${SUTRA_DB_PASSWORD}":          "${SUTRA_DB_PASSWORD",
		"dockerfile: deploy/Dockerfile": "dockerfile: [deploy/Dockerfile]",
	} {
		broken := strings.Replace(string(text), right, wrong, 1)
		if broken == string(text) {
			t.Errorf("%s is not in %s", right, path)
		} else if _, err := compose(t.Context(), path, []byte(broken), environment()); err == nil {
			t.Errorf("%s instead of %s: loads", wrong, right)
		}
	}
}
