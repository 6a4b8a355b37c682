//go:build !clockshift

package system

import "time"

// Now is the wall clock with its monotonic reading, for durations and trust.
func Now() time.Time { return time.Now() }
