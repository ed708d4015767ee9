# SPDX-License-Identifier: GPL-2.0
SUITES += trace_events_test
