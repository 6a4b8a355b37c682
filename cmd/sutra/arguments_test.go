package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongArgumentsSayWhatToDo: the exit code tells scripts, the message tells people, and no password is told to either.
func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	const secret = "geheim"
	t.Setenv("SUTRA_DATASOURCE_URL", "")
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"bogus", exitUsage, `unknown command "bogus" for "sutra"; see sutra --help`},
		{"migrate bogus", exitUsage, "see sutra migrate --help"},
		{"instances 7", exitUsage, "see sutra instances --help"},
		{"deploy", exitUsage, "see sutra deploy --help"},
		{"serve --bogus", exitUsage, "unknown flag: --bogus"},
		{"lint " + dir + "/nowhere", exitUsage, "nowhere is no directory"},
		{"package " + text, exitUsage, "sutra init NAME"},
		{"migrate up", exitUsage, "sutra.datasource.url is not set"},
		{"migrate status", exitUsage, "sutra.datasource.url is not set"},
		{"verify", exitUsage, "sutra.datasource.url is not set"},
		{"doctor", exitUsage, "sutra.datasource.url is not set"},
		{"migrate up --datasource-url=" + dir + "/nowhere/x.db", exitUsage, "its folder has to be there"},
		{"migrate up --datasource-url=postgres://u:" + secret + "@%zz/x", exitUsage, "sutra.datasource.url does not read"},
		{"migrate up --datasource-url=mysql://u:" + secret + "@%zz/x", exitUsage, "sutra.datasource.url does not read"},
		{"migrate up --datasource-url=sqlserver://u:" + secret + "@%zz/x", exitUsage, "sutra.datasource.url does not read"},
		{"migrate up --datasource-url=postgres://u:" + secret + "@127.0.0.1:1/x", exitNotReady, "refused"},
		{"instances --server=ftp://x", exitUsage, "http://HOST:PORT"},
		{"instances --server=http://u:" + secret + "@%zz/", exitUsage, "http://HOST:PORT"},
		{"instances --server=http://u:" + secret + "@127.0.0.1:1/", exitNotReady, "the server does not answer"},
		{"health --server=nonsense", exitUsage, "http://HOST:PORT"},
	} {
		root := command()
		root.SetArgs(strings.Split(c.args, " "))
		root.SetOut(io.Discard)
		err := root.ExecuteContext(t.Context())
		switch {
		case err == nil:
			t.Errorf("sutra %s: no error", c.args)
		case exitCode(err) != c.code || !strings.Contains(err.Error(), c.says):
			t.Errorf("sutra %s: got %d, %v; want %d, and %q", c.args, exitCode(err), err, c.code, c.says)
		case strings.Contains(err.Error(), secret):
			t.Errorf("sutra %s: the message tells the password: %v", c.args, err)
		}
	}
}

// TestAnInterruptIsNoTroubleOfTheServer: a script does not try again because somebody pressed Ctrl-C.
func TestAnInterruptIsNoTroubleOfTheServer(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt signal received"))
	for _, args := range []string{"instances --server=http://127.0.0.1:1", "migrate up --datasource-url=postgres://u:p@127.0.0.1:1/x"} {
		if got := run(ctx, strings.Split(args, " ")); got != exitFailed {
			t.Errorf("sutra %s: got exit code %d, want %d", args, got, exitFailed)
		}
	}
}
