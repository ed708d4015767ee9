# SPDX-License-Identifier: GPL-2.0
# Kernel addresses that users see when an NMI hits the kernel: as kernel.mk, on the test PMUs

ifeq ($(MACHINE),x86_64)
nmi_sources := perf_common.c test_pmus.c user_only.c
TEST_GEN_PROGS += $(basename $(wildcard nmi_*.c))
endif
