#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the models through spin, exhaustively, and compares each verdict with the
# expected one. TAP on standard output. --deep adds a case that takes a minute
# and 2 GB.

set -u

# shellcheck source=tools/testing/perf_events/spin.sh
. "$(dirname "$0")/../spin.sh"

echo "TAP version 13"
expect correct "gates and sections, 2 NMIs and 1 exception in each operation" \
	aux_action -DNMIS=2 -DEXCEPTIONS=1
expect correct "gates and sections, 1 NMI and 2 exceptions in each operation" \
	aux_action -DNMIS=1 -DEXCEPTIONS=2
expect correct "gates, 3 NMIs and 2 exceptions in each operation" \
	aux_action -DONLY_GATES -DNMIS=3 -DEXCEPTIONS=2
expect correct "gates, sections and moves, 1 NMI and 2 wakeups in each operation" \
	aux_action -DNMIS=1 -DEXCEPTIONS=0 -DWAKES=2
if [ "${1-}" = --deep ]; then
	expect correct "gates, sections and moves, 2 NMIs, 1 exception and 1 wakeup in each operation" \
		aux_action -DNMIS=2 -DEXCEPTIONS=1 -DWAKES=1
	expect correct "gates and sections, 3 NMIs and 1 exception in each operation" \
		aux_action -DNMIS=3 -DEXCEPTIONS=1
fi

# The model can fail: each of these breaks one line of the algorithm.
while read -r mutant what; do
	expect refuted "mutant: $what" aux_action -DNMIS=1 -DEXCEPTIONS=1 -DMUTANT_"$mutant"
done <<-END
	CHECK_BEFORE_CLEAR looks for new requests before it stops being busy
	TWO_ACCESSES stores a request with a read and a write
	STATE_AFTER_CALL sets driver_state after the call
	HOLD_TELLS takes a section for one that brings the engine in line
	STATE_KEPT keeps driver_state over a nested section
	SECTION_NOT_HELD does not hold gates off in the driver's sections
	RELEASE_ONLY_CLEARS leaves a section without a look at the requests
	RESUME_ONLY_RETURNS driver leaves the engine alone when a stopped event resumes
END
expect refuted "mutant: stores a request with one instruction, not atomic for other CPUs" \
	aux_action -DNMIS=0 -DEXCEPTIONS=0 -DWAKES=1 -DMUTANT_TWO_ACCESSES

# Mainline's algorithm loses gates in two ways.
expect refuted "mainline: a gate in another one's action is dropped" \
	aux_action_mainline -DONLY_GATES
expect refuted "mainline: a pause in the driver's start is not seen" \
	aux_action_mainline -DTASK_ONLY_STARTS -DNMI_ONLY_GATES -DNMIS=1 -DEXCEPTIONS=0
expect correct "mainline: without interrupts" \
	aux_action_mainline -DNMIS=0 -DEXCEPTIONS=0

echo "1..$count"
[ $failed = 0 ]
