#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The model of the sequence count in kernel/events/aux_total.h. TAP on standard output.

set -u

# shellcheck source=tools/testing/perf_events/spin.sh
. "$(dirname "$0")/../spin.sh"

echo "TAP version 13"
expect correct "two transactions, an NMI that makes one, a reader" aux_total

# The model can fail: each of these breaks one line of the protocol.
while read -r mutant what; do
	expect refuted "mutant: $what" aux_total -DMUTANT_"$mutant"
done <<-END
	NO_A stores without a barrier after the first count
	NO_C stores without a barrier before the second count
	NO_B loads without a barrier after the first count
	NO_D loads without a barrier before the second count
	ODD accepts an odd count
	NMI_NESTS an NMI begins a transaction within another one
END

echo "1..$count"
[ $failed = 0 ]
