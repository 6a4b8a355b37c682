#!/bin/sh
# Runs every fuzz target of the module, or of some packages, for a while each: scripts/fuzz.sh [time [package...]]
set -eu
time=${1:-20s}
cd "$(dirname "$0")/.."
[ $# -gt 1 ] && shift || set -- .
log=$(mktemp)
trap 'rm -f "$log"' EXIT
grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' "$@" | sort | while IFS=: read -r file found; do
	package=$(dirname "$file") target=${found#func }
	echo "== $package $target, $time"
	# Left alone, Go spends a minute on making each input that it finds interesting smaller.
	if ! go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=1s "$package" >"$log" 2>&1; then
		cat "$log"
		# Go calls a run failed whose time was over while it minimized: nothing was found.
		grep -q '^    context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" || exit 1
	fi
	tail -n 4 "$log"
done
