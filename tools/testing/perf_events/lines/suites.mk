# SPDX-License-Identifier: GPL-2.0
SUITES += "lines-test.sh $(O)/lines/lines"
