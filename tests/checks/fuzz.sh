#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SECONDS|merge NAME...: runs fuzz targets of PROGRAMS, each over tests/fuzz/corpus/NAME and FOUND/NAME.
# A crash leaves FOUND/NAME-crash-* behind: put it into the corpus together with its fix.
set -eu
cd "${BASH_SOURCE[0]%/*}/../.."
seconds=$1
shift
status=0
for name; do
	# shellcheck disable=SC2153 # FOUND is from the environment
	found=$FOUND/$name corpus=tests/fuzz/corpus/$name
	mkdir -p "$found" "$corpus"
	options=(-artifact_prefix="$FOUND/$name-" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
	[ ! -f "tests/fuzz/$name.dict" ] || options+=(-dict="tests/fuzz/$name.dict")
	if [ "$seconds" = merge ]; then
		"$PROGRAMS/fuzz_$name" -merge=1 "$corpus" "$found"
	elif "$PROGRAMS/fuzz_$name" "${options[@]}" -max_total_time="$seconds" "$found" "$corpus" >"$FOUND/$name.log" 2>&1; then
		echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$FOUND/$name.log") runs, nothing found"
	else
		status=1
		echo "fuzz $name: FAILED, see $FOUND/$name.log"
		tail -n 40 "$FOUND/$name.log"
	fi
done
exit $status
