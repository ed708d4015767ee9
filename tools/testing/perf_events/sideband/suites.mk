# SPDX-License-Identifier: GPL-2.0
SUITES += sideband_unit_test sideband_store_test \
	  "sideband-fuzz.sh $(O)/sideband/sideband_store_fuzz 3000"
