# SPDX-License-Identifier: GPL-2.0
MORE_PROGRAMS += output-programs
MORE_SUITES += output-spin-check.sh "output_test 20" "output_test_asan 2" \
	       output_test_tsan output-mutants.sh
MORE_DIRS += $(O)/output $(CURDIR)/output

output-programs:
	$(Q)$(MAKE) --no-print-directory -C output O=$(O)/output

.PHONY: output-programs
