# SPDX-License-Identifier: GPL-2.0
SUITES += trigger_engine_test
