#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: output-mutants.sh [STEP]
#
# Faults in kernel/events/output_*.[ch], one at a time, that output_test must find; of these
# each STEP-th one. TAP on standard output.

set -u

here=$(cd "$(dirname "$0")" && pwd)
events=$here/../../../../kernel/events
sources=(output_shared.c output_lease.c output_overwrite.c output_shared.h)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
step=${1:-1}
faults=0
count=0
failed=0

# The group of tests that is about the part of the sources that follows
first=calls

# Up to the first failure. The subshell keeps the shell's own words about a crash out of the
# output.
run_test()
{
	(ulimit -t 20; timeout 300 "$build/output_test" 1 "$first"; exit) 2>&1 |
		awk '{ print } /^not ok/ { exit }' >"$build/log"
	return "${PIPESTATUS[0]}"
}

# found_by status - what an exit status of run_test() other than 0 says
found_by()
{
	case $1 in
	124 | 137 | 152) echo "a time limit" ;;
	1 | 141) sed -n 's/^not ok [0-9]* - \(.*\)/"\1"/p' "$build/log" ;;
	*) echo "a crash" ;;
	esac
}

# make_mutant sed-script - copies of the sources, with the fault; fails if it is in none
make_mutant()
{
	local file made=1

	for file in "${sources[@]}"; do
		sed "$1" "$events/$file" >"$build/$file"
		cmp -s "$events/$file" "$build/$file" || made=0
	done
	return $made
}

try() # description sed-script
{
	local verdict="not ok" by="no test" status

	faults=$((faults + 1))
	[ $((faults % step)) = 0 ] || return
	count=$((count + 1))
	if ! make_mutant "$2"; then
		echo "# the fault could not be made: $2"
	elif ! make -s -C "$here" O="$build" MUTANT="$build" \
			"$build/output_test" >"$build/log" 2>&1; then
		sed 's/^/# /' "$build/log" | head -20
	else
		run_test
		status=$?
		[ $status = 0 ] || { verdict=ok; by=$(found_by $status); }
	fi
	[ "$verdict" = ok ] || failed=$((failed + 1))
	echo "$verdict $count - $1: found by $by"
}

case $step in
*[!0-9]* | 0*) echo "usage: output-mutants.sh [STEP]" >&2; exit 1 ;;
esac

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
	'/^static .* shared_end_alone/,/^}/{s/shared_commit(\(.*\));/shared_publish(rb);/;t;'\
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

first=leases
try "commits a record of a closed lease twice" \
	's/lease->size - (pos - committed)/lease->size/'
try "does not ask who opens or closes a lease to close it" \
	's/to = pos == LEASE_BUSY ? .*/{ if (pos == LEASE_BUSY) return; to = LEASE_BUSY; }/'
try "opens leases where a flush bars them" \
	'/^static bool lease_is_barred/,/^}/s/< 0/\&\& 0/'
try "fills a lease below what was written outside it" \
	'/^static noinline bool shared_reserve_anew/,/^}/s/lease_close(rb);//'
try "commits to whatever lease there is" \
	'/^static .* lease_commit/,/^}/s/ || !lease_holds(lease, start)//'
try "leaves a lease open at the tick" \
	's/irq_work_queue(&lease->work);//'
try "leases to CPUs that write little" \
	's/min(most \/ 4/min(most * 64/'
try "leases to idle CPUs, whose tick may be stopped" \
	's/return !is_idle_task(current) \&\& /return /'
try "leases to CPUs that run tasks without a tick" \
	's/ \&\& !tick_nohz_full_cpu(cpu)//'
try "leases to CPUs that go offline" \
	's/ \&\& cpu_online(cpu)//'
try "leases on PREEMPT_RT" \
	's/ \&\& !IS_ENABLED(CONFIG_PREEMPT_RT)//'
try "makes the padding too short" \
	's/\.size = end - start/.size = end - start - 8/'
try "leaves the end of the padding where it was in a backward buffer" \
	's/for (i = lease->id_size; i; i -= 8)/for (i = 0; i; i -= 8)/'
