# SPDX-License-Identifier: GPL-2.0
SUITES += output-spin-check.sh "output_test 20" "output_test_asan 2" output_test_tsan \
	  "output-mutants.sh 7"
