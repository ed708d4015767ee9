#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the models through spin, exhaustively, and compares each verdict with the
# expected one. TAP on standard output. --deep adds a case that takes a minute
# and 2 GB.

set -u

models=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
count=0
failed=0

result() # ok|not_ok description
{
	count=$((count + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "${1/_/ } $count - $2"
}

# Leaves the verdict in $verdict: correct, refuted, or why there is none. A search
# that was cut short is neither: spin says so, and so does the missing summary.
check() # model defines...
{
	local model=$1
	shift

	verdict="spin failed"
	cd "$build" || return
	spin -a "$@" "$models/$model.pml" >spin.log 2>&1 || return
	gcc -O2 -w -DSAFETY -DNOREDUCE -DMEMLIM=4000 -o ./pan ./pan.c || return
	rm -f ./*.trail
	timeout 600 ./pan -m100000 >pan.log 2>&1

	states=$(awk '/states, stored/ { print $1 }' pan.log)
	if grep -q 'assertion violated' pan.log; then
		verdict=refuted
	elif grep -q '^pan:[0-9]*: \|Search not completed\|MEMLIM\|depth too small' pan.log; then
		verdict="search not completed"
	elif grep -q 'errors: 0' pan.log; then
		verdict=correct
	fi
}

expect() # verdict description model defines...
{
	local want=$1 what=$2
	shift 2

	check "$@"
	if [ "$verdict" = "$want" ]; then
		result ok "$what: $verdict (${states:-?} states)"
	else
		result not_ok "$what: $verdict, expected $want"
		sed 's/^/# /' "$build/spin.log" "$build/pan.log" | head -20
	fi
}

if ! command -v spin >/dev/null || ! command -v gcc >/dev/null; then
	echo "TAP version 13"
	echo "1..0 # SKIP spin or gcc is not installed"
	exit 0
fi

echo "TAP version 13"
expect correct "gates and sections, 2 NMIs and 1 exception in each operation" \
	aux_action -DNMIS=2 -DEXCEPTIONS=1
expect correct "gates and sections, 1 NMI and 2 exceptions in each operation" \
	aux_action -DNMIS=1 -DEXCEPTIONS=2
expect correct "gates, 3 NMIs and 2 exceptions in each operation" \
	aux_action -DONLY_GATES -DNMIS=3 -DEXCEPTIONS=2
if [ "${1-}" = --deep ]; then
	expect correct "gates and sections, 3 NMIs and 1 exception in each operation" \
		aux_action -DNMIS=3 -DEXCEPTIONS=1
fi

# The model can fail: each of these breaks one line of the algorithm.
while read -r mutant what; do
	expect refuted "mutant: $what" aux_action -DNMIS=1 -DEXCEPTIONS=1 -DMUTANT_"$mutant"
done <<-END
	CHECK_BEFORE_CLEAR looks for new requests before it stops being busy
	TWO_ACCESSES stores a request with a read and a write
	TOLD_AFTER_CALL notes what the driver was told after the call
	HOLD_TELLS takes a section for one that brings the engine in line
	NO_RETELL keeps what the driver was told over a nested section
	SECTION_NOT_HELD does not hold gates off in the driver's sections
	RELEASE_ONLY_CLEARS leaves a section without a look at the requests
	RESUME_ONLY_RETURNS driver leaves the engine alone when a stopped event resumes
END

# Mainline's algorithm loses gates in two ways.
expect refuted "mainline: a gate in another one's action is dropped" \
	aux_action_mainline -DONLY_GATES
expect refuted "mainline: a pause in the driver's start is not seen" \
	aux_action_mainline -DTASK_ONLY_STARTS -DNMI_ONLY_GATES -DNMIS=1 -DEXCEPTIONS=0
expect correct "mainline: without interrupts" \
	aux_action_mainline -DNMIS=0 -DEXCEPTIONS=0

echo "1..$count"
[ $failed = 0 ]
