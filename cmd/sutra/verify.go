package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/ports/fault"
)

// verifyMost bounds the breaches of one rule that are printed.
const verifyMost = 20

func verify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check the invariants of a live database, without disturbing it", Args: cobra.NoArgs,
		Long: "Check the invariants of a live database, without disturbing it. Exit code 1: one does not hold.",
	}
	read := bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err == nil {
			err = s.stored()
		}
		if err != nil {
			return err
		}
		store, err := database.Open(cmd.Context(), database.Config{URL: s.url, MaxConns: 1})
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // the process ends
		if err := store.Check(cmd.Context()); err != nil {
			return err
		}
		breaches, err := store.Views().Verify(cmd.Context(), verifyMost)
		if err != nil {
			return err
		}
		for _, b := range breaches {
			subject := string(b.Deployment)
			if !b.Instance.IsZero() {
				subject = b.Instance.String()
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "broken: %s: tenant %s, %s\n", b.Rule, b.Tenant, subject); err != nil {
				return err
			}
		}
		if len(breaches) > 0 {
			return fault.InvariantBroken.With("%d breaches; stop deploying, keep the database as it is, and report this", len(breaches))
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "every invariant holds")
		return err
	}
	return cmd
}
