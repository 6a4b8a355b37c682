// Command tck runs the DMN Technology Compatibility Kit against core/dmn and core/feel. The kit is read where it lies: the folder of
// SUTRA_TEST_DATA, or ../shared/data beside the module. It prints a line for each failure, then passed and total by level.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	data := flag.String("data", DataDir("."), "folder that holds dmn-tck")
	quiet := flag.Bool("quiet", false, "print the totals only")
	flag.Parse()
	root := filepath.Join(*data, "dmn-tck")
	if _, err := os.Stat(root); err != nil {
		fmt.Printf("the kit is not here (%s); nothing was run\n", root)
		return
	}
	for _, level := range []string{"compliance-level-2", "compliance-level-3"} {
		report, err := Run(filepath.Join(root, level))
		if err != nil {
			fmt.Fprintln(os.Stderr, "tck:", err)
			os.Exit(1)
		}
		if !*quiet {
			for _, failure := range report.Failures {
				fmt.Println(failure)
			}
		}
		fmt.Printf("%s: %d/%d (%.1f %%)\n", level, report.Passed, report.Total, 100*float64(report.Passed)/float64(report.Total))
	}
}

// DataDir answers the folder of test data for a module root.
func DataDir(root string) string {
	if dir := os.Getenv("SUTRA_TEST_DATA"); dir != "" {
		return dir
	}
	return filepath.Join(root, "..", "shared", "data")
}
