#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME each (default 1m).
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-1m}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	dir=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | cut -d' ' -f2 | while read -r target; do
		echo "== $dir $target"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
	done
done
