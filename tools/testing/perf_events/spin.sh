# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that run models through spin, exhaustively, and compare each verdict
# with the expected one. To be sourced; the models are beside the script. A deadlock
# refutes a model as well as a violated assertion.

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
# The optimizer needs seconds for each model, more than most searches.
check() # optimization model defines...
{
	local optimization=$1 model=$2
	shift 2

	verdict="spin failed"
	cd "$build" || return
	spin -a "$@" "$models/$model.pml" >spin.log 2>&1 || return
	gcc "$optimization" -w -DSAFETY -DNOREDUCE -DMEMLIM=4000 -o ./pan ./pan.c || return
	rm -f ./*.trail
	timeout 600 ./pan -m100000 >pan.log 2>&1

	states=$(awk '/states, stored/ { print $1 }' pan.log)
	if grep -q 'assertion violated\|invalid end state (at' pan.log; then
		verdict=refuted
	elif grep -q '^pan:[0-9]*: \|Search not completed\|MEMLIM\|depth too small' pan.log; then
		verdict="search not completed"
	elif grep -q 'errors: 0' pan.log; then
		verdict=correct
	fi
}

expect() # verdict description model defines...
{
	local want=$1 what=$2 optimization=-O0
	shift 2

	# A search that ends early is a short one.
	[ "$want" = refuted ] || optimization=-O2
	check "$optimization" "$@"
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
