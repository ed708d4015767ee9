# SPDX-License-Identifier: GPL-2.0
SUITES += call_track_test
