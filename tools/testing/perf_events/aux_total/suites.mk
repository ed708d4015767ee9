# SPDX-License-Identifier: GPL-2.0
SUITES += aux-total-spin-check.sh
