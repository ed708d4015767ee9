# SPDX-License-Identifier: GPL-2.0
# The reader of Documentation/trace/perf-ring-buffer.rst, and what tests it

ring_sources := perf_common.c ring_run.c
ring_tests := $(filter-out ring_reader ring_run,$(basename $(wildcard ring_*.c)))
TEST_GEN_PROGS += $(ring_tests)
TEST_GEN_PROGS_EXTENDED += ring_reader
