# SPDX-License-Identifier: GPL-2.0
# Kernel addresses that users see; the registers in samples are those of x86

ifeq ($(MACHINE),x86_64)
kernel_sources := perf_common.c user_only.c
TEST_GEN_PROGS += $(basename $(wildcard kernel_*.c))
endif
