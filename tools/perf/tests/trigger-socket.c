// SPDX-License-Identifier: GPL-2.0
/*
 * The socket on which programs fire a trigger of perf record -M.
 *
 * Expected: one line in, one line back, whatever programs write and however slowly; the
 * file has the rights that were asked for; a stale file is replaced, another is not. A
 * socket that waits for a program hangs here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "debug.h"
#include "tests.h"
#include "trigger-line.h"
#include "trigger-socket.h"
#include "uid-rate.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

/* The time at which the tests serve the socket. Each begins much later than the last. */
static u64 now = NSEC_PER_SEC;

static char dir[64];
static struct sockaddr_un addr = { .sun_family = AF_UNIX };

/* What was asked for last, by whom, on which connection, and how often */
static struct {
	char		line[TRIGGER_SOCKET_LINE];
	struct ucred	peer;
	int		fd;
	unsigned int	nr;
} last;

/* "more" gets two lines more, "later" is answered by the test */
static const char *on_asked(void *priv, struct trigger_socket_request *request)
{
	strncpy(last.line, request->line, TRIGGER_SOCKET_LINE - 1);
	last.peer = *request->peer;
	last.nr++;
	if (!strcmp(request->line, "more")) {
		request->more = strdup("one 1\ntwo 2\n");
		return NULL;
	}
	if (!strcmp(request->line, "later")) {
		last.fd = request->fd;
		request->fd = -1;
		return NULL;
	}
	return strcmp(request->line, priv) ? "there is none" : NULL;
}

/* A socket with @terms behind its path, on which "app" can be asked for */
static struct trigger_socket *socket_with(const char *terms)
{
	struct trigger_socket_opts opts;
	struct trigger_socket *sock;
	char str[256];

	now += 1000 * NSEC_PER_SEC;
	last.nr = 0;
	snprintf(str, sizeof(str), "%s%s", addr.sun_path, terms);
	if (trigger_socket_opts__parse(&opts, str))
		return NULL;
	sock = trigger_socket__new(&opts, on_asked, (void *)"app");
	trigger_socket_opts__exit(&opts);
	return sock;
}

static int connect_to(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* Is @text the answer, and the end of what there is to read? */
static bool answers(int fd, const char *text)
{
	char line[256];
	ssize_t n = recv(fd, line, sizeof(line) - 1, MSG_DONTWAIT);

	line[max_t(ssize_t, n, 0)] = '\0';
	if (n > 0 && !strcmp(line, text) && !recv(fd, line, 1, MSG_DONTWAIT))
		return true;
	pr_debug("answer '%s', not '%s'\n", line, text);
	return false;
}

static bool is_open(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Is @text the answer to @size bytes of @line, sent at once? */
static bool asks(struct trigger_socket *sock, const char *line, size_t size, const char *text)
{
	int fd = connect_to();
	bool ok = fd >= 0 && send(fd, line, size, 0) == (ssize_t)size;

	trigger_socket__serve(sock, now);
	ok = ok && answers(fd, text);
	close(fd);
	return ok;
}

static unsigned int nr_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (fds && readdir(fds))
		nr++;
	if (fds)
		closedir(fds);
	return nr;
}

/* ---- the option */

static int test_parse(void)
{
	static const char *const bad[] = {
		"", ",mode=600", "/x,mode=", "/x,mode=8", "/x,mode=1000", "/x,mode=-1",
		"/x,mode=6x", "/x,group=", "/x,group=no such group", "/x,group=4294967295",
		"/x,owner=0", "/x,",
	};
	struct trigger_socket_opts opts;
	char path[sizeof(addr.sun_path) + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(trigger_socket_opts__parse(&opts, bad[i]) == -EINVAL);
		CHECK(!opts.path);
	}
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	CHECK(trigger_socket_opts__parse(&opts, path) == -EINVAL);
	path[sizeof(path) - 2] = '\0';
	CHECK(!trigger_socket_opts__parse(&opts, path));
	CHECK(opts.mode == 0600 && opts.gid == (gid_t)-1 && !strcmp(opts.path, path));
	trigger_socket_opts__exit(&opts);
	CHECK(!trigger_socket_opts__parse(&opts, "/x,group=17"));
	CHECK(opts.mode == 0660 && opts.gid == 17);
	trigger_socket_opts__exit(&opts);
	CHECK(!trigger_socket_opts__parse(&opts, "/x,mode=777,group=4294967294"));
	CHECK(opts.mode == 0777 && opts.gid == 4294967294U);
	trigger_socket_opts__exit(&opts);
	CHECK(!trigger_socket_opts__parse(&opts, "/x,mode=0622,group=0"));
	CHECK(opts.mode == 0622 && !opts.gid && !strcmp(opts.path, "/x"));
	trigger_socket_opts__exit(&opts);
	return TEST_OK;
}

/* ---- the file */

/* The rights are those of the option, not those that the mask leaves */
static int test_rights(void)
{
	gid_t gid = geteuid() ? getegid() : 12345;
	mode_t mask = umask(0077);
	struct trigger_socket *sock;
	char terms[64];
	struct stat st;

	sock = socket_with("");
	CHECK(sock && !lstat(addr.sun_path, &st));
	CHECK(S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0600);
	trigger_socket__delete(sock);
	CHECK(lstat(addr.sun_path, &st) && errno == ENOENT);

	snprintf(terms, sizeof(terms), ",mode=627,group=%u", gid);
	sock = socket_with(terms);
	CHECK(sock && !lstat(addr.sun_path, &st));
	CHECK((st.st_mode & 07777) == 0627 && st.st_gid == gid && st.st_uid == geteuid());
	trigger_socket__delete(sock);
	CHECK(umask(mask) == 0077);
	return TEST_OK;
}

/* A program that is too busy to accept connections isn't one that was killed */
static int test_busy(void)
{
	int fds[8], fd = socket(AF_UNIX, SOCK_STREAM, 0);
	unsigned int i, nr = 0;
	struct stat st;

	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 0));
	do {
		fds[nr] = connect_to();
	} while (fds[nr] >= 0 && ++nr < ARRAY_SIZE(fds));
	CHECK(nr < ARRAY_SIZE(fds) && errno == EAGAIN);
	CHECK(!socket_with("") && !lstat(addr.sun_path, &st));
	for (i = 0; i < nr; i++)
		close(fds[i]);
	close(fd);
	CHECK(!unlink(addr.sun_path));
	return TEST_OK;
}

