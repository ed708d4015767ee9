# SPDX-License-Identifier: GPL-2.0
SUITES += lines_test
