package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/client"
	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/core/archive"
	"github.com/sutra-engine/sutra/ports/fault"
)

// sayEvery is how often a command that waits says what for.
const sayEvery = 2 * time.Second

func deployCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "deploy FILE|DIR", Short: "Deploy an archive, or a package directory, to a fleet", Args: cobra.ExactArgs(1),
		Long: `Deploy an archive, or a package directory, to a fleet. The answer is definitive: it is active, or it was refused and nothing changed.

Exit code 5: it is active, but with --wait=fleet not every replica served it in time; those that do not are named.`,
	}
	r, asJSON := reach(cmd)
	var o client.DeployOptions
	wait := cmd.Flags().String("wait", "", "fleet: answer when every replica serves it")
	cmd.Flags().BoolVar(&o.Async, "async", false, "do not wait: print the operation")
	cmd.Flags().StringVar(&o.Supersedes, "supersedes", "", "slot that is drained in the same transaction")
	cmd.Flags().StringVar(&o.Callback, "callback", "", "https URL that hears of the outcome")
	cmd.Flags().StringVar(&o.Notify, "notify", "", "broker destination that hears of the outcome")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *wait != "" && *wait != "fleet" {
			return usage{fmt.Errorf("--wait is %q; the one thing to wait for is fleet", *wait)}
		}
		if o.Fleet = *wait == "fleet"; o.Fleet && o.Async {
			return usage{errors.New("--async does not wait, so leave --wait out; sutra operation ID --wait waits for its outcome")}
		}
		sealed, err := archiveOf(args[0], cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		said := cmd.ErrOrStderr()
		if *asJSON {
			said = io.Discard
		}
		upload := &progress{Reader: bytes.NewReader(sealed), size: len(sealed), out: said}
		if o.Async {
			op, err := r.client().Submit(cmd.Context(), upload, o)
			if err != nil {
				return told(err)
			}
			return show(cmd.OutOrStdout(), *asJSON, op, fmt.Sprintf("accepted as operation %s; how it ends: sutra operation %s --wait\n", op.ID, op.ID))
		}
		stop := saying(said, func() string { return r.standing(cmd.Context(), sealed, o.Fleet) })
		d, err := r.client().Deploy(cmd.Context(), upload, o)
		stop()
		if err != nil {
			return told(err)
		}
		if err := show(cmd.OutOrStdout(), *asJSON, d, deployed(d)); err != nil || len(d.Behind) == 0 {
			return err
		}
		return behind{fmt.Errorf("it is active, but not served yet by %s; sutra deployments show %s says who serves it", strings.Join(d.Behind, ", "), d.Slot)}
	}
	return cmd
}

func deployed(d wire.Deployment) string {
	text := fmt.Sprintf("%s is %s as revision %d (deployment %s)\n", d.Slot, d.Phase, d.Revision, d.DeploymentID)
	if d.Unchanged {
		text = "unchanged: " + text
	}
	return text
}

// behind is a deploy that is active and that some replica does not serve yet.
type behind struct{ error }

// standing is what a deploy waits for, in words.
func (r remote) standing(ctx context.Context, sealed []byte, fleet bool) string {
	if !fleet {
		return "waiting: the server verifies and compiles it"
	}
	a, err := archive.Open(sealed, archive.Default())
	if err != nil {
		return "waiting for the answer"
	}
	d, err := r.client().Deployment(ctx, string(a.ID))
	if err != nil || d.Phase != "Active" {
		return "waiting: the server verifies and compiles it"
	}
	return fmt.Sprintf("waiting for the fleet: %d of %d replicas serve it; not yet %s", len(d.ServedBy), len(d.ServedBy)+len(d.Behind), strings.Join(d.Behind, ", "))
}

// saying prints what is waited for, every so often, until stop.
func saying(out io.Writer, what func() string) (stop func()) {
	done := make(chan struct{})
	var sayer sync.WaitGroup
	sayer.Go(func() {
		begun := time.Now()
		t := time.NewTicker(sayEvery)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				_, _ = fmt.Fprintf(out, "%s (%v)\n", what(), time.Since(begun).Round(time.Second)) // progress: nobody depends on it
			}
		}
	})
	return func() { close(done); sayer.Wait() }
}

// archiveOf reads an archive, or seals a directory.
func archiveOf(path string, findings io.Writer) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage{err}
	}
	if !info.IsDir() {
		return os.ReadFile(path)
	}
	a, err := seal(path, findings)
	if err != nil {
		return nil, err
	}
	return a.Bytes, nil
}

// progress says how much of an upload is sent: after each twentieth of it, a mebibyte at least, and at its end.
type progress struct {
	io.Reader
	out        io.Writer
	size       int
	sent, said int
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.sent += n
	if step := max(1<<20, p.size/20); n > 0 && (p.sent-p.said >= step || p.sent == p.size) {
		p.said = p.sent
		_, _ = fmt.Fprintf(p.out, "sent %d of %d bytes (%d%%)\n", p.sent, p.size, 100*p.sent/p.size) // nobody depends on it
	}
	return n, err
}

