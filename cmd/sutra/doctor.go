package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sutra-engine/sutra/adapters/database"
	"github.com/sutra-engine/sutra/ports/fault"
)

func doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at the database: version, settings, rights, schema, clock, old transactions, what is left behind; and say what to change", Args: cobra.NoArgs,
		Long: `Look at the database: its version, settings, the rights of the role, the schema, the clock, old transactions, what is left behind.

Each check says ok, warn or fail, what was seen, and what to change. Nothing is changed. A replica makes the same checks of settings and
rights when it starts, and does not start where one fails. A SQLite file has to be free: stop the engine first.
Exit code 0: nothing fails (warnings may be there); 1: something does; 4: the database cannot be reached.`,
	}
	read := bind(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		found, err := database.Examine(cmd.Context(), database.Examination{Config: database.Config{URL: s.url, MaxConns: s.maxConns}})
		if err != nil {
			return err
		}
		failing := 0
		for _, f := range found {
			if f.Level == database.Failing {
				failing++
			}
		}
		if *asJSON {
			err = show(cmd.OutOrStdout(), true, found, "")
		} else {
			err = tell(cmd.OutOrStdout(), found)
		}
		if err == nil && failing > 0 {
			err = fault.SettingRefused.With("%d of %d findings are failures; change what they say, and look again", failing, len(found))
		}
		return err
	}
	return cmd
}

// tell prints findings: one line each, and below it what to change.
func tell(w io.Writer, found []database.Finding) error {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%-4s  %s: %s\n", f.Level, f.Check, f.Seen)
		if f.Advice != "" {
			fmt.Fprintf(&b, "      → %s\n", f.Advice)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
