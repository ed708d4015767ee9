# SPDX-License-Identifier: GPL-2.0

# The model of Intel PT is checked by Intel's decoder, where that is installed.
LIBIPT := $(shell $(CC) -E -include intel-pt.h -x c /dev/null >/dev/null 2>&1 && echo y)

SUITES += "trace_model_test 25" "trace_model_test_asan 50" trace_model_mutant registers_test \
	  $(if $(LIBIPT),pt_packets_test pt_cases_test,pt-packets-skip.sh)
