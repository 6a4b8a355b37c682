package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/core/deploy"
	"github.com/sutra-engine/sutra/core/lint"
)

// archived makes an archive of a package directory, whatever is wrong with what is in it.
func archived(dir string) (*archive.Archive, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usage{fmt.Errorf("%s is no directory; name one that holds a package, or make one by sutra init NAME", dir)}
	}
	return archive.Seal(os.DirFS(dir), archive.Default())
}

// seal reads a package directory, lints it and seals it. Findings are printed; an error among them refuses the package.
func seal(dir string, findings io.Writer) (*archive.Archive, error) {
	a, err := archived(dir)
	if err != nil {
		return nil, err
	}
	rev, found := deploy.Compile(a, deploy.Limits{})
	for _, f := range found {
		if f.Level != lint.Error {
			if _, err := fmt.Fprintf(findings, "%s: %s\n", f.Level, f); err != nil {
				return nil, err
			}
		}
	}
	if rev == nil {
		return nil, deploy.Refusal(found)
	}
	return a, nil
}

func pack() *cobra.Command {
	cmd := &cobra.Command{Use: "package DIR", Short: "Lint a package and seal it into a .sutra archive", Args: cobra.ExactArgs(1)}
	out := cmd.Flags().String("out", ".", "directory for the archive")
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := seal(args[0], cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		path := filepath.Join(*out, a.Name())
		if err := os.WriteFile(path, a.Bytes, 0o644); err != nil { //nolint:gosec // an archive holds no secret
			return err
		}
		if *asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
				"archive": path, "deploymentId": a.ID, "slot": a.Slot().String(), "bytes": len(a.Bytes),
			})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "sealed %s\n  deployment %s\n  slot       %s\n  %d files, %d bytes\n",
			path, a.ID, a.Slot(), len(a.Files), len(a.Bytes))
		return err
	}
	return cmd
}

func lintCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "lint DIR", Short: "Say what is wrong with a package", Args: cobra.ExactArgs(1)}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := archived(args[0])
		if err != nil {
			return err
		}
		_, findings := deploy.Compile(a, deploy.Limits{})
		w := cmd.OutOrStdout()
		if *asJSON {
			if err := json.NewEncoder(w).Encode(findings); err != nil {
				return err
			}
		} else {
			for _, f := range findings {
				if _, err := fmt.Fprintf(w, "%s: %s\n", f.Level, f); err != nil {
					return err
				}
			}
		}
		if refused := lint.Faults(findings); refused != nil {
			return refused.Code.With("%s is refused, for what is said above", args[0])
		}
		if !*asJSON {
			_, err = fmt.Fprintf(w, "%s: %d files, nothing is refused\n", a.Slot(), len(a.Files))
		}
		return err
	}
	return cmd
}

func initialize() *cobra.Command {
	return &cobra.Command{
		Use: "init NAME", Short: "Make a package to start from, in a new directory", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if _, err := os.Stat(dir); err == nil {
				return usage{fmt.Errorf("%s is there already; choose another name", dir)}
			}
			for path, text := range starter(filepath.Base(dir)) {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // sources are for everybody
					return err
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // sources are for everybody
					return err
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "made %s; run it with: sutra dev %s\n", dir, dir)
			return err
		},
	}
}

// starter is the smallest package that answers: a request in, a greeting out.
func starter(name string) map[string]string {
	return map[string]string{
		"package.yaml": fmt.Sprintf("labels:\n  tenant: demo\n  module: %s\n  version: 1.0.0\nengine:\n  minContract: 1\n", name),
		"channels.yaml": `channels:
  - name: hello
    transport: http
    bind: "POST /hello"
    auth: {scheme: none}
`,
		"bpmn/hello.bpmn": `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:q="urn:sutra:q:1.0" targetNamespace="urn:example" id="hello-definitions">
  <process id="hello" isExecutable="true">
    <startEvent id="asked">
      <extensionElements><q:source channel="hello"/></extensionElements>
    </startEvent>
    <sequenceFlow id="to-greeting" sourceRef="asked" targetRef="greeting"/>
    <scriptTask id="greeting" scriptFormat="feel">
      <extensionElements/>
      <script>{ greeting: "Hello, " + payload.name }</script>
    </scriptTask>
    <sequenceFlow id="to-end" sourceRef="greeting" targetRef="answered"/>
    <endEvent id="answered">
      <extensionElements><q:reply contentType="application/json"/></extensionElements>
    </endEvent>
  </process>
</definitions>
`,
	}
}
