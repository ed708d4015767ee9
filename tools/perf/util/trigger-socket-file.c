// SPDX-License-Identifier: GPL-2.0
/* The file of --trigger-socket, and its rights; see trigger-socket-file.h */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "trigger-socket.h"
#include "trigger-socket-file.h"

/* ---- what the user writes */

static int parse_mode(struct trigger_socket_opts *opts, const char *value)
{
	char *end = NULL;
	unsigned long mode = isdigit(*value) ? strtoul(value, &end, 8) : 0;

	if (!end || *end || mode > 0777) {
		pr_err("--trigger-socket: '%s' of mode= is not an octal number up to 777\n", value);
		return -EINVAL;
	}
	opts->mode = mode;
	return 0;
}

static int parse_group(struct trigger_socket_opts *opts, const char *value)
{
	struct group *group = getgrnam(value);
	char *end = NULL;
	unsigned long gid = isdigit(*value) ? strtoul(value, &end, 10) : 0;

	if (!group && (!end || *end || gid >= (gid_t)-1)) {
		pr_err("--trigger-socket: there is no group '%s'\n", value);
		return -EINVAL;
	}
	opts->gid = group ? group->gr_gid : (gid_t)gid;
	return 0;
}

static int parse_term(struct trigger_socket_opts *opts, const char *term, bool *has_mode)
{
	if (!strncmp(term, "mode=", strlen("mode="))) {
		*has_mode = true;
		return parse_mode(opts, term + strlen("mode="));
	}
	if (!strncmp(term, "group=", strlen("group=")))
		return parse_group(opts, term + strlen("group="));
	pr_err("--trigger-socket: there is no term '%s': they are mode=OCTAL and group=GROUP\n",
	       term);
	return -EINVAL;
}

static int check_path(const char *path)
{
	size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (*path && strlen(path) <= max)
		return 0;
	pr_err("--trigger-socket: '%s' is not a path of 1 to %zu bytes\n", path, max);
	return -EINVAL;
}

int trigger_socket_opts__parse(struct trigger_socket_opts *opts, const char *str)
{
	char *terms = strdup(str), *term;
	bool has_mode = false;
	int err;

	*opts = (struct trigger_socket_opts){ .path = terms, .gid = -1 };
	if (!terms) {
		pr_err("Not enough memory for --trigger-socket\n");
		return -ENOMEM;
	}
	strsep(&terms, ",");
	err = check_path(opts->path);
	while (!err && (term = strsep(&terms, ",")))
		err = parse_term(opts, term, &has_mode);
	if (!has_mode)
		opts->mode = opts->gid == (gid_t)-1 ? 0600 : 0660;
	if (err)
		trigger_socket_opts__exit(opts);
	return err;
}

void trigger_socket_opts__exit(struct trigger_socket_opts *opts)
{
	zfree(&opts->path);
}

/* ---- the file */

/*
 * Is it the file of a perf that was killed? Then nobody listens. (Nor does a perf that is
 * just starting: of two that start at once with one path, the first can lose its file.)
 */
static bool is_stale(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct stat st;
	bool stale;

	stale = fd >= 0 && !lstat(addr->sun_path, &st) && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return stale;
}

static int bind_to(int fd, const struct sockaddr_un *addr)
{
	if (!bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (!is_stale(addr))
		return -EADDRINUSE;
	if (unlink(addr->sun_path) || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -errno;
	return 0;
}

/* The new file has the rights of the socket, less those of the mask */
static int make_file(struct trigger_socket_file *file, const struct sockaddr_un *addr,
		     mode_t mode)
{
	mode_t mask;
	struct stat st;
	int err;

	if (fchmod(file->fd, mode))
		return -errno;
	mask = umask(0);
	err = bind_to(file->fd, addr);
	umask(mask);
	if (err)
		return err;
	if (lstat(addr->sun_path, &st))
		return -errno;
	file->path = strdup(addr->sun_path);
	if (!file->path) {
		unlink(addr->sun_path);
		return -ENOMEM;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	return 0;
}

/* Until it listens, nobody can connect: all of its rights are set by then */
static int open_file(struct trigger_socket_file *file, const struct trigger_socket_opts *opts)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err;

	strcpy(addr.sun_path, opts->path);
	file->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (file->fd < 0)
		return -errno;
	err = make_file(file, &addr, opts->mode);
	if (err)
		return err;
	if (opts->gid != (gid_t)-1 && lchown(opts->path, -1, opts->gid))
		return -errno;
	return listen(file->fd, TRIGGER_SOCKET_CLIENTS) ? -errno : 0;
}

int trigger_socket_file__open(struct trigger_socket_file *file,
			      const struct trigger_socket_opts *opts)
{
	int err;

	*file = (struct trigger_socket_file){ .fd = -1 };
	err = open_file(file, opts);
	if (err == -EADDRINUSE)
		pr_err("--trigger-socket: '%s' is the socket of a running program, or another file: remove it, or use another path\n",
		       opts->path);
	else if (err)
		pr_err("--trigger-socket: failed to make '%s': %s\n", opts->path, strerror(-err));
	return err;
}

static void remove_file(const struct trigger_socket_file *file)
{
	struct stat st;

	if (!lstat(file->path, &st) && st.st_dev == file->dev && st.st_ino == file->ino)
		unlink(file->path);
}

void trigger_socket_file__close(struct trigger_socket_file *file)
{
	if (file->path)
		remove_file(file);
	zfree(&file->path);
	if (file->fd >= 0)
		close(file->fd);
}
