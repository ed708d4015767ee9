# SPDX-License-Identifier: GPL-2.0
MORE_PROGRAMS += ring-programs
MORE_SUITES += snapshot_ring_test
MORE_DIRS += $(O)/ring $(CURDIR)/ring

ring-programs:
	$(Q)$(MAKE) --no-print-directory -C ring O=$(O)/ring

.PHONY: ring-programs