func operation() *cobra.Command {
	cmd := &cobra.Command{
		Use: "operation ID", Short: "Say how a deploy stands that was submitted with --async", Args: cobra.ExactArgs(1),
		Long: "Say how a deploy stands that was submitted with --async. Any replica knows. A deploy that was refused ends with exit code 3.",
	}
	r, asJSON := reach(cmd)
	wait := cmd.Flags().Bool("wait", false, "wait for its outcome")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		said := cmd.ErrOrStderr()
		if *asJSON {
			said = io.Discard
		}
		stop := saying(said, func() string { return "waiting: it is pending" })
		op, err := r.outcome(cmd.Context(), args[0], *wait)
		stop()
		if err != nil {
			return told(err)
		}
		text := fmt.Sprintf("operation %s is %s (deployment %s)\n", op.ID, op.State, op.DeploymentID)
		if err := show(cmd.OutOrStdout(), *asJSON, op, text); err != nil {
			return err
		}
		if op.State == "failed" {
			return fault.Code(op.Code).With("%s", op.Detail)
		}
		return nil
	}
	return cmd
}

// outcome reads an operation, and reads again while it is pending, if asked to.
func (r remote) outcome(ctx context.Context, id string, wait bool) (wire.Operation, error) {
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		op, err := r.client().Operation(ctx, id)
		if err != nil || op.State != "pending" || !wait {
			return op, err
		}
		select {
		case <-ctx.Done():
			return op, ctx.Err()
		case <-t.C:
		}
	}
}

func undeploy() *cobra.Command {
	cmd := &cobra.Command{Use: "undeploy SLOT|ID", Short: "Drain a revision: no new instances, running ones finish", Args: cobra.ExactArgs(1)}
	r, asJSON := reach(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := r.client().Undeploy(cmd.Context(), args[0])
		if err != nil {
			return told(err)
		}
		return show(cmd.OutOrStdout(), *asJSON, d, fmt.Sprintf("%s revision %d is %s; what holds it back: sutra deployments show %s\n",
			d.Slot, d.Revision, d.Phase, d.DeploymentID))
	}
	return cmd
}

func deployments() *cobra.Command {
	cmd := &cobra.Command{Use: "deployments", Short: "List active and draining revisions, and what holds back those that drain", Args: cobra.NoArgs}
	r, asJSON := reach(cmd)
	all := cmd.Flags().Bool("all", false, "list retired revisions too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := url.Values{"phase": {"Active", "Draining"}}
		if *all {
			q = nil
		}
		found, err := r.client().Deployments(cmd.Context(), q)
		if err != nil {
			return told(err)
		}
		return table(cmd.OutOrStdout(), *asJSON, found, "SLOT\tREVISION\tPHASE\tDEPLOYMENT\tINSTANCES\tOUTBOX\tTASKS\tREPLICAS", func(d wire.Deployment) string {
			b := wire.Blockers{}
			if d.Blockers != nil {
				b = *d.Blockers
			}
			return fmt.Sprintf("%s\t%d\t%s\t%.12s\t%d\t%d\t%d\t%d/%d",
				d.Slot, d.Revision, d.Phase, d.DeploymentID, b.LiveInstances, b.PendingOutbox, b.ParkedTasks, len(d.ServedBy), len(d.ServedBy)+len(d.Behind))
		})
	}
	cmd.AddCommand(oneDeployment())
	return cmd
}

func oneDeployment() *cobra.Command {
	cmd := &cobra.Command{Use: "show SLOT|ID", Short: "Say how a revision stands: who serves it, and what holds back its retirement", Args: cobra.ExactArgs(1)}
	r, asJSON := reach(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := r.client().Deployment(cmd.Context(), args[0])
		if err != nil {
			return told(err)
		}
		return show(cmd.OutOrStdout(), *asJSON, d, explained(d))
	}
	return cmd
}

// explained is a revision in words.
func explained(d wire.Deployment) string {
	var b strings.Builder
	line := func(what string, values ...string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "  %-12s %s\n", what, strings.Join(values, ", "))
		}
	}
	at := func(what string, t *time.Time) {
		if t != nil {
			line(what, t.Format(time.RFC3339))
		}
	}
	b.WriteString(deployed(d))
	at("activated", d.Activated)
	at("drained", d.Drained)
	at("retired", d.Retired)
	line("doors", d.Doors...)
	line("served by", d.ServedBy...)
	line("not yet by", d.Behind...)
	if d.Broken != "" {
		line("broken", d.Broken)
	}
	if d.Phase == "Draining" {
		line("held back", held(d)...)
	}
	return b.String()
}

// held says what holds a draining revision back, and where to look.
func held(d wire.Deployment) []string {
	var out []string
	leg := func(n int, few []string, format string, args ...any) {
		if n == 0 {
			return
		}
		lines := append([]string{fmt.Sprintf("\n    %d ", n) + fmt.Sprintf(format, args...)}, few...)
		out = append(out, strings.Join(lines, "\n      "))
	}
	if b := d.Blockers; b != nil {
		few := cmp.Or(b.Examples, &wire.Examples{})
		leg(b.LiveInstances, few.Instances, "instances have not ended: sutra instances --deployment %s (--status failed: those that wait for an operator)", d.DeploymentID)
		leg(b.PendingOutbox, few.Outbox, "emissions are not sent: sutra outbox")
		leg(b.ParkedTasks, few.Tasks, "external tasks are not done: sutra tasks")
	}
	if len(out) == 0 {
		return []string{"by nothing: it retires at the next look"}
	}
	return out
}
