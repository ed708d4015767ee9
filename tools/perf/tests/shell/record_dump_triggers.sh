#!/bin/sh
# perf record dumps the newest events when an event asks for it
# SPDX-License-Identifier: GPL-2.0
#
# Expected: a trigger fires when its condition is met, and then only; message and header
# of the dump say why; what can't be a trigger is refused before anything starts. Buggy:
# no dump, one too many, or one without its reason.

err=0
dir=$(mktemp -d /tmp/perf-dump-triggers.XXXXXX)
data=$dir/perf.data

cleanup() {
	trap - EXIT TERM INT
	rm -rf "$dir"
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$1 [Failed: $2]"
	[ ! -e "$dir/log" ] || cat "$dir/log"
	err=1
}

# record OPTION... -- COMMAND
record() {
	rm -f "$data"*
	perf record -M 4M -o "$data" "$@" > "$dir/log" 2>&1
}

fired() {
	grep -q "Trigger $1 fired $2 times" "$dir/log"
}

reasons() {
	perf report -i "$1" --header-only 2>/dev/null | grep 'dumped because of'
}

# Some CPU time: each sample stands for 50 us of it
busy="dd if=/dev/zero of=/dev/null bs=1M count=4000"

test_count() {
	# shellcheck disable=SC2086  # several words
	if ! record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=2500000,within=10s" \
		--max-dumps 1 -- $busy || ! grep -q "Dump $data" "$dir/log"; then
		fail "An event that occurs often" "no dump"
		return
	fi
	reasons "$data" | grep -q 'busy: cpu-clock,count=2500000,within=10s: .* times, thread' || {
		fail "An event that occurs often" "the header doesn't say why"
		return
	}
	record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=1000000000000,within=1h" \
		-- sleep 0.1
	if ! fired busy 0 || [ -n "$(reasons "$data")" ]; then
		fail "An event that occurs often" "a dump, though it didn't"
		return
	fi
	echo "An event that occurs often [Success]"
}

test_slow() {
	entry=syscalls:sys_enter_clock_nanosleep
	exit=syscalls:sys_exit_clock_nanosleep
	perf record -e $entry -o "$data" true > /dev/null 2>&1 || {
		echo "A slow system call [Skip: no tracepoints]"
		return
	}
	record -e $entry -e $exit --trigger "slow:$entry..$exit,longer=900ms" -- \
		sh -c 'for i in 1 2 3 4 5 6; do sleep 0.01; done; sleep 1; sleep 0.02; sleep 1.1'
	[ "$(reasons "$data" | grep -c 'trigger slow: .* ms, thread .*, since ')" -eq 2 ] || {
		fail "A slow system call" "not two of them in the header"
		return
	}
	echo "A slow system call [Success]"
}

# refused TEXT OPTION...
refused() {
	says=$1
	shift
	rm -f "$data"
	perf record -e cpu-clock -o "$data" "$@" -- true > "$dir/log" 2>&1 && return 1
	grep -q -e "$says" "$dir/log" && [ ! -s "$data" ]
}

test_refused() {
	refused 'isn.t recorded: add -e no:such' -M 1M --trigger 'x:no:such' &&
		refused 'is not a name' -M 1M --trigger ':cpu-clock' &&
		refused 'needs longer=TIME' -M 1M --trigger 'x:cpu-clock..b' &&
		refused 'is not a time' -M 1M --trigger 'x:cpu-clock,count=2,within=1' &&
		refused 'another one called' -M 1M --trigger 'x:cpu-clock' --trigger x:cpu-clock &&
		refused 'needs -M' --trigger 'x:cpu-clock' || {
		fail "Bad triggers" "one is not refused, or without its reason"
		return
	}
	echo "Bad triggers [Success]"
}

test_names() {
	# shellcheck disable=SC2086  # several words
	record -e cpu-clock -c 50000 --trigger "busy:cpu-clock,count=2500000,within=10s" \
		--switch-output=signal --max-dumps 2 -- $busy
	files=$(find "$dir" -name 'perf.data.*.busy' | wc -l)
	if [ "$files" -lt 1 ] || [ "$files" -gt 2 ]; then
		fail "A file for each dump" "$files files"
		return
	fi
	echo "A file for each dump [Success]"
}

test_count
test_slow
test_names
test_refused

cleanup
exit $err