try "fills a lease up to its end" \
	's/start + size - sizeof(struct shared_padding) - lease->id_size/start + size/'
try "leases although a reader wants each sample" \
	's/ \&\& !READ_ONCE(sh->no_leases) / /'
try "leaves a lease open although a reader wants each sample" \
	'/^static .* shared_end_in_lease/,/^}/s/lease_close(rb);//'
try "does not publish before a pause" \
	'/^void perf_output_pause_shared/,/^}/s/lease_close_all(rb);/(void)rb;/'
try "opens a lease after a pause" \
	'/^static bool lease_is_barred/,/^}/s/READ_ONCE(sh->paused)/false/'
try "takes a lease for closed before its records are published" \
	'/^static void lease_end/,/^}/s/shared_publish(rb);/local_set(\&lease->pos, LEASE_NONE); &/'
try "does not say where a block ends that a lease ends" \
	'/^void shared_commit_bytes/,/^}/s/WRITE_ONCE(block->cut, end);/(void)block;/'

first=overwrite
try "does not pass a writer that is held up, in overwrite mode" \
	'/^static void overwrite_pass/,/^}/s/if ((long)(head - oldest) < 0/if (1/'
try "covers a lease before it ends" \
	's/^\toverwrite_end_leases(sh, head, size);/\toverwrite_end_leases(sh, head, 0);/'
try "ends the lease in the place of a gap, not those that it covers" \
	's/unsigned long begin = head - sh->size;/unsigned long begin = head;/'
try "lets a covered lease take records" \
	's/WRITE_ONCE(lease->room, 0);//'
try "does not count a record of a covered lease as lost" \
	's/WRITE_ONCE(lease->live, 0);//'
try "opens a lease that was passed meanwhile" \
	'/^static bool lease_open/,/^}/s/|| overwrite_is_passed(rb, start)//'
try "does not count a record as lost whose writer was passed" \
	'/^static .* shared_end_alone/,/^}/s/unlikely(rb->overwrite)/0/'
try "does not count a record as lost whose lease is passed just then" \
	'/^static .* shared_end_in_lease/,/^}/s/if (rb->overwrite/if (0/'
try "counts a record as lost that others have passed, but not covered" \
	's/return atomic_long_read(&sh->reserved) - start > sh->size;/'\
'return atomic_long_read(\&sh->complete) > start;/'
try "stores an id beyond the margin" \
	's/#define OVERWRITE_MARGIN.*/#define OVERWRITE_MARGIN 24/'
try "passes others for a record that can never fit" \
	'/^static bool overwrite_fits/,/^}/s/return .*/return true;/'
try "covers what can be read for a record that fits nowhere" \
	's/!overwrite_finds_room(sh, head, size)/(& \&\& 0)/'
try "writes where a held-up writer may write" \
	's/return overwrite_committed(sh, start) < 0;/return false;/'
try "leaves no room for the beginning of a gap" \
	'/^static bool overwrite_find_held/,/^}/s/ + OVERWRITE_MARGIN//'
try "leaves no room for the end of a gap" \
	's/gap = held + OVERWRITE_MARGIN - head;/gap = held - head;/'
try "skips one held-up block, and not the one behind it" \
	's/while (overwrite_is_held(sh, held));/while (0);/'
try "makes a gap of all that is below a held-up block" \
	's/if (held - head > 2 \* OVERWRITE_MARGIN)/if (0)/'
try "makes gaps that are too long for a record" \
	's/if (gap > GAP_MAX || /if (/'
try "stores the id of a gap where it is in a forward buffer" \
	's/sh->backward ? head : head + size - id_size/head + size - id_size/'
try "has blocks of which a gap covers one, in overwrite mode" \
	's/#define OVERWRITE_BLOCK_MAX_LOG2.*/#define OVERWRITE_BLOCK_MAX_LOG2 15/'

echo "1..$count"
[ $failed = 0 ]
