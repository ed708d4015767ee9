# SPDX-License-Identifier: GPL-2.0
#
# The comment after each target says what it does; 'make help' shows these comments.
# Everything is made under build/, and made again only if something changed.
#
# BASE is another base than 6.1: the VERSION of a package linux-source-VERSION, or a
# kernel tree of your own. TOPIC is one topic of the series, with those that it needs. A
# version and a topic are built in directories of their own: build/6.12/topics/gates.
# FLAVOUR, for deb-kernel and its check, is one of the distribution's: amd64, cloud-amd64.

directory := $(if $(wildcard $(BASE)),,$(filter-out 6.1,$(BASE))) $(addprefix topics/,$(TOPIC))
export BUILD := $(CURDIR)/build$(subst $() ,,$(addprefix /,$(directory)))
unexport LINUX

.PHONY: help compose export patches kernel perf demo deb deb-kernel shell bench bench-long bench-recorder \
	check check-user check-vm check-model check-patches check-base check-topics \
	check-browser check-builds check-commits check-deb check-deb-fleet check-deb-kernel \
	check-deb-service check-debug check-long \
	check-mutants check-processors check-recordings hardware-report fuzz clean

help:		## this list
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compose:	## the series as a git tree of Linux, in build/linux
	@series/compose

export:		## the commits of build/linux back into this repository
	@series/export

patches: compose	## the series as mail for git am, a directory for each topic, in build/patches
	@series/patches

kernel: compose	## the kernel, in build/kernel-default
	@lab/build-kernel

perf: compose	## the perf tool, in build/perf
	@lab/build-perf

demo: kernel perf	## record and show gated traces in the virtual machine
	@lab/demo/host

deb: compose	## perf as Debian packages, perf-flight and perf-flight-alerts, in build/deb
	@packaging/deb

deb-kernel: compose	## the kernel as Debian packages, in build/deb (FLAVOUR=cloud-amd64: the smaller one)
	@packaging/deb-kernel

shell: kernel perf	## a shell in the virtual machine, with perf
	@lab/run --tty

bench: kernel perf	## benchmarks: a table, build/bench.tsv, and FIGURES.md
	@lab/bench/host

bench-long: kernel perf	## memory and dumps of perf record -M over ten minutes, two loads; FIGURES.md
	@lab/bench/host --long 600

bench-recorder: perf	## what a recorder that always runs costs programs under load (root; TIME=20 PAIRS=10); FIGURES.md
	@TIME=$(TIME) PAIRS=$(PAIRS) lab/bench/host recorder

check:		## the tests that take minutes; the last line counts them
	@lab/check user vm model harness patches second-base

check-user:	## the tests that need no virtual machine
	@lab/check user harness

check-vm:	## kselftests, perf's tests, and perf record, in the virtual machine
	@lab/check vm

check-model:	## perf with Intel PT and Intel BTS, on the model of the hardware
	@lab/check model

check-patches:	## the mails: git am of all topics, and of each with those it needs; checkpatch
	@lab/check patches

check-base:	## another base: builds, boots, kselftests, the demo's recordings (BASE=6.12)
	@lab/check base

check-topics:	## each topic, only with those it needs: builds, kselftests, user-space tests (slow)
	@lab/check topics

check-browser:	## pictures in a real browser: Chromium, speedscope, Perfetto (./run installs them)
	@lab/check browser

check-builds:	## each commit builds, without new warnings of sparse and W=1 (slow, can be resumed)
	@lab/check builds

check-commits:	## ditto, and each commit's kselftests and user-space tests (very slow, can be resumed)
	@lab/check commits

check-deb: deb	## the packages: lintian; install, run, remove in a Debian 12 of its own (root)
	@packaging/test

check-deb-fleet: deb	## three hosts, Prometheus and Alertmanager: an alert gets its dump (root, minutes)
	@packaging/test-fleet

check-deb-service: deb	## the packages' services, with systemd and Debian's kernel in QEMU (root, minutes)
	@packaging/test-service

check-deb-kernel: deb-kernel	## the packages: install, boot, remove in a Debian 12 (root)
	@packaging/test-kernel

check-debug:	## the tests of check-vm with KASAN and lockdep, and with KCSAN
	@lab/check debug kcsan

check-processors:	## the tests of Intel PT and BTS on models of different processors (an hour or two)
	@lab/check processors

check-long:	## minutes of races, millions of records, deep models, random calls (slow)
	@lab/check long

check-mutants: compose	## one-line faults in the series' code: do the tests find them? (slow)
	@lab/mutants/run

check-recordings: compose	## raw Intel PT of real processors: do our parsers accept it? (DIR=folder)
	@lab/recordings/check $(if $(DIR),"$(DIR)")

hardware-report: kernel perf	## for a machine with an Intel processor: tests and perf, packed
	@lab/hardware-report/pack

fuzz: compose	## random calls of perf, half an hour each: KASAN, KCSAN, KASAN and the model (slow)
	@lab/fuzz --minutes 30 debug kcsan
	@lab/fuzz --model --minutes 30 debug

clean:		## remove build/
	rm -rf build
