#!/bin/sh
# Runs every fuzz target of the module for a while each: scripts/fuzz.sh [time]
set -eu
time=${1:-20s}
go list ./... | while read -r package; do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target, $time"
		go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$package"
	done
done
