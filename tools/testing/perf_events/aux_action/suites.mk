# SPDX-License-Identifier: GPL-2.0
SUITES += spin-check.sh "aux_action_test --pairs" aux_action_test_asan aux_action_tsan \
	  aux_action_bench

bench:
	$(Q)$(MAKE) --no-print-directory -C aux_action O=$(abspath $(O))/aux_action bench

.PHONY: bench
