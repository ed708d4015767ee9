# SPDX-License-Identifier: GPL-2.0
# Intel PT and Intel BTS, on the hardware or on the model of it

ifeq ($(MACHINE),x86_64)
intel_sources := perf_common.c user_only.c test_pmus.c aux_group.c aux_records.c \
		 intel_env.c intel_msr.c intel_windows.c intel_gated.c \
		 intel_stream.c intel_pt_packets.c intel_pt_stream.c intel_bts_stream.c
TEST_GEN_PROGS += $(filter-out $(basename $(intel_sources)),$(basename $(wildcard intel_*.c)))
endif
