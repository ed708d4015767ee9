# SPDX-License-Identifier: GPL-2.0
SUITES += pprof_test
