// SPDX-License-Identifier: GPL-2.0
/*
 * The files of the dumps of perf record -M: who may read them, and how much room they have.
 *
 * Expected: the oldest files go until the rest fits, those of earlier runs first; the newest
 * one stays, and so does all that is no dump. Buggy: a file of somebody else is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/kernel.h>
#include "debug.h"
#include "dump-files.h"
#include "tests.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

static char dir[64];

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* A file of @size bytes, written at @time */
static int make_file(const char *name, off_t size, time_t time)
{
	const struct timespec times[2] = { { .tv_sec = time }, { .tv_sec = time } };
	int fd = open(path_of(name), O_CREAT | O_EXCL | O_WRONLY, 0600);
	int err = fd < 0 || ftruncate(fd, size) || futimens(fd, times);

	if (fd >= 0)
		close(fd);
	return err;
}

static bool exists(const char *name)
{
	struct stat st;

	return !lstat(path_of(name), &st);
}

static int trim(const char *terms, const char *newest)
{
	struct dump_files_opts opts;
	char base[256];

	if (dump_files_opts__parse(&opts, terms))
		return -EINVAL;
	strcpy(base, path_of("perf.data"));
	return dump_files__trim(&opts, base, path_of(newest));
}

static int test_parse(void)
{
	static const char *const bad[] = {
		"", ",", "space=", "space=0M", "space=10", "space=-1M", "space=1Mb", "space=1X",
		"space=99999999999999999999G", "group=", "group=no such group",
		"group=4294967295", "size=1M", "space=1M,",
	};
	struct dump_files_opts opts;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(dump_files_opts__parse(&opts, bad[i]) == -EINVAL);
	CHECK(!dump_files_opts__parse(&opts, "space=3G"));
	CHECK(opts.set && opts.space == 3ULL << 30 && opts.gid == (gid_t)-1);
	CHECK(!dump_files_opts__parse(&opts, "group=17,space=5B"));
	CHECK(opts.set && opts.space == 5 && opts.gid == 17);
	return TEST_OK;
}

static int test_share(void)
{
	gid_t gid = geteuid() ? getegid() : 12345;
	struct dump_files_opts opts = {};
	struct stat st;
	int fd;

	CHECK(!make_file("shared", 0, 1));
	fd = open(path_of("shared"), O_RDONLY);
	CHECK(fd >= 0 && !dump_files__share(&opts, fd));
	opts = (struct dump_files_opts){ .set = true, .gid = -1 };
	CHECK(!dump_files__share(&opts, fd) && !fstat(fd, &st));
	CHECK((st.st_mode & 07777) == 0600);
	opts.gid = gid;
	CHECK(!dump_files__share(&opts, fd) && !fstat(fd, &st));
	CHECK((st.st_mode & 07777) == 0640 && st.st_gid == gid);
	close(fd);
	CHECK(dump_files__share(&opts, fd) == -EBADF);
	CHECK(!unlink(path_of("shared")));
	return TEST_OK;
}

static const char *const dumps[] = {
	"perf.data.2024010100000000.label", "perf.data.2024010200000000",
	/* Written later, though its name says earlier: the clock was set back */
	"perf.data.2023010100000000-1.x", "perf.data.2024010400000000",
};

/* They look similar, and are of somebody else, or aren't complete */
static const char *const others[] = {
	"perf.data", "perf.data.old", "perf.data.2024010", "perf.data.2024010100000000x",
	".perf.data.XXXXXX", "other.data.2024010100000000", "perf.data2.2024010100000000",
	"perf.data.2024010100000000.link",
};

static int make_all(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dumps); i++)
		CHECK(!make_file(dumps[i], 1000, 100 + i));
	for (i = 0; i + 1 < ARRAY_SIZE(others); i++)
		CHECK(!make_file(others[i], 5000, 50));
	CHECK(!symlink("perf.data.2024010400000000", path_of(others[i])));
	return TEST_OK;
}

static int test_trim(void)
{
	size_t i;

	CHECK(!make_all());
	CHECK(!trim("group=0", dumps[3]));
	CHECK(!trim("space=4000B", dumps[3]));
	CHECK(trim("space=3999B", dumps[3]) == 1);
	CHECK(!exists(dumps[0]) && exists(dumps[1]) && exists(dumps[2]) && exists(dumps[3]));
	CHECK(trim("space=1000B", dumps[3]) == 2);
	CHECK(!exists(dumps[1]) && !exists(dumps[2]) && exists(dumps[3]));
	/* The newest one alone is too large */
	CHECK(!trim("space=1B", dumps[3]) && exists(dumps[3]));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(exists(others[i]) && !unlink(path_of(others[i])));
	CHECK(!unlink(path_of(dumps[3])));
	return TEST_OK;
}

/* Without a limit the directory is not even read */
static int test_no_dir(void)
{
	struct dump_files_opts opts = { .set = true, .space = 1 };

	CHECK(dump_files__trim(&opts, "/no/such/perf.data", "/no/such/x") == -ENOENT);
	CHECK(!dump_files__trim(&(struct dump_files_opts){}, "/no/such/perf.data", "x"));
	return TEST_OK;
}

static int test__dump_files(struct test_suite *test __maybe_unused,
			    int subtest __maybe_unused)
{
	int err;

	strcpy(dir, "/tmp/perf-dump-files-XXXXXX");
	CHECK(mkdtemp(dir));
	err = test_parse() || test_share() || test_trim() || test_no_dir() || rmdir(dir);
	return err ? TEST_FAIL : TEST_OK;
}

DEFINE_SUITE("Files of dumps of the memory ring", dump_files);
