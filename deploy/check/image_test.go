package check

import (
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

const root = "../.."

// TestImageBuilds runs the build stage's own command on what .dockerignore lets through: there comes out a static binary that says its version.
func TestImageBuilds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the image is for Linux, and its binary is run here")
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "sutra")
	build := exec.CommandContext(t.Context(), "sh", "-ec", buildCommand(t, string(dockerfile), binary))
	build.Dir = sent(t)
	build.Env = append(os.Environ(), "VERSION=1.2.3", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, "version").CombinedOutput()
	if string(out) != "sutra 1.2.3\n" || err != nil {
		t.Errorf("sutra version: got %q, %v", out, err)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a %v", part.Type)
		}
	}
}

// buildCommand is what the Dockerfile runs, with the binary's path instead of the one in the image.
func buildCommand(t *testing.T, dockerfile, binary string) string {
	t.Helper()
	const written = " -o /out/sutra "
	lines := strings.ReplaceAll(dockerfile, "\\\n", "")
	run := regexp.MustCompile(`(?m)^RUN (?:--mount=\S+\s+)*(.* go build .*)$`).FindAllStringSubmatch(lines, -1)
	if len(run) != 1 || !strings.Contains(run[0][1], written) || !strings.Contains(dockerfile, "\nCOPY --from=build /out/sutra ") {
		t.Fatalf("got %q; want one RUN with go build%s, and its COPY", run, written)
	}
	return strings.Replace(run[0][1], written, " -o "+binary+" ", 1)
}

// sent is a copy of the files that a builder is sent.
func sent(t *testing.T) string {
	t.Helper()
	ignored, err := os.Open("../Dockerfile.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	defer ignored.Close()
	patterns, err := ignorefile.ReadAll(ignored)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch out, err := matcher.MatchesOrParentMatches(name); {
		case err != nil:
			return err
		case out && d.IsDir(): // nothing below a folder that is out is in again
			return filepath.SkipDir
		case out:
			return nil
		case d.IsDir():
			return os.Mkdir(filepath.Join(folder, name), 0o755)
		}
		return copied(filepath.Join(folder, name), path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func copied(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
