package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/client"
	"github.com/sutra-engine/sutra/client/wire"
	"github.com/sutra-engine/sutra/ports/fault"
)

func migrateInstances() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate [ID...]",
		Short: "Move instances to another revision, or check with --dry-run whether they can go",
		Long: `Move instances to another revision, each in a transaction of its own: those named, or all living ones that the filters choose.

Without --to an instance moves to what is active in its own slot. Instances that bounced were being advanced: run the same command again.
Exit code 3: something stands against an instance; every reason is printed.`,
	}
	r, asJSON := reach(cmd)
	var b wire.MigrationBatch
	var f wire.MigrationFilter
	flags := cmd.Flags()
	flags.StringVar(&b.To, "to", "", "slot or deployment id to move to")
	flags.StringVar(&b.Process, "to-process", "", "process to go on under (the one with the same id)")
	flags.StringToStringVar(&b.Mapping, "map", nil, "old=new: BPMN ids of nodes and flows that have other names now")
	flags.BoolVar(&b.DryRun, "dry-run", false, "check alone: nothing is claimed and nothing written")
	flags.BoolVar(&b.Resume, "resume", false, "FAILED instances go on")
	flags.StringVar(&b.Event, "event", "", "replay or drop: what becomes of the event that a FAILED instance failed at (replay)")
	flags.StringVar(&b.Timers, "timers", "", "keep or recompute (keep)")
	flags.StringVar(&b.Compensation, "compensation", "", "keep or drop what can no longer be undone (keep)")
	flags.StringVar(&f.DeploymentID, "from", "", "filter: deployment id")
	flags.StringVar(&f.Process, "process", "", "filter: process id")
	flags.StringVar(&f.Tenant, "tenant", "", "filter: tenant")
	flags.StringSliceVar(&f.Status, "status", nil, "filter: suspended, failed (both)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b.Instances = args
		if len(args) == 0 {
			if f.DeploymentID == "" && f.Process == "" {
				return usage{fmt.Errorf("name instances, or say which with --from or --process")}
			}
			b.Filter, b.Limit = &f, 100
		}
		all, err := moveAll(cmd, r.client(), b)
		if err != nil {
			return told(err)
		}
		if *asJSON {
			if err := show(cmd.OutOrStdout(), true, all, ""); err != nil {
				return err
			}
		} else if err := tellMoves(cmd.OutOrStdout(), all); err != nil {
			return err
		}
		return stopped(all.Counts)
	}
	return cmd
}

// moveAll walks the pages of a batch.
func moveAll(cmd *cobra.Command, c *client.Client, b wire.MigrationBatch) (wire.MigrationPage, error) {
	all := wire.MigrationPage{Counts: map[string]int{}, Items: []wire.Migrated{}}
	for {
		page, err := c.MigrateBatch(cmd.Context(), b)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		for outcome, n := range page.Counts {
			all.Counts[outcome] += n
		}
		if page.Next == "" {
			return all, nil
		}
		b.After = page.Next
	}
}

func tellMoves(w io.Writer, all wire.MigrationPage) error {
	var b strings.Builder
	for _, i := range all.Items {
		fmt.Fprintf(&b, "%s %s\n", i.Instance, i.Outcome)
		if i.Detail != "" {
			fmt.Fprintf(&b, "  %s [%s]\n", i.Detail, i.Code)
		}
		for _, v := range i.Violations {
			fmt.Fprintf(&b, "  %s: %s [%s]\n", v.Element, v.Detail, v.Code)
		}
		for _, note := range i.Notes {
			fmt.Fprintf(&b, "  note: %s\n", note)
		}
	}
	b.WriteString(counted(all.Counts) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func counted(counts map[string]int) string {
	if len(counts) == 0 {
		return "no instance was chosen"
	}
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[outcome], outcome))
	}
	return strings.Join(parts, ", ")
}

// stopped makes the exit code: refused ones have to be looked at, bounced ones sent again.
func stopped(counts map[string]int) error {
	left := counted(counts)
	switch {
	case counts["ERROR"] > 0:
		return fault.Internal.With("%s; see the server's log", left)
	case counts["REFUSED"]+counts["NOT_FOUND"] > 0:
		return fault.MigrateRefused.With("%s", left)
	case counts["BOUNCED"] > 0:
		return fault.AdminClaimHeld.With("%s; run it again", left)
	}
	return nil
}
