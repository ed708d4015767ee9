# SPDX-License-Identifier: GPL-2.0
#
# Every target says what it does in the comment behind it: 'make help'.
# Everything is made under build/, and made again only where something changed.

# The lab's scripts can build elsewhere, the others can't.
unexport BUILD LINUX

.PHONY: help compose export patches kernel perf demo shell bench bench-long \
	check check-user check-vm check-model check-builds check-series check-debug \
	check-long check-mutants fuzz clean

help:		## this list
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compose:	## the series as a git tree of Linux, in build/linux (BASE=DIR: on your own)
	@series/compose

export:		## the commits of build/linux back into this repository
	@series/export

patches: compose	## the series as mail for git am, in build/patches
	@series/patches

kernel: compose	## the kernel, in build/kernel-default
	@lab/build-kernel

perf: compose	## the perf tool, in build/perf
	@lab/build-perf

demo: kernel perf	## record and show gated traces in the virtual machine
	@lab/demo/host

shell: kernel perf	## a shell in the virtual machine, with perf
	@lab/run --tty

bench: kernel perf	## benchmarks: a table and build/bench.tsv
	@lab/bench/host

bench-long: kernel perf	## memory and dumps of perf record -M over ten minutes, two loads
	@lab/bench/host --long 600

check:		## the tests that take minutes; the last line counts them
	@lab/check user vm model series

check-user:	## the tests that need no virtual machine
	@lab/check user

check-vm:	## kselftests, perf's tests, and perf record, in the virtual machine
	@lab/check vm

check-model:	## its part with perf on the model of Intel PT and Intel BTS
	@lab/check model

check-builds:	## git am, checkpatch, sparse, W=1; each commit builds (slow)
	@lab/check builds

check-series:	## ditto, and each commit passes the tests that it has (very slow)
	@lab/check commits

check-debug:	## the tests of check-vm with KASAN and lockdep, and with KCSAN
	@lab/check debug kcsan

check-long:	## minutes of races, millions of records, deep models, random calls (slow)
	@lab/check long

check-mutants: compose	## one-line faults in the series' code: do the tests find them? (slow)
	@lab/mutants/run

fuzz: compose	## random calls of perf, half an hour each with KASAN and with KCSAN (slow)
	@lab/fuzz --minutes 30 debug kcsan

clean:		## remove build/
	rm -rf build
