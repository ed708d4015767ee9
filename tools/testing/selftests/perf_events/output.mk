# SPDX-License-Identifier: GPL-2.0
# Output of several CPUs and tasks into one buffer

output_sources := perf_common.c output_common.c output_tree.c
TEST_GEN_PROGS += $(filter-out $(basename $(output_sources)),$(basename $(wildcard output_*.c)))
