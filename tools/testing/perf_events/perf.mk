# SPDX-License-Identifier: GPL-2.0
#
# For tests of perf's files, in directories beside this one: see build.mk, too.

include ../build.mk

TOOLS := ../../..

# A record is as long as its header says, shorter than union perf_event.
CFLAGS := -std=gnu11 -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter \
	  -I$(TOOLS)/perf/util -I$(TOOLS)/perf/tests -I$(TOOLS)/perf -I$(TOOLS)/include \
	  -I$(TOOLS)/include/uapi -I$(TOOLS)/lib -I$(TOOLS)/lib/perf/include \
	  -fno-sanitize=object-size
FAIL_ALLOCATIONS := -DFAIL_ALLOCATIONS -include ../perf_alloc.h
PERF_TEST := ../perf_alloc.c ../perf_alloc.h ../tap.h

# $(call build_perf,COMPILER,FLAGS): the test's own files and then perf's, whose
# allocations are the test's to fail. FLAGS are for the linker only.
define build_perf
	@rm -rf $@.objects && mkdir -p $@.objects
	$(if $(Q),@echo '  CC      $(@F)')
	$(Q)set -e; n=0; for file in $(filter %.c,$^); do n=$$((n + 1)); \
		case $$file in $(TOOLS)/*) alloc="$(FAIL_ALLOCATIONS)";; *) alloc=;; esac; \
		$(1) $(CFLAGS) $$alloc -c $$file -o $@.objects/$$n.o; \
	done; $(1) $(2) $@.objects/*.o -o $@
endef
