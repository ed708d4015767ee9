#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The litmus tests of Documentation/litmus-tests/perf, by spin. TAP on standard output.

set -u

# shellcheck source=tools/testing/perf_events/spin.sh
. "$(dirname "$0")/../spin.sh"

here=$models
tests=$here/../../../../Documentation/litmus-tests/perf
models=$build

# try litmus-test
try()
{
	local name verdict_of result
	declare -A verdict_of=([Never]=correct [Sometimes]=refuted)

	name=$(basename "$1" .litmus)
	result=$(sed -n 's/^ \* Result: //p' "$1")
	awk -f "$here/litmus.awk" "$1" >"$build/$name.pml"
	expect "${verdict_of[$result]}" "$name: $result" "$name"
}

echo "TAP version 13"
for test in "$tests"/*.litmus; do
	try "$test"
done
echo "1..$count"
[ $failed = 0 ]
