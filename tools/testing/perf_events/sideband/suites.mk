# SPDX-License-Identifier: GPL-2.0
MORE_PROGRAMS += sideband-programs
MORE_SUITES += sideband_unit_test sideband_store_test \
	       "sideband-fuzz.sh $(O)/sideband/sideband_store_fuzz 3000"
MORE_DIRS += $(O)/sideband $(CURDIR)/sideband

sideband-programs:
	$(Q)$(MAKE) --no-print-directory -C sideband O=$(O)/sideband

.PHONY: sideband-programs
