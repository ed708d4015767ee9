#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sideband-fuzz.sh PROGRAM RUNS: a fixed number of libFuzzer's inputs, the same each
# time. There is no PROGRAM without libFuzzer.

set -u

if [ ! -x "$1" ]; then
	echo "1..0 # SKIP no clang with libFuzzer"
	exit 0
fi

echo 1..1
# As long inputs as a history needs; a crash leaves its input in the directory
dir=$(mktemp -d)
if "$1" -runs="$2" -seed=1 -len_control=0 -max_len=4096 -artifact_prefix="$dir/" >"$dir/log" 2>&1
then
	cover=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$dir/log" | tail -1)
	echo "ok 1 - $2 inputs of libFuzzer: $cover"
	rm -rf "$dir"
else
	sed 's/^/# /' "$dir/log"
	echo "not ok 1 - libFuzzer has found something, see $dir"
fi
