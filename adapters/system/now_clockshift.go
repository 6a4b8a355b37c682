//go:build clockshift

package system

import (
	"cmp"
	"os"
	"time"
)

// Now is a wall clock that is wrong by SUTRA_CLOCK_SHIFT, a duration such as -10m. Only tests are built so.
func Now() time.Time {
	shift, err := time.ParseDuration(cmp.Or(os.Getenv("SUTRA_CLOCK_SHIFT"), "0s"))
	if err != nil {
		panic(err)
	}
	return time.Now().Add(shift)
}
