#!/bin/sh
# perf record --one-buffer on a process tree
# SPDX-License-Identifier: GPL-2.0
#
# If the kernel lets several CPUs write to one buffer: one buffer, one descriptor
# per event, all processes of a tree recorded, in order of time. If it doesn't: a
# warning, and the same records in separate buffers.

set -e

dir=$(mktemp -d /tmp/__perf_test.one_buffer.XXXXX)
data="$dir/perf.data"
log="$dir/log"

cleanup() {
	rm -rf "$dir"
	trap - EXIT TERM INT
}

trap_cleanup() {
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$1 [Failed]"
	sed 's/^/  /' "$log"
	cleanup
	exit 1
}

# Three generations, 13 processes
tree='for i in 1 2 3; do (for j in 1 2 3; do (exec true) & done; wait) & done; wait'

# in_order FILE - are the times that perf script prints in order?
in_order() {
	perf script -i "$1" -F time 2> /dev/null | tr -d ' :' | sort -c -n
}

# record ARG... - leaves $data and $log
record() {
	perf record -v -o "$data" -e page-faults -c 1 "$@" > "$log" 2>&1 || fail "perf record $*"
	in_order "$data" || fail "perf record $*: order of time"
}

# pids - print the number of processes with samples
pids() {
	perf script -i "$data" -F pid | sort -u | wc -l
}

uses() {
	grep -q "events use $1" "$log" || fail "perf record doesn't use $1"
}

echo "Process tree by separate buffers"
record -- sh -c "$tree"
processes=$(pids)
[ "$processes" -ge 13 ] || fail "$processes processes, not 13"

echo "Process tree by one buffer"
record --one-buffer -- sh -c "$tree"
[ "$(pids)" -eq "$processes" ] || fail "$(pids) processes, not $processes"

if grep -q 'does not let several CPUs write to one buffer' "$log"; then
	echo "One buffer [Skipped, this kernel does not let several CPUs write to one]"
	cleanup
	exit 2
fi
uses '1 descriptors, 1 buffers'

echo "Two events"
record --one-buffer -e dummy -- sh -c "$tree"
uses '2 descriptors, 1 buffers'

echo "One buffer of overwritable records"
record --one-buffer --overwrite -- sh -c "$tree"
uses '1 descriptors, 1 buffers'

echo "Pipe"
perf record --one-buffer -o - -e page-faults -c 1 -- sh -c "$tree" 2> "$log" > "$data" ||
	fail "perf record -o -"
in_order "$data" || fail "pipe: order of time"

if perf record -a -o "$data" -e dummy true > /dev/null 2>&1; then
	echo "All CPUs by one buffer"
	record -a --one-buffer -- sh -c "$tree"
	uses '[0-9]* descriptors, 1 buffers'
	[ "$(pids)" -ge "$processes" ] || fail "$(pids) processes, not $processes"
fi

echo "perf record --one-buffer [Success]"
cleanup
exit 0