/* What a killed perf has left is replaced, but nothing else */
static int test_other_file(void)
{
	unsigned int fds = nr_fds();
	struct trigger_socket *sock;
	struct stat st;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1));
	CHECK(!socket_with(""));
	CHECK(!lstat(addr.sun_path, &st));
	close(fd);
	sock = socket_with("");
	CHECK(sock && asks(sock, "app\n", 4, "ack app\n"));
	/* Another session, which must not take this one's */
	CHECK(!socket_with(""));
	CHECK(asks(sock, "app\n", 4, "ack app\n"));

	/* Another file in its place isn't removed at the end */
	CHECK(!unlink(addr.sun_path));
	fd = open(addr.sun_path, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(fd >= 0);
	close(fd);
	trigger_socket__delete(sock);
	CHECK(!lstat(addr.sun_path, &st) && S_ISREG(st.st_mode));
	CHECK(!socket_with(""));
	CHECK(!lstat(addr.sun_path, &st) && S_ISREG(st.st_mode));
	CHECK(!unlink(addr.sun_path));
	CHECK(nr_fds() == fds);
	return TEST_OK;
}

/* ---- one line in, one line back */

/* At the end those that are connected aren't left waiting */
static int test_end(void)
{
	unsigned int fds = nr_fds();
	struct trigger_socket *sock = socket_with("");
	int fd;

	fd = connect_to();
	CHECK(sock && fd >= 0);
	trigger_socket__serve(sock, now);
	trigger_socket__delete(sock);
	CHECK(!is_open(fd));
	close(fd);
	CHECK(nr_fds() == fds);
	return TEST_OK;
}

static int test_lines(void)
{
	struct trigger_socket *sock = socket_with("");
	char line[TRIGGER_SOCKET_LINE + 1];

	CHECK(sock);
	CHECK(asks(sock, "app\n", 4, "ack app\n"));
	CHECK(last.nr == 1 && !strcmp(last.line, "app"));
	CHECK(last.peer.pid == getpid() && last.peer.uid == geteuid());
	CHECK(asks(sock, "other\n", 6, "nack there is none\n"));
	CHECK(asks(sock, "\n", 1, "nack there is none\n"));
	CHECK(asks(sock, "app\nother\n", 10, "ack app\n"));
	CHECK(asks(sock, "\e[2J\n", 5, "nack there is none\n"));
	CHECK(last.nr == 5);
	/* A name doesn't end there */
	CHECK(asks(sock, "app\0x\n", 6, "nack the line isn't text\n") && last.nr == 5);

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	CHECK(asks(sock, line + 1, sizeof(line) - 1, "nack there is none\n"));
	CHECK(strlen(last.line) == TRIGGER_SOCKET_LINE - 1 && last.nr == 6);
	CHECK(asks(sock, line, sizeof(line), "nack the line is too long\n") && last.nr == 6);
	CHECK(trigger_socket__stats(sock).acked == 2 && trigger_socket__stats(sock).nacked == 6);
	trigger_socket__delete(sock);
	return TEST_OK;
}

