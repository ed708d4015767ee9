#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares what the program given as argument counts with the table in Documentation, and
# with what Documentation says of it. TAP on standard output.

# shellcheck disable=SC2016 # what is in single quotes is for awk
set -u

lines=$(realpath "$1")
cd "$(dirname "$0")" || exit 1
docs=../../../../Documentation/trace/perf-output-shared-lines
table=$(mktemp)
trap 'rm -f "$table"' EXIT
tests=0
failed=0

result() # status what
{
	tests=$((tests + 1))
	[ "$1" = 0 ] && { echo "ok $tests - $2"; return; }
	failed=$((failed + 1))
	echo "not ok $tests - $2"
}

# Does no row match what is wrong? Columns: lines.c. At least the rows of 8 to 1024 CPUs.
never() # what condition
{
	awk -F, 'FNR > 1 { rows++ }
		 $1 == 8 { none[$2] = $4; leases[$2] = $5 }
		 FNR > 1 && ('"$2"') { wrong = 1; print "# " $0 }
		 END { exit wrong || rows != 20 }' "$table"
	result $? "$1"
}

# Where CPUs are in each other's way, counts depend on the order of plain accesses, in which
# compilers differ: the third and the fifth column are within 10%, the others within 5 times.
is_up_to_date()
{
	awk -F, 'function differs(a, b, by) { return a == "" ? b != "" : a > b * by || b > a * by }
		 FNR == NR { was[FNR] = $0; next }
		 { split(was[FNR], old) }
		 FNR == 1 && $0 != was[1] { wrong = 1 }
		 FNR > 1 { for (i = 1; i <= 7; i++)
				if (differs(old[i], $i, i < 3 ? 1 : i == 3 || i == 5 ? 1.1 : 5)) {
					wrong = 1
					print "# " was[FNR] " is " $0
				}
		 }
		 END { exit wrong || FNR != 21 || length(was) != FNR }' "$docs.csv" "$table"
}

echo "TAP version 13"
"$lines" >"$table"
result $? "count"
"$lines" 16 | cmp -s - <("$lines" 16)
result $? "the same again gives the same counts"
is_up_to_date
result $? "the table is up to date"
awk -f lines-plot.awk "$docs.csv" | cmp -s - "$docs.svg"
result $? "the plot is up to date"

never "a private buffer costs next to nothing" '$3 > 0.1'
never "with leases, 1024 CPUs cost as 8" '$1 > 8 && $5 > 1.5 * leases[$2]'
never "with leases, a record of 48 bytes costs a twentieth of a line, one of 512 half a line" \
	'$1 >= 8 && ($2 == 48 && ($5 < 0.03 || $5 > 0.06) || $2 == 512 && ($5 < 0.4 || $5 > 0.7))'
never "without leases, a record costs 5 lines on few CPUs" '$1 <= 8 && ($4 < 4 || $4 > 6)'
never "without leases, 1024 CPUs cost much more" '$1 == 1024 && $4 < 10 * none[$2]'
never "leases save half at least, without pause, too" \
	'$5 > $4 / 2 || ($6 != "" && $7 > $6 / 2)'
echo "1..$tests"
[ $failed = 0 ]
