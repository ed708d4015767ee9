// SPDX-License-Identifier: GPL-2.0
/* Ask a running perf record --trigger-socket; see dump-client.h */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>
#include "debug.h"
#include "dump-client.h"

/* An answer has a line for each kind of dumps, and for the newest ones, with their paths */
#define ANSWER_MAX	((size_t)SZ_1M)

static int say_not_running(const char *path)
{
	pr_err("Not running: no perf record listens on %s (%m)\n", path);
	return DUMP_CLIENT_NOT_RUNNING;
}

/* Whose members may, and that this user is none of them */
static int say_not_allowed(const char *path)
{
	struct group *group = NULL;
	struct stat st;

	if (!stat(path, &st) && (st.st_mode & 0020))
		group = getgrgid(st.st_gid);
	if (group)
		pr_err("Not allowed: %s is for members of the group '%s'. To become one: 'adduser USER %s', then log in again.\n",
		       path, group->gr_name, group->gr_name);
	else
		pr_err("Not allowed: no right to write to %s\n", path);
	return DUMP_CLIENT_NOT_ALLOWED;
}

static int connect_to(const char *path, int *fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path)) {
		pr_err("The path of the socket is too long: %s\n", path);
		return DUMP_CLIENT_REFUSED;
	}
	strcpy(addr.sun_path, path);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0) {
		pr_err("Failed to make a socket: %m\n");
		return DUMP_CLIENT_REFUSED;
	}
	if (!connect(*fd, (struct sockaddr *)&addr, sizeof(addr)))
		return DUMP_CLIENT_OK;
	switch (errno) {
	case EACCES:
	case EPERM:
		return say_not_allowed(path);
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return say_not_running(path);
	default:
		pr_err("Failed to connect to %s: %m\n", path);
		return DUMP_CLIENT_REFUSED;
	}
}

static s64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * (s64)MSEC_PER_SEC + ts.tv_nsec / NSEC_PER_MSEC;
}

/* Read up to the end, which perf makes by closing. Return the length or -errno. */
static ssize_t read_all(int fd, char *buf, size_t size, unsigned int seconds)
{
	s64 end = now_ms() + seconds * (s64)MSEC_PER_SEC;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (len < size - 1) {
		s64 left = end - now_ms();
		ssize_t n;

		if (left <= 0 || !poll(&pfd, 1, left))
			return -ETIMEDOUT;
		n = recv(fd, buf + len, size - 1 - len, 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			break;
		len += n > 0 ? n : 0;
	}
	buf[len] = '\0';
	return len;
}

/* What the answer says. Its lines go to the beginning of @buf. */
static int parse_answer(const char *line, char *buf)
{
	size_t len = strcspn(buf, "\n");

	if (!strncmp(buf, "ack ", 4) && buf[len]) {
		memmove(buf, buf + len + 1, strlen(buf + len + 1) + 1);
		return DUMP_CLIENT_OK;
	}
	if (!strncmp(buf, "nack ", 5))
		pr_err("perf record has refused '%s': %.*s\n", line, (int)(len - 5), buf + 5);
	else
		pr_err("perf record ended without an answer to '%s'\n", line);
	return DUMP_CLIENT_REFUSED;
}

static int exchange(int fd, const char *line, unsigned int seconds, char *buf)
{
	ssize_t n;

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 || send(fd, "\n", 1, MSG_NOSIGNAL) < 0) {
		pr_err("Failed to write to the socket: %m\n");
		return DUMP_CLIENT_REFUSED;
	}
	n = read_all(fd, buf, ANSWER_MAX, seconds);
	if (n == -ETIMEDOUT) {
		pr_err("No answer within %u seconds\n", seconds);
		return DUMP_CLIENT_REFUSED;
	}
	if (n < 0) {
		pr_err("Failed to read the answer: %s\n", strerror(-n));
		return DUMP_CLIENT_REFUSED;
	}
	return parse_answer(line, buf);
}

int dump_client__ask(const char *path, const char *line, unsigned int seconds, char **lines)
{
	char *buf = malloc(ANSWER_MAX);
	int fd = -1, ret;

	*lines = NULL;
	if (!buf) {
		pr_err("Not enough memory\n");
		return DUMP_CLIENT_REFUSED;
	}
	ret = connect_to(path, &fd);
	if (!ret)
		ret = exchange(fd, line, seconds, buf);
	if (fd >= 0)
		close(fd);
	if (ret)
		free(buf);
	else
		*lines = buf;
	return ret;
}

const char *dump_client__next(const char **lines, const char *name, int *len)
{
	size_t name_len = strlen(name);

	while (**lines) {
		const char *line = *lines;
		size_t line_len = strcspn(line, "\n");

		*lines += line_len + (line[line_len] == '\n');
		if (line_len > name_len && !strncmp(line, name, name_len) &&
		    line[name_len] == ' ') {
			*len = line_len - name_len - 1;
			return line + name_len + 1;
		}
	}
	return NULL;
}

double dump_client__number(const char *lines, const char *name)
{
	int len;
	const char *value = dump_client__next(&lines, name, &len);

	return value ? strtod(value, NULL) : 0;
}