static int test_pieces(void)
{
	struct trigger_socket *sock = socket_with("");
	char line[TRIGGER_SOCKET_LINE];
	int fd = connect_to();

	CHECK(sock && fd >= 0);
	trigger_socket__serve(sock, now);
	CHECK(send(fd, "a", 1, 0) == 1);
	trigger_socket__serve(sock, now);
	CHECK(send(fd, "pp", 2, 0) == 2);
	trigger_socket__serve(sock, now);
	CHECK(is_open(fd) && !last.nr);
	CHECK(send(fd, "\n", 1, 0) == 1);
	trigger_socket__serve(sock, now);
	CHECK(answers(fd, "ack app\n"));
	close(fd);

	/* The second piece alone would fit */
	memset(line, 'x', sizeof(line));
	fd = connect_to();
	CHECK(fd >= 0 && send(fd, line, 1, 0) == 1);
	trigger_socket__serve(sock, now);
	CHECK(is_open(fd) && send(fd, line, sizeof(line), 0) == sizeof(line));
	trigger_socket__serve(sock, now);
	CHECK(answers(fd, "nack the line is too long\n"));
	close(fd);

	/* The end of what it writes is the end of the line, too; but nothing is no line */
	fd = connect_to();
	CHECK(fd >= 0 && send(fd, "app", 3, 0) == 3 && !shutdown(fd, SHUT_WR));
	trigger_socket__serve(sock, now);
	trigger_socket__serve(sock, now);
	CHECK(answers(fd, "ack app\n"));
	close(fd);
	fd = connect_to();
	CHECK(fd >= 0 && !shutdown(fd, SHUT_WR));
	trigger_socket__serve(sock, now);
	CHECK(answers(fd, "nack there is no line\n") && last.nr == 2);
	close(fd);

	/* Gone before the answer */
	fd = connect_to();
	CHECK(fd >= 0 && send(fd, "app\n", 4, 0) == 4);
	close(fd);
	trigger_socket__serve(sock, now);
	CHECK(last.nr == 3 && trigger_socket__stats(sock).acked == 3);
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* An answer can have more lines */
static int test_more(void)
{
	struct trigger_socket *sock = socket_with("");

	CHECK(sock && asks(sock, "more\n", 5, "ack more\none 1\ntwo 2\n"));
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* Or come later, when the socket has forgotten the program, also when it is gone */
static int test_later(void)
{
	unsigned int i, fds = nr_fds();
	struct trigger_socket *sock = socket_with("");
	int fd;

	for (i = 0; i < 3; i++) {
		fd = connect_to();
		CHECK(sock && fd >= 0 && send(fd, "later\nrest", 10, 0) == 10);
		trigger_socket__serve(sock, now);
		now += 2 * TRIGGER_SOCKET_TIME;
		trigger_socket__serve(sock, now);
		CHECK(is_open(fd) && trigger_socket__stats(sock).acked == i + 1);
		CHECK(asks(sock, "no\n", 3, "nack there is none\n"));
		if (!i)
			close(fd);
		trigger_socket__answer(last.fd, i == 1 ? "nack" : "ack", "it", i ? "a b\n" : NULL);
		if (i)
			CHECK(answers(fd, i == 1 ? "nack it\na b\n" : "ack it\na b\n"));
		if (i)
			close(fd);
	}
	/* One that isn't answered yet doesn't keep the socket from its end */
	fd = connect_to();
	CHECK(fd >= 0 && send(fd, "later\n", 6, 0) == 6);
	trigger_socket__serve(sock, now);
	trigger_socket__delete(sock);
	CHECK(is_open(fd));
	trigger_socket__answer(last.fd, "ack", "it", NULL);
	CHECK(answers(fd, "ack it\n"));
	close(fd);
	CHECK(nr_fds() == fds);
	return TEST_OK;
}

/* ---- what lines say */

static int test_parse_line(void)
{
	static const struct {
		const char		*str;
		enum trigger_verb	verb;
		const char		*name;
		u64			span;
		const char		*reason;
	} good[] = {
		{ "app", TRIGGER_FIRE, "app", 0, "" },
		{ "wait", TRIGGER_FIRE, "wait", 0, "" },
		{ "no such", TRIGGER_FIRE, "no such", 0, "" },
		{ "status", TRIGGER_STATUS, "", 0, "" },
		{ "wait app", TRIGGER_WAIT, "app", 0, "" },
		{ "wait  app  ", TRIGGER_WAIT, "app", 0, "" },
		{ "wait status 3s", TRIGGER_WAIT, "status", 3 * NSEC_PER_SEC, "" },
		{ "wait app 500ms why not", TRIGGER_WAIT, "app", 500 * NSEC_PER_MSEC, "why not" },
		{ "wait app 10seconds", TRIGGER_WAIT, "app", 0, "10seconds" },
		{ "wait app 10 s", TRIGGER_WAIT, "app", 0, "10 s" },
		{ "wait app GET /a?b=c", TRIGGER_WAIT, "app", 0, "GET /a?b=c" },
	};
	static const struct {
		const char	*str;
		const char	*why;
	} bad[] = {
		{ "wait ", "no such trigger" },
		{ "wait app 0s", "out of range" },
		{ "wait app 99999999999999999999h", "out of range" },
		{ "wait app a\tb", "printable" },
		{ "wait app \303\274ber", "printable" },
		{ "wait app \033[2J", "printable" },
		{ "wait app 12345678901234567890123456789012345678901234567890123456789012345",
		  "longer than 64 characters" },
		{ "wait 12345678901234567890123456789012345678901 a", "no such trigger" },
	};
	struct trigger_line line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK(!trigger_line__parse(&line, good[i].str));
		CHECK(line.verb == good[i].verb && line.span == good[i].span);
		CHECK(!strcmp(line.name, good[i].name) && !strcmp(line.reason, good[i].reason));
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *why = trigger_line__parse(&line, bad[i].str);

		CHECK(why && strstr(why, bad[i].why));
	}
	return TEST_OK;
}

/* ---- programs that are slow, silent, or many */

static int test_slow(void)
{
	struct trigger_socket *sock = socket_with("");
	int silent = connect_to(), slow = connect_to();
	u64 end = now + TRIGGER_SOCKET_TIME;

	CHECK(sock && silent >= 0 && slow >= 0);
	trigger_socket__serve(sock, now);
	CHECK(send(slow, "a", 1, 0) == 1);
	now = end - 1;
	trigger_socket__serve(sock, now);
	CHECK(is_open(silent) && is_open(slow));
	CHECK(asks(sock, "app\n", 4, "ack app\n"));
	now = end;
	CHECK(send(slow, "p", 1, 0) == 1);
	trigger_socket__serve(sock, now);
	CHECK(answers(silent, "nack it took too long to write a line\n"));
	CHECK(answers(slow, "nack it took too long to write a line\n"));
	close(silent);
	close(slow);
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* However many are silent, the next one is served at once */
static int test_many(void)
{
	struct trigger_socket *sock = socket_with("");
	int silent[3 * TRIGGER_SOCKET_CLIENTS];
	unsigned int i, fds = nr_fds();

	CHECK(sock);
	for (i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = connect_to();
		CHECK(silent[i] >= 0);
		trigger_socket__serve(sock, now);
	}
	CHECK(nr_fds() == fds + ARRAY_SIZE(silent) + TRIGGER_SOCKET_CLIENTS);
	CHECK(answers(silent[0], "nack too many programs are connected\n"));
	CHECK(is_open(silent[ARRAY_SIZE(silent) - 1]));
	for (i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	trigger_socket__serve(sock, now);
	CHECK(nr_fds() == fds);
	/* They have used up the user's requests */
	CHECK(asks(sock, "app\n", 4, "nack too many requests of this user: try again later\n"));
	now += UID_RATE_PERIOD;
	CHECK(asks(sock, "app\n", 4, "ack app\n"));
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* A program whose line is there is served, even if it is the one to make room */
static int test_ready(void)
{
	struct trigger_socket *sock = socket_with("");
	int fd = connect_to(), silent[TRIGGER_SOCKET_CLIENTS];
	unsigned int i;

	CHECK(sock && fd >= 0);
	trigger_socket__serve(sock, now);
	CHECK(send(fd, "app\n", 4, 0) == 4);
	for (i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = connect_to();
		CHECK(silent[i] >= 0);
	}
	trigger_socket__serve(sock, now);
	CHECK(answers(fd, "ack app\n"));
	for (i = 0; i < ARRAY_SIZE(silent); i++) {
		CHECK(is_open(silent[i]));
		close(silent[i]);
	}
	close(fd);
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* One in the middle leaves, and the others are served as ever */
static int test_middle(void)
{
	struct trigger_socket *sock = socket_with("");
	int fds[TRIGGER_SOCKET_CLIENTS];
	unsigned int i, middle = ARRAY_SIZE(fds) / 2;

	CHECK(sock);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to();
		CHECK(fds[i] >= 0);
	}
	trigger_socket__serve(sock, now);
	CHECK(send(fds[middle], "app\n", 4, 0) == 4);
	trigger_socket__serve(sock, now);
	CHECK(answers(fds[middle], "ack app\n"));
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (i == middle)
			continue;
		CHECK(is_open(fds[i]));
		CHECK(send(fds[i], "no\n", 3, 0) == 3);
	}
	trigger_socket__serve(sock, now);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		CHECK(i == middle || !is_open(fds[i]));
		close(fds[i]);
	}
	CHECK(last.nr == UID_RATE_BURST);
	trigger_socket__delete(sock);
	trigger_socket__delete(NULL);
	return TEST_OK;
}

static int test_rate(void)
{
	static const char too_many[] = "nack too many requests of this user: try again later\n";
	struct trigger_socket *sock = socket_with("");
	unsigned int i;

	CHECK(sock);
	for (i = 0; i < UID_RATE_BURST; i++)
		CHECK(asks(sock, "app\n", 4, "ack app\n"));
	CHECK(asks(sock, "app\n", 4, too_many) && asks(sock, "app\n", 4, too_many));
	now += UID_RATE_PERIOD;
	CHECK(asks(sock, "no\n", 3, "nack there is none\n"));
	CHECK(asks(sock, "app\n", 4, too_many));
	CHECK(last.nr == UID_RATE_BURST + 1);
	CHECK(trigger_socket__stats(sock).too_many == 3);
	trigger_socket__delete(sock);
	return TEST_OK;
}

/* Each user has a bucket, and a new one the bucket that is full first */
static int test_users(void)
{
	static struct uid_rate rate;
	u64 time = 5 * NSEC_PER_SEC;
	unsigned int i;

	for (i = 0; i < UID_RATE_BURST; i++)
		CHECK(uid_rate__take(&rate, 0, time));
	CHECK(!uid_rate__take(&rate, 0, time));
	for (i = 1; i < UID_RATE_USERS; i++)
		CHECK(uid_rate__take(&rate, i, time + i));
	CHECK(!uid_rate__take(&rate, 0, time));
	/* User 1 loses the bucket, user 2 doesn't */
	CHECK(uid_rate__take(&rate, UID_RATE_USERS, time + 100));
	for (i = 1; i < UID_RATE_BURST; i++)
		CHECK(uid_rate__take(&rate, 2, time + 100));
	CHECK(!uid_rate__take(&rate, 2, time + 100));
	CHECK(!uid_rate__take(&rate, 0, time + UID_RATE_PERIOD - 1));
	CHECK(uid_rate__take(&rate, 0, time + UID_RATE_PERIOD));
	/* No more than a full bucket, however long nobody asks */
	time += 1000 * NSEC_PER_SEC;
	for (i = 0; i < UID_RATE_BURST; i++)
		CHECK(uid_rate__take(&rate, 0, time));
	CHECK(!uid_rate__take(&rate, 0, time));
	return TEST_OK;
}

static int test_all(void)
{
	CHECK(!test_parse());
	CHECK(!test_rights());
	CHECK(!test_busy());
	CHECK(!test_other_file());
	CHECK(!test_end());
	CHECK(!test_lines());
	CHECK(!test_pieces());
	CHECK(!test_more());
	CHECK(!test_later());
	CHECK(!test_parse_line());
	CHECK(!test_slow());
	CHECK(!test_many());
	CHECK(!test_ready());
	CHECK(!test_middle());
	CHECK(!test_rate());
	CHECK(!test_users());
	return TEST_OK;
}

static int test__trigger_socket(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	int ret;

	strcpy(dir, "/tmp/perf-trigger-socket-XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir);
	ret = test_all();
	unlink(addr.sun_path);
	rmdir(dir);
	return ret;
}

DEFINE_SUITE("Socket for triggers of the memory ring", trigger_socket);
