// Command prove runs every test of the module, on every database that this machine can provide, and ends with a table of what was
// proven, what was not, and how to provide what is missing. It exits 1 when a test failed, or when a required dialect is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/sutra-engine/sutra/conformance/provision"
)

func main() {
	require := flag.String("require", "", "`dialects` and brokers that must be proven, separated by blanks or commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	required := strings.FieldsFunc(*require, func(r rune) bool { return r == ' ' || r == ',' })
	verdicts, err := prove(ctx, os.Stdout, required)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
	if report(os.Stdout, verdicts) > 0 {
		os.Exit(1)
	}
}

const hadolint = ".cache/hadolint/bin/hadolint"

// proof is one command that proves something when it exits 0.
type proof struct {
	what string
	args []string
}

type outcome int

const (
	proven outcome = iota
	missing
	failed
)

func (o outcome) String() string {
	return [...]string{"proven", "not proven here", "FAILED"}[o]
}

// verdict is one line of the table.
type verdict struct {
	what    string
	outcome outcome
	took    time.Duration
	note    string
}

func prove(ctx context.Context, out io.Writer, required []string) ([]verdict, error) {
	for _, name := range required {
		if all := append(provision.Dialects(), provision.Brokers()...); !slices.Contains(all, name) {
			return nil, fmt.Errorf("REQUIRE names %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	units, err := unitPackages(ctx)
	if err != nil {
		return nil, err
	}
	var verdicts []verdict
	for _, p := range []proof{
		{"vet", []string{"go", "vet", "./..."}},
		{"import rules", []string{"go", "test", "-run=^TestArchitecture|^TestCore", "./conformance"}},
		{"unit tests", append([]string{"go", "test", "-race"}, units...)},
		{"test servers", []string{"go", "test", "-race", "./conformance/provision", "./conformance/process"}},
	} {
		verdicts = append(verdicts, run(ctx, out, p))
	}
	for _, dialect := range provision.Dialects() {
		verdicts = append(verdicts, onDialect(ctx, out, dialect, slices.Contains(required, dialect))...)
	}
	for _, kind := range provision.Brokers() {
		verdicts = append(verdicts, onBroker(kind, verdicts, slices.Contains(required, kind)))
	}
	return append(verdicts,
		byTool(ctx, out, ".cache/sqlfluff/bin/sqlfluff", "make grammar (needs Python 3 with venv)", proof{"T-SQL grammar", []string{"go", "run", "./scripts/parsetsql"}}),
		byTool(ctx, out, "promtool", "apt-get install prometheus", proof{"alert rules (promtool)", []string{"promtool", "test", "rules", "deploy/prometheus/rules_test.yaml"}}),
		byTool(ctx, out, hadolint, "make deploy (needs Python 3 with venv)", proof{"Dockerfiles (hadolint)", []string{hadolint, "--failure-threshold=style", "deploy/Dockerfile", "deploy/Dockerfile.release"}}),
		// Not vetted: that would read all of Kubernetes' types once more.
		run(ctx, out, proof{"image's build, chart (Helm), compose files (Compose)", []string{"go", "-C", "deploy/check", "test", "-vet=off", "-timeout=30m", "./..."}}),
	), nil
}

// onBroker says whether the scenarios that need a broker ran. They are among those of the one dialect that fleets on brokers run on, and
// pass over what is not there.
func onBroker(kind string, before []verdict, required bool) verdict {
	const scenarios = "postgres: scenarios"
	v := verdict{what: kind, outcome: missing, note: "its scenarios run on PostgreSQL"}
	at := slices.IndexFunc(before, func(v verdict) bool { return v.what == scenarios })
	if err := provision.FindBroker(kind); err != nil {
		v.note = err.Error()
	} else if at >= 0 {
		v.outcome, v.note = before[at].outcome, "within "+scenarios
	}
	if required && v.outcome == missing {
		v.outcome = failed
	}
	return v
}

// unitPackages are all but those that need a database.
func unitPackages(ctx context.Context) ([]string, error) {
	raw, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(raw)), func(path string) bool {
		folder := path[strings.LastIndexByte(path, '/')+1:]
		return slices.Contains([]string{"conformance", "provision", "process", "scenario", "bench"}, folder)
	}), nil
}

// onDialect runs the suite, then whole replicas.
func onDialect(ctx context.Context, out io.Writer, dialect string, required bool) []verdict {
	if why := unprovable(ctx, dialect); why != "" {
		v := verdict{what: dialect, outcome: missing, note: why}
		if required {
			v.outcome = failed
		}
		return []verdict{v}
	}
	var verdicts []verdict
	for _, p := range []proof{
		// What measures time over large tables does so without the race detector, which would take most of it.
		{": conformance", []string{"go", "test", "-race", "-short", "-timeout=30m", "./conformance"}},
		{": large tables", []string{"go", "test", "-timeout=30m", "-run=TestStore/.*/suite/.*DoNotGrow", "./conformance"}},
		{": scenarios", []string{"go", "test", "-timeout=30m", "./conformance/scenario"}},
	} {
		verdicts = append(verdicts, run(ctx, out, proof{dialect + p.what, append(p.args, "-dialect="+dialect)}))
	}
	return verdicts
}

// unprovable says why a dialect cannot be proven here, and how it can.
func unprovable(ctx context.Context, dialect string) string {
	if _, err := os.Stat("dialects/" + dialect); err != nil {
		return "there is no such dialect yet"
	}
	_, err := provision.Find(ctx, dialect, "")
	if u, ok := errors.AsType[*provision.Unavailable](err); ok {
		return "provide it: " + u.Provide
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// byTool proves what a tool can, and says how to provide one that is not there.
func byTool(ctx context.Context, out io.Writer, tool, provide string, p proof) verdict {
	if _, err := exec.LookPath(tool); err != nil {
		return verdict{what: p.what, outcome: missing, note: "provide it: " + provide}
	}
	return run(ctx, out, p)
}

func run(ctx context.Context, out io.Writer, p proof) verdict {
	line := strings.Join(p.args, " ")
	if len(line) > 100 {
		line = line[:100] + "…"
	}
	fmt.Fprintf(out, "\n== %s: %s\n", p.what, line)
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	begun := time.Now()
	err := cmd.Run()
	v := verdict{what: p.what, took: time.Since(begun)}
	if err != nil {
		v.outcome, v.note = failed, err.Error()
	}
	return v
}

// report prints the table and answers how much of it failed.
func report(out io.Writer, verdicts []verdict) int {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	count := 0
	for _, v := range verdicts {
		took := ""
		if v.took > 0 {
			took = v.took.Round(time.Second / 10).String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.what, v.outcome, took, v.note)
		if v.outcome == failed {
			count++
		}
	}
	_ = table.Flush() // what cannot be printed cannot be reported either
	return count
}
