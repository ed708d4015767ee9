// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of the socket of perf record -M, without the rest of perf: built in
 * seconds, and with sanitizers. And what takes a listen() and an allocator of the test's
 * own. TAP on standard output.
 *
 * Expected: when the socket begins to listen, the file has its rights. One that sets them
 * later lets in everybody for a moment.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <linux/kernel.h>

#include "debug.h"
#include "tests.h"
#include "trigger-socket.h"
#include "../perf_alloc.h"
#include "../tap.h"

size_t __sanitizer_get_current_allocated_bytes(void);

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

int tap_count, tap_failed;

/* The file when the socket began to listen */
static struct stat at_listen;

int listen(int fd, int backlog)
{
	struct sockaddr_un addr;
	socklen_t size = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &size) || lstat(addr.sun_path, &at_listen))
		return -1;
	return syscall(SYS_listen, fd, backlog);
}

static const char *on_asked(void *priv, const char *name, const struct ucred *peer)
{
	return "no";
}

static struct trigger_socket *make(const char *str)
{
	struct trigger_socket_opts opts;
	struct trigger_socket *sock;

	if (trigger_socket_opts__parse(&opts, str))
		return NULL;
	sock = trigger_socket__new(&opts, on_asked, NULL);
	trigger_socket_opts__exit(&opts);
	return sock;
}

static int test_no_window(const char *path)
{
	gid_t gid = geteuid() ? getegid() : 12345;
	struct trigger_socket *sock;
	char str[128];

	snprintf(str, sizeof(str), "%s,mode=620,group=%u", path, gid);
	sock = make(str);
	CHECK(sock);
	CHECK((at_listen.st_mode & 07777) == 0620 && at_listen.st_gid == gid);
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* Whichever allocation fails, it is said, and neither memory nor a file is left */
static int test_no_memory(const char *path)
{
	size_t before = __sanitizer_get_current_allocated_bytes();
	struct trigger_socket *sock = NULL;
	struct stat st;
	long nr;

	for (nr = 0; !sock; nr++) {
		fail_allocation = nr;
		sock = make(path);
		fail_allocation = -1;
		CHECK(sock || lstat(path, &st));
		CHECK(sock || __sanitizer_get_current_allocated_bytes() == before);
	}
	CHECK(nr > 1);
	trigger_socket__delete(sock);
	return TEST_OK;
}

int main(void)
{
	char dir[] = "/tmp/trigger-socket-test-XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	tap_result(suite__trigger_socket.test_cases->run_case(&suite__trigger_socket, 0) == TEST_OK,
		   "perf's own test of the socket");
	tap_result(test_no_window(path) == TEST_OK, "the rights when it begins to listen");
	tap_result(test_no_memory(path) == TEST_OK, "no memory for the socket");
	printf("1..%d\n", tap_count);
	rmdir(dir);

	return tap_failed;
}
