# SPDX-License-Identifier: GPL-2.0
#
# What the makefiles here and below share. O=DIR puts what is built there; V=1 shows
# the commands.

CC ?= gcc
O := $(or $(O),$(CURDIR)/build)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

.DEFAULT_GOAL := all

# $(call build,FLAGS): a program of the .c and .o files that it depends on. Those in INCLUDED
# are included by others.
define build
	@mkdir -p $(O)
	$(if $(Q),@echo '  CC      $(@F)')
	$(Q)$(CC) $(CFLAGS) $(1) $(filter-out $(INCLUDED),$(filter %.c %.o,$^)) -o $@
endef

clean:
	rm -rf $(O)

.PHONY: all clean
