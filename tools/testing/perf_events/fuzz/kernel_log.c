// SPDX-License-Identifier: GPL-2.0
/* The kernel's log, /dev/kmsg: a read() returns one message. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kernel_log.h"

#define LONGEST_MESSAGE	8192

/*
 * A report contains a stack trace under this headline. Reports of KCSAN lack the
 * headline.
 */
static bool is_report(const char *message)
{
	return strstr(message, "Call Trace:") || strstr(message, "Call trace:") ||
	       strstr(message, "BUG: ");
}

int kernel_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);

	return fd;
}

bool kernel_log_reports(int fd)
{
	char message[LONGEST_MESSAGE + 1];
	bool report = false;
	ssize_t size;

	for (;;) {
		size = read(fd, message, LONGEST_MESSAGE);
		/* Messages have been overwritten; the next read() continues after them. */
		if (size < 0 && errno == EPIPE)
			continue;
		if (size <= 0)
			return report;
		message[size] = '\0';
		report |= is_report(message);
	}
}
