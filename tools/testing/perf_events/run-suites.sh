#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-suites.sh SUITE... -- DIR...: run each suite from the first DIR that has it,
# print its TAP when it has ended, and add up what that says. A suite that ends before
# its plan, or that has no plan, has failed.

set -u

suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	suites+=("$1")
	shift
done
shift

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
dirs=("$@")
passed=0
failed=0
skipped=0

run() # suite [argument]
{
	local dir name=$1
	shift

	for dir in "${dirs[@]}"; do
		[ -x "$dir/$name" ] && { "$dir/$name" "$@"; return; }
	done
	echo "Bail out! $name is not there"
	return 1
}

# As many at once as there are CPUs: most of them wait for traps.
start() # number
{
	# shellcheck disable=SC2086 # a suite may have an argument
	run ${suites[$1]} >"$logs/$1" 2>&1
	echo $? >"$logs/$1.status"
}

report() # number
{
	local log=$logs/$1 suite=${suites[$1]} status plan results skips oks bad

	status=$(cat "$log.status")
	skips=$(grep -c '^ok .*# SKIP\|^1\.\.0 # SKIP' "$log")
	oks=$(($(grep -c '^ok ' "$log") - $(grep -c '^ok .*# SKIP' "$log")))
	bad=$(grep -c '^not ok ' "$log")
	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log")
	results=$(grep -c '^ok \|^not ok ' "$log")

	echo "# $suite"
	cat "$log"
	if [ "$plan" != "$results" ] || { [ "$status" != 0 ] && [ "$bad" = 0 ]; }; then
		echo "# $suite: $results of ${plan:-no} planned results, exit status $status"
		bad=$((bad + 1))
	fi
	passed=$((passed + oks))
	failed=$((failed + bad))
	skipped=$((skipped + skips))
}

# Those that have ended and aren't reported yet
report_ended()
{
	local i

	for i in "${!suites[@]}"; do
		[ -s "$logs/$i.status" ] || continue
		report "$i"
		rm "$logs/$i.status"
	done
}

[ ${#suites[@]} != 0 ] || echo "1..0 # SKIP nothing to test: no directory here has a suites.mk"

jobs=$(nproc)
for i in "${!suites[@]}"; do
	[ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
	report_ended
	start "$i" &
done
while [ -n "$(jobs -rp)" ]; do
	wait -n
	report_ended
done
report_ended

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
