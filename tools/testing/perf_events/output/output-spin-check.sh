#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The model of kernel/events/output_shared.c. TAP on standard output. --deep adds
# cases that take minutes and 2 GB.

set -u

# shellcheck source=tools/testing/perf_events/spin.sh
. "$(dirname "$0")/../spin.sh"

echo "TAP version 13"
expect correct "3 writers, one an NMI, and a reader; short and long records" \
	output_shared
expect correct "the same, around the end of the buffer" \
	output_shared -DSTART=3 -DSMALL=3
expect correct "overwrite mode, around the end of the buffer" \
	output_shared -DSTART=3 -DOVERWRITE
expect correct "nonsense in data_tail" \
	output_shared -DSTART=3 -DSPOIL -DSMALL=3
if [ "${1-}" = --deep ]; then
	expect correct "all sizes around the end of the buffer" \
		output_shared -DSTART=3
	expect correct "two NMIs" \
		output_shared -DSTART=3 -DNMIS=2 -DSMALL=3
	expect correct "4 writers, one an NMI" \
		output_shared -DSTART=3 -DCPUS=3 -DSMALL=3
fi

# The model can fail: each of these breaks one line of the algorithm.
while read -r mutant options what; do
	# shellcheck disable=SC2086 # several options
	expect refuted "mutant: $what" output_shared -DMUTANT_"$mutant" ${options//,/ }
done <<-END_OF_MUTANTS
	NEST_TO_ZERO -DSTART=0 publishes when nobody is in flight
	SCAN_FIRST -DSTART=0 scans for what is complete before it commits
	RESERVED_FIRST -DSTART=1,-DLARGE=1 loads what is reserved before what is committed
	NO_CUT -DSTART=0 publishes complete blocks without regard to records
	PLAIN_STORE -DSTART=0 stores data_head without cmpxchg
	TAIL_DECIDES -DSPOIL,-DSMALL=3 believes data_tail
	COMMITTED_FIRST -DSTART=0 loads what is committed before what is complete
	BOUND_FIRST -DSTART=0 loads data_head behind what it can be
	LIMITS_FIRST -DSTART=3,-DOVERWRITE loads what is reserved behind what limits it
END_OF_MUTANTS

expect correct "a lease: a task, an NMI, a flush, and a writer without a lease" \
	output_lease
expect correct "a lease, and two records of the task" output_lease -DTASK=2 -DOTHER=0
expect correct "a lease, and two NMIs" output_lease -DNMIS=2 -DOTHER=0
expect correct "a lease, and a tick beside the flush" output_lease -DTICKS=1 -DOTHER=0

while read -r mutant options what; do
	# shellcheck disable=SC2086 # several options
	expect refuted "mutant: $what" output_lease -DMUTANT_"$mutant" ${options//,/ }
done <<-END_OF_MUTANTS
	COMMIT_ALL -DTASK=1 commits a record of a closed lease twice
	NEVER_ASKS -DNMIS=2,-DOTHER=0 does not ask who opens or closes a lease to close it
	FLUSH_UNSEEN -DTASK=1 looks for a flush before others can see the lease
	OPEN_FIRST -DOTHER=0 opens a lease before what is committed in it is known
	KEEPS_LEASE -DTASK=2,-DOTHER=0 fills a lease below what was written outside it
	NONE_FIRST -DTICKS=1,-DOTHER=0,-DNMIS=0 has no lease before its records are published
	ANY_LEASE -DOTHER=0 commits to whatever lease there is
END_OF_MUTANTS

expect correct "overwrite mode: a CPU is held up, and another one passes it" \
	output_overwrite
expect correct "overwrite mode: the same, with an NMI" \
	output_overwrite -DNMIS=1 -DWORDS=16
expect correct "overwrite mode: others cover the lease of a CPU" \
	output_lease_covered
expect correct "overwrite mode: the same, and two records in the lease" \
	output_lease_covered -DTASK=2 -DLAST=4
if [ "${1-}" = --deep ]; then
	expect correct "overwrite mode: others cover the lease of a CPU with an NMI" \
		output_lease_covered -DNMIS=1
	expect correct "overwrite mode: a CPU is held up twice" \
		output_overwrite -DHELD=2 -DWORDS=28
fi

while read -r mutant what; do
	expect refuted "mutant: $what" output_overwrite -DMUTANT_"$mutant"
done <<-END_OF_MUTANTS
	NO_GAP writes where a held-up writer may write
	NO_MARGIN leaves no room for the beginning of a gap
	ONE_BLOCK skips one held-up block, and not the one behind it
	ROOM_IS_STALE passes a block although there is room
END_OF_MUTANTS

while read -r mutant options what; do
	# shellcheck disable=SC2086 # several options
	expect refuted "mutant: $what" output_lease_covered -DMUTANT_"$mutant" ${options//,/ }
done <<-END_OF_MUTANTS
	KEEPS_LEASE -DTASK=1 covers a lease that goes on
	ENDS_PASSED -DTASK=1 ends a lease when it is passed, not when it is covered
	KEEPS_ROOM -DTASK=2 lets a covered lease take records
	KEEPS_LIVE -DTASK=1 does not count a record of a covered lease as lost
	PASSED_UNSEEN -DTASK=1 looks whether a lease was passed before others can see it
	COUNTS_NONE -DTASK=1 does not count a record as lost whose lease is covered just then
END_OF_MUTANTS

expect refuted "lock of one CPU, two buffers" owner_lock
expect correct "lock of one CPU, one buffer" owner_lock -DBUFFERS=1

echo "1..$count"
[ $failed = 0 ]
