#!/bin/sh
# Runs every fuzz target of the module, or of some packages, for a while each: scripts/fuzz.sh [time [package...]]
set -eu
time=${1:-20s}
cd "$(dirname "$0")/.."
[ $# -gt 1 ] && shift || set -- .
grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' "$@" | sort | while IFS=: read -r file found; do
	package=$(dirname "$file") target=${found#func }
	echo "== $package $target, $time"
	go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=1s "$package"
done
