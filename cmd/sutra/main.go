// Command sutra runs and operates the Sutra process engine. It holds flags, wiring and exit codes, and no logic.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/ports/fault"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailed   = 1 // it did not work; the message says what to do
	exitUsage    = 2 // wrong arguments or configuration
	exitRefused  = 3 // the package, or the server, refused what was sent
	exitNotReady = 4 // the database or the server cannot be reached, or is busy: the same again may do
	exitBehind   = 5 // deployed, but not every replica serves it yet
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	root := command() //nolint:contextcheck // commands take their context from cobra
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		fmt.Fprintln(os.Stderr, "sutra: interrupted; what was sent before may have happened")
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "sutra: "+err.Error())
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		for _, more := range f.All {
			fmt.Fprintln(os.Stderr, "sutra: "+more.Error())
		}
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if _, ok := errors.AsType[usage](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[behind](err); ok {
		return exitBehind
	}
	f, ok := errors.AsType[*fault.Fault](err)
	switch {
	case !ok:
		return exitFailed
	case f.Code == fault.PropertyInvalid:
		return exitUsage
	case f.Code.Disposition() == fault.Reject:
		return exitRefused
	case f.Code.Disposition() == fault.Redeliver:
		return exitNotReady
	}
	return exitFailed
}

// usage is an error in the arguments.
type usage struct{ error }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "sutra",
		Short:         "A BPMN 2.0 process engine: identical, stateless replicas over one SQL database",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Long: `A BPMN 2.0 process engine: identical, stateless replicas over one SQL database.

Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration, 3 refused, 4 the database or the
server cannot be reached or is busy, 5 deployed, but not every replica serves it yet.`,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	root.AddCommand(dev(), serve(), initialize(), lintCommand(), pack(), deployCommand(), undeploy(), operation(), deployments(), instances(), tasks(), outbox(), audit(), leases(), migrate(), verify(), doctor(), health(), versionCommand())
	strict(root)
	return root
}

// strict makes wrong arguments of a command and of those below it errors in the arguments, which say where to look.
func strict(cmd *cobra.Command) {
	if !cmd.Runnable() {
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "sutra", version) },
	}
}
