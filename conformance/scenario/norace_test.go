//go:build !race

package scenario_test

var buildFlags []string
