/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_EVENTS_TAP_H
#define PERF_EVENTS_TAP_H

#include <stdbool.h>
#include <stdio.h>

extern int tap_count, tap_failed;

#define tap_result(ok, ...)						\
	do {								\
		bool tap_ok = (ok);					\
									\
		tap_failed += !tap_ok;					\
		printf("%s %d - ", tap_ok ? "ok" : "not ok", ++tap_count); \
		printf(__VA_ARGS__);					\
		printf("\n");						\
		fflush(stdout);						\
	} while (0)

#define tap_skip(reason, ...)						\
	do {								\
		printf("ok %d - ", ++tap_count);			\
		printf(__VA_ARGS__);					\
		printf(" # SKIP %s\n", reason);				\
	} while (0)

#endif
