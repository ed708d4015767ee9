# SPDX-License-Identifier: GPL-2.0
SUITES += litmus-check.sh
