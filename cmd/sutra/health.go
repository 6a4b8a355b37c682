package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/client"
	"github.com/sutra-engine/sutra/ports/fault"
)

// health is the probe of places that have no other: the container image holds nothing but this binary.
func health() *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a replica whether it takes work, or with --live whether its process works", Args: cobra.NoArgs,
		Long: "Ask a replica whether it takes work, or with --live whether its process works. Exit code 4: it does not, or it cannot be reached.",
	}
	r, _ := reach(cmd)
	live := cmd.Flags().Bool("live", false, "ask whether the process works")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
		defer cancel()
		ask := (*client.Client).Ready
		if *live {
			ask = (*client.Client).Live
		}
		if err := ask(r.client(), ctx); err != nil {
			return fault.NotReady.With("%w", err)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "ok")
		return err
	}
	return cmd
}
