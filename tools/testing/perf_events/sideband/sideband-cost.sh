#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sideband-cost.sh PROGRAM PERF-DATA: the cost of a side-band record, by cachegrind. The
# data is a recording of one event, e.g. perf record -e cpu-clock -F 1000 -a.

set -euo pipefail

# count drop|keep - prints records, instructions, misses of the first level, and of the last
count() {
	valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 \
		--LL=1048576,16,64 --cachegrind-out-file=/dev/null "$program" "$1" "$data" 2>&1 |
		sed 's/,//g' | awk '/^[0-9]+$/ { n = $1 }
			/I *refs:/ { i = $4 }
			/D1 *misses:/ { d = $4 }
			/LLd misses:/ { l = $4 }
			END { print n, i, d, l }'
}

program=$1 data=$2
read -r records i d l < <(count keep)
read -r _ i0 d0 l0 < <(count drop)
awk -v n="$records" -v i=$((i - i0)) -v d=$((d - d0)) -v l=$((l - l0)) 'BEGIN {
	printf "of %d records each: %.0f instructions, %.1f misses of 32 KiB, %.1f of 1 MiB\n",
		n, i / n, d / n, l / n }'
