// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of files in the Trace Event format, without the rest of perf: built in
 * seconds, with sanitizers, and as on file systems that can't do all. TAP on standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests.h"
#include "../tap.h"

int tap_count, tap_failed;

static bool no_links, no_noreplace;

/* In place of libc's */
int link(const char *from, const char *to)
{
	if (!no_links)
		return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
	errno = EPERM;
	return -1;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (!no_noreplace)
		return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	errno = EINVAL;
	return -1;
}

static void test(const char *what)
{
	tap_result(suite__trace_events.test_cases->run_case(&suite__trace_events, 0) == TEST_OK,
		   what);
}

int main(void)
{
	test("perf's own test of the format");
	no_links = true;
	test("the same without hard links");
	no_noreplace = true;
	test("nor RENAME_NOREPLACE");
	no_links = false;
	test("only without RENAME_NOREPLACE");
	printf("1..%d\n", tap_count);

	return tap_failed;
}
