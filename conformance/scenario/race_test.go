//go:build race

package scenario_test

// buildFlags make the replicas race-checked when the tests are.
var buildFlags = []string{"-race"}
