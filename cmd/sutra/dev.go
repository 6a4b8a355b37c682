package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/adapters/telemetry"
	"github.com/sutra-engine/sutra/ports"
	"github.com/sutra-engine/sutra/ports/fault"
)

// watchEvery is how often dev looks for a change of its package.
const watchEvery = 500 * time.Millisecond

func dev() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev DIR", Short: "Run a package on embedded SQLite, and deploy it again whenever it is saved", Args: cobra.ExactArgs(1),
		Long: "Run a package on embedded SQLite, and deploy it again whenever it is saved. The API is open, so it listens on loopback only.",
	}
	read := bind(cmd)
	data := cmd.Flags().String("data", "data", "directory of the database")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		if s.url == "" {
			if err := os.MkdirAll(*data, 0o750); err != nil {
				return err
			}
			s.url = "sqlite://" + filepath.Join(*data, "sutra.db")
		}
		s.migrate, s.open, s.replica.Callbacks.Private, s.replica.Callbacks.Plain = true, true, true, true
		if strings.HasPrefix(s.listen, ":") {
			s.listen = "127.0.0.1" + s.listen
		}
		if host, _, err := net.SplitHostPort(s.listen); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return fault.PropertyInvalid.With("sutra.http.listen is %q: dev opens the API to every caller, so it listens on loopback only", s.listen)
		}
		log := slog.New(telemetry.Logs(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: s.logLevel})))
		metrics := telemetry.New()
		store, err := open(cmd.Context(), s, metrics, log)
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // the process ends
		p, err := assemble(cmd.Context(), s, store, metrics, log)
		if err != nil {
			return err
		}
		watcher := &watcher{process: p, dir: args[0], out: cmd.OutOrStdout(), findings: cmd.ErrOrStderr(), stop: make(chan struct{})}
		return p.run(cmd.Context(), watcher)
	}
	return cmd
}

// watcher is a door of its own kind: it lets a package in whenever it was saved.
type watcher struct {
	process
	dir           string
	out, findings interface{ Write([]byte) (int, error) }
	stop          chan struct{}
	last          ports.DeploymentID
	said          string
}

// Serve deploys the package, and again after each change, until Shut.
func (w *watcher) Serve(ctx context.Context) error {
	first := true
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		w.look(ctx, first)
		first = false
		select {
		case <-ctx.Done():
			return nil
		case <-w.stop:
			return nil
		case <-t.C:
		}
	}
}

// Shut ends Serve.
func (w *watcher) Shut(context.Context) error { close(w.stop); return nil }

// look deploys the package when it is another than the last one. A package that is refused is said once, and the last one serves on.
func (w *watcher) look(ctx context.Context, first bool) {
	a, err := seal(w.dir, io.Discard)
	if err == nil && a.ID == w.last {
		return
	}
	var done ports.Deployed
	if err == nil {
		w.last = a.ID
		_, _ = seal(w.dir, w.findings)
		done, err = w.Deployer.Deploy(ctx, ports.Deploy{Archive: a.Bytes})
	}
	if err != nil {
		if text := err.Error(); text != w.said {
			w.said = text
			fmt.Fprintf(w.out, "refused: %s\n", text)
		}
		return
	}
	w.said = ""
	fmt.Fprintf(w.out, "%s is active as revision %d (deployment %.12s)\n", done.Revision.Slot, done.Revision.Number, string(done.Revision.ID))
	if first {
		w.welcome(ctx)
	}
}

// welcome says where the doors are.
func (w *watcher) welcome(ctx context.Context) {
	fmt.Fprintf(w.out, "\nlistening on http://%s\n", w.listener.Addr())
	revisions, err := w.Deployer.Revisions(ctx, nil)
	if err != nil {
		return
	}
	for _, r := range revisions {
		if r.Phase != ports.Active {
			continue
		}
		for _, door := range r.Channels {
			parts := strings.Fields(door)
			if len(parts) == 3 && parts[0] == "http" {
				fmt.Fprintf(w.out, "  curl -X %s http://%s%s -H 'Content-Type: application/json' -d '{…}'\n", parts[1], w.listener.Addr(), parts[2])
			}
		}
	}
	fmt.Fprintf(w.out, "  curl http://%s/sutra/instances\n", w.listener.Addr())
	if readme := filepath.Join(w.dir, "README.md"); exists(readme) {
		fmt.Fprintf(w.out, "the bodies to send are in %s\n", readme)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
