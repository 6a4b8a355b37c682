#!/bin/sh
# Runs every fuzz target of the module, or of one folder, for a while each: scripts/fuzz.sh [time] [folder]
set -eu
time=${1:-20s} folder=${2:-.}
cd "$(dirname "$0")/.."
grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' "./$folder" | sort | while IFS=: read -r file found; do
	package=$(dirname "$file") target=${found#func }
	echo "== $package $target, $time"
	go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=1s "$package"
done
