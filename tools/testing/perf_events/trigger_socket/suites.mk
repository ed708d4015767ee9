# SPDX-License-Identifier: GPL-2.0
SUITES += trigger_socket_test
