# SPDX-License-Identifier: GPL-2.0
# AUX area tracing and its gates, on the test PMUs

aux_sources := perf_common.c perf_mappings.c test_pmus.c aux_group.c aux_records.c \
	       aux_trace.c aux_beacons.c
TEST_GEN_PROGS += $(filter-out $(basename $(aux_sources)),$(basename $(wildcard aux_*.c)))
LOCAL_HDRS += $(abspath ../../../../lib/test_perf_aux_uapi.h)
