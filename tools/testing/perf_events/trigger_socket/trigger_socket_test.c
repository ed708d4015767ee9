// SPDX-License-Identifier: GPL-2.0
/*
 * perf's own test of the socket of perf record -M, without the rest of perf: built in
 * seconds, and with sanitizers. And what takes a listen(), a log and an allocator of the
 * test's own. TAP on standard output.
 *
 * Expected: when the socket begins to listen, the file has its rights. One that sets them
 * later lets in everybody for a moment.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <linux/kernel.h>

#include "debug.h"
#include "tests.h"
#include "trigger-socket.h"
#include "uid-rate.h"
#include "../perf_alloc.h"
#include "../tap.h"

size_t __sanitizer_get_current_allocated_bytes(void);

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

int tap_count, tap_failed;

int verbose;

/* The last message, and how many there were */
static char logged[1024];
static unsigned int nr_logged;

int eprintf(int level, int var, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(logged, sizeof(logged), fmt, args);
	va_end(args);
	nr_logged++;
	printf("# %s", logged);
	return 0;
}

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

static const char *on_asked(void *priv, struct trigger_socket_request *request)
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

/* What is wrong is said, and how to write it */
static int test_complaints(const char *path)
{
	static const struct {
		const char	*terms;
		const char	*says;
	} bad[] = {
		{ ",mode=8", "'8' of mode= is not an octal number up to 777" },
		{ ",group=no:", "there is no group 'no:'" },
		{ ",user=0", "there is no term 'user=0': they are mode=OCTAL and group=GROUP" },
	};
	struct trigger_socket *sock;
	char str[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(str, sizeof(str), "%s%s", path, bad[i].terms);
		nr_logged = 0;
		CHECK(!make(str) && nr_logged == 1 && strstr(logged, bad[i].says));
	}
	nr_logged = 0;
	CHECK(!make("") && nr_logged == 1 && strstr(logged, "'' is not a path of 1 to 107 bytes"));
	sock = make(path);
	CHECK(sock && !make(path) && strstr(logged, "remove it, or use another path"));
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
		nr_logged = 0;
		fail_allocation = nr;
		sock = make(path);
		fail_allocation = -1;
		CHECK(sock || (nr_logged == 1 && lstat(path, &st)));
		CHECK(sock || __sanitizer_get_current_allocated_bytes() == before);
	}
	CHECK(nr > 1);
	trigger_socket__delete(sock);
	return TEST_OK;
}

static unsigned int nr_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(fds))
		nr++;
	closedir(fds);
	return nr;
}

/* Ditto for descriptors: the socket's is the only one */
static int test_no_descriptor(const char *path)
{
	unsigned int before = nr_fds(), nr;
	struct trigger_socket *sock = NULL;
	struct rlimit old, new;
	struct stat st;
	int lowest = dup(0);

	close(lowest);
	CHECK(!getrlimit(RLIMIT_NOFILE, &old));
	for (nr = 0; !sock; nr++) {
		new = old;
		new.rlim_cur = lowest + nr;
		nr_logged = 0;
		CHECK(!setrlimit(RLIMIT_NOFILE, &new));
		sock = make(path);
		CHECK(!setrlimit(RLIMIT_NOFILE, &old));
		CHECK(sock || (nr_logged == 1 && strstr(logged, strerror(EMFILE))));
		CHECK(sock || (nr_fds() == before && lstat(path, &st)));
	}
	CHECK(nr == 2);
	trigger_socket__delete(sock);
	CHECK(nr_fds() == before);
	return TEST_OK;
}

static void write_line(struct trigger_socket *sock, const char *path, const char *line)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, line, strlen(line), 0) < 0)
		perror("# the socket");
	trigger_socket__serve(sock, 5 * NSEC_PER_SEC);
	close(fd);
}

/* The log has what was written, as text, by whom, and why not; and it has no more than that */
static int test_log(const char *path)
{
	struct trigger_socket *sock = make(path);
	char says[128], line[TRIGGER_SOCKET_LINE + 1];
	unsigned int i;

	CHECK(sock);
	snprintf(says, sizeof(says), "refused 'a?[2J?b' of process %d, user %u: no\n", getpid(),
		 geteuid());
	write_line(sock, path, "a\033[2J\tb\n");
	CHECK(strstr(logged, says));
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	write_line(sock, path, line);
	CHECK(strstr(logged, "refused 'xxxx") && strstr(logged, "xx' of process"));
	CHECK(strstr(logged, "the line is too long"));
	nr_logged = 0;
	for (i = 0; i < 20; i++)
		write_line(sock, path, i % 2 ? line : "no\n");
	CHECK(nr_logged == UID_RATE_BURST - 2);
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
	tap_result(test_complaints(path) == TEST_OK, "what is wrong with the option");
	tap_result(test_log(path) == TEST_OK, "what is logged");
	tap_result(test_no_memory(path) == TEST_OK, "no memory for the socket");
	tap_result(test_no_descriptor(path) == TEST_OK, "no descriptor for the socket");
	printf("1..%d\n", tap_count);
	rmdir(dir);

	return tap_failed;
}
