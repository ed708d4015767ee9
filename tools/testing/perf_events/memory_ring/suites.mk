# SPDX-License-Identifier: GPL-2.0
SUITES += memory_ring_test
