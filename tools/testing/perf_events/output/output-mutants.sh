#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults in kernel/events/output_shared.c, one at a time, that output_test must find.
# TAP on standard output.

set -u

here=$(cd "$(dirname "$0")" && pwd)
source=$here/../../../../kernel/events/output_shared.c
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
count=0
failed=0

# The subshell keeps the shell's own words about a crash out of the output.
run_test()
{
	(timeout 300 "$build/output_test"; exit) >"$build/log" 2>&1
}

# found_by status - what an exit status of run_test() other than 0 says
found_by()
{
	case $1 in
	1) echo "$(grep -c '^not ok' "$build/log") of its tests" ;;
	124) echo "a timeout" ;;
	*) echo "a crash" ;;
	esac
}

try() # description sed-script
{
	local verdict="not ok" by="no test" status

	count=$((count + 1))
	sed "$2" "$source" >"$build/mutant.c"
	if cmp -s "$source" "$build/mutant.c"; then
		echo "# the fault could not be made: $2"
	elif ! make -s -C "$here" O="$build" MUTANT="$build/mutant.c" \
			"$build/output_test" >"$build/log" 2>&1; then
		sed 's/^/# /' "$build/log" | head -20
	else
		run_test
		status=$?
		[ $status = 0 ] || { verdict=ok; by=$(found_by $status); }
	fi
	[ "$verdict" = ok ] || failed=$((failed + 1))
	echo "$verdict $count - found by $by: $1"
}

echo "TAP version 13"
try "publishes complete blocks without regard to records" \
	's/next == end ? end : start/next/'
try "stores data_head without cmpxchg" \
	's/if (try_cmpxchg(data_head, &old, \(shared_flip(sh, until)\)))'\
'/WRITE_ONCE(*data_head, \1); if (old != until)/'
try "believes data_tail" \
	's/if (head + size - complete > sh->size)/if (head == complete + 1)/'
try "takes what was lost twice" \
	's/return atomic_long_xchg(&sh->lost, 0)/return atomic_long_read(\&sh->lost)/'
try "forgets what was lost when there is no room" \
	's/shared_lose(sh, event, lost + 1)/shared_lose(sh, event, 1)/'
try "scans for what is complete before it commits" \
	'/^void perf_output_end_shared/,/^}/{s/shared_commit(\(.*\));/shared_publish(rb);/;t;'\
's/shared_publish(rb)/shared_commit(rb->shared, handle->shared_start, handle->shared_size)/}'
try "publishes complete blocks only" \
	's/if (pos != end \&\& atomic_long_read(&sh->reserved) - pos == bytes)/if (0)/'
try "publishes what is reserved" \
	's/if (pos != end \&\& atomic_long_read(&sh->reserved) - pos == bytes)/if (pos != end)/'
try "takes no notice of who wants to be woken" \
	's/shared_advance(&sh->wanted, .*);/wake = false;/'
try "doesn't look again whether there is room" \
	's/if (atomic_long_read(&sh->reserved) == head)/if (1)/'
try "wants the reader for the beginning of a sample" \
	'/shared_advance(&sh->wanted/s/ + handle->shared_size//'
try "takes an early wake-up for the one that was wanted" \
	's/shared_advance(&sh->woken, until)/shared_advance(\&sh->woken, wanted)/'
try "lets two contexts write to the control page" \
	'/atomic_cmpxchg_acquire(&rb->shared->page_busy/s/, 0, 1)/, 0, 0)/'
try "lets user space read the counter of the mapped event" \
	's/page->cap_user_rdpmc = 0;//'
try "wakes the first event's reader only" \
	's/wake_up_all(&event->waitq);/{ wake_up_all(\&event->waitq); break; }/'
try "doesn't tell poll()" \
	's/atomic_set(&rb->poll, .*);//'

echo "1..$count"
[ $failed = 0 ]
