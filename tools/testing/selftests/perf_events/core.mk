# SPDX-License-Identifier: GPL-2.0
# Former faults of the perf core

core_sources := perf_common.c perf_mappings.c
TEST_GEN_PROGS += $(basename $(wildcard core_*.c))
