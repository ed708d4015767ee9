// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of output of several CPUs to one buffer. See output_common.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "output_common.h"

#define NR_FILES	8
#define WAIT_MS		60000

/* --- Events --- */

void attr_output(struct perf_event_attr *attr, int type, __u64 config)
{
	attr_init(attr, type);
	attr->config = config;
	attr->read_format = PERF_FORMAT_LOST;
}

void attr_names(struct perf_event_attr *attr)
{
	attr_output(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr->comm = 1;
}

void attr_maps(struct perf_event_attr *attr)
{
	attr_output(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr->mmap2 = 1;
	attr->mmap_data = 1;
}

void attr_numbered_nmi(struct perf_event_attr *attr, unsigned int interval)
{
	attr_output(attr, pmu_type("test_nmi"), interval);
	attr->sample_period = 1;
	attr->sample_type |= PERF_SAMPLE_READ;
}

const char *lacks_shared_output(void)
{
	struct perf_event_attr attr;
	int fd;

	if (lacks_root())
		return lacks_root();

	attr_names(&attr);
	attr.output_shared = 1;
	fd = perf_open(&attr, 0, -1, -1);
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	/* Other errors are left to the tests. */
	return errno == EINVAL || errno == EOPNOTSUPP ?
	       "this kernel has no buffers shared by CPUs" : NULL;
}

int perf_open_output(struct perf_event_attr *attr, pid_t pid, int cpu, int target_fd)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, target_fd,
		       PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_CLOEXEC);
}

int read_count(int fd, struct event_count *count)
{
	return read(fd, count, sizeof(*count)) == sizeof(*count) ? 0 : -1;
}

/* --- Buffers --- */

int output_map(struct output *out, int fd, unsigned int pages, int prot)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	void *base = mmap(NULL, (pages + 1) * page_size, prot, MAP_SHARED, fd, 0);

	memset(out, 0, sizeof(*out));
	if (base == MAP_FAILED)
		return -1;

	out->fd = fd;
	out->page = base;
	out->size = pages * page_size;
	out->data = (unsigned char *)base + page_size;
	return 0;
}

void output_unmap(struct output *out)
{
	if (out->page)
		munmap(out->page, out->size + (out->data - (unsigned char *)out->page));
	out->page = NULL;
}

static void copy_out(struct output *out, __u64 pos, void *to, size_t len)
{
	size_t offset = pos & (out->size - 1);
	size_t first = out->size - offset < len ? out->size - offset : len;

	memcpy(to, out->data + offset, first);
	memcpy((char *)to + first, out->data, len - first);
}

static void parse_sample(struct out_record *rec)
{
	const __u64 *p = rec->raw + 1;

	rec->id = *p++;
	rec->pid = *p;
	rec->tid = *p++ >> 32;
	rec->time = *p++;
	rec->cpu = *p++;
	if (rec->size < 8 + 6 * sizeof(__u64))
		return;
	rec->value = *p++;
	rec->value_lost = *p;
}

/* pid and tid, time, CPU, identifier */
#define TRAILER	4

static void parse_trailer(struct out_record *rec)
{
	const __u64 *p = rec->raw + rec->size / sizeof(__u64) - TRAILER;

	rec->pid = p[0];
	rec->tid = p[0] >> 32;
	rec->time = p[1];
	rec->cpu = p[2];
	rec->id = p[3];
}

static const char *parse(struct out_record *rec)
{
	size_t min = sizeof(__u64) * (1 + TRAILER);

	rec->text = NULL;
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		if (rec->size < min)
			return "a sample is too short";
		parse_sample(rec);
		return NULL;
	case PERF_RECORD_LOST:
		if (rec->size != min + 2 * sizeof(__u64))
			return "a LOST record has a wrong size";
		rec->lost = rec->raw[2];
		break;
	case PERF_RECORD_LOST_SAMPLES:
		if (rec->size < min + sizeof(__u64))
			return "a LOST_SAMPLES record is too short";
		if (rec->raw[1])
			return "a LOST_SAMPLES record reports a loss";
		break;
	case PERF_RECORD_COMM:
		if (rec->size < min + 2 * sizeof(__u64))
			return "a COMM record is too short";
		rec->text = (const char *)(rec->raw + 2);
		break;
	case PERF_RECORD_MMAP2:
		if (rec->size < min + 9 * sizeof(__u64))
			return "an MMAP2 record is too short";
		rec->offset = rec->raw[4];
		rec->text = (const char *)(rec->raw + 9);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		break;
	default:
		return "a record has an unknown type";
	}
	parse_trailer(rec);
	return NULL;
}

/* Take the record at @pos, of at most @available bytes. */
static const char *take(struct output *out, struct out_record *rec, __u64 pos,
			__u64 available)
{
	struct perf_event_header header;

	if (available < sizeof(header))
		return "there is less than a header";
	copy_out(out, pos, &header, sizeof(header));
	if (header.size < sizeof(header) || header.size % sizeof(__u64))
		return "a record has an impossible size";
	if (header.size > available)
		return "a record ends past data_head";

	rec->type = header.type;
	rec->size = header.size;
	copy_out(out, pos, rec->raw, header.size);
	return parse(rec);
}

void output_flush(struct output *out)
{
	struct pollfd poll_fd = { .fd = out->fd, .events = POLLIN };

	poll(&poll_fd, 1, 0);
}

static __u64 head_of(const struct output *out)
{
	return __atomic_load_n(&out->page->data_head, __ATOMIC_ACQUIRE);
}

/* The next record, or padding */
static int next_of_any_type(struct output *out, struct out_record *rec, const char **why)
{
	__u64 head = head_of(out);

	if (head == out->pos) {
		output_flush(out);
		head = head_of(out);
	}
	if (head < out->pos) {
		*why = "data_head went back";
		return -1;
	}
	if (head == out->pos)
		return 0;

	*why = take(out, rec, out->pos, head - out->pos);
	if (*why)
		return -1;

	out->wraps += (out->pos + rec->size) / out->size != out->pos / out->size;
	out->pos += rec->size;
	return 1;
}

typedef int (*next_fn)(struct output *out, struct out_record *rec, const char **why);

/* What is left of a lease is no record here. */
static int next_of(struct output *out, struct out_record *rec, const char **why, next_fn next)
{
	int ret;

	while ((ret = next(out, rec, why)) > 0 && rec->type == PERF_RECORD_LOST_SAMPLES)
		out->leases++;
	return ret;
}

int output_next(struct output *out, struct out_record *rec, const char **why)
{
	return next_of(out, rec, why, next_of_any_type);
}

void output_release(struct output *out)
{
	__atomic_store_n(&out->page->data_tail, out->pos, __ATOMIC_RELEASE);
}

static int next_backward_of_any_type(struct output *out, struct out_record *rec,
				     const char **why)
{
	__u64 head = out->page->data_head;
	__u64 left = out->size - (out->pos - head);
	struct perf_event_header header;

	/* Positions count down from 2^64, where the first record ends. */
	if (!out->pos || left < sizeof(header))
		return 0;
	copy_out(out, out->pos, &header, sizeof(header));
	/* The oldest record may be partly overwritten. */
	if (header.size > left)
		return 0;

	*why = take(out, rec, out->pos, left);
	if (*why)
		return -1;
	out->pos += rec->size;
	return 1;
}

int output_next_backward(struct output *out, struct out_record *rec, const char **why)
{
	return next_of(out, rec, why, next_backward_of_any_type);
}

/* --- Numbered writers --- */

/* A name has at most 15 characters; the length depends on the number, too. */
static void name_of(unsigned int number, char *name)
{
	int len = sprintf(name, "n%u", number);

	for (int pad = number % 5; pad > 0; pad--)
		name[len++] = '.';
	name[len] = 0;
}

void write_name(unsigned int number)
{
	char name[32];

	name_of(number, name);
	prctl(PR_SET_NAME, name);
}

static char map_dir[64];
static char map_files[NR_FILES][4096];
static int map_fds[NR_FILES];

/* The path has 2 * @n directories, each with a name of 23 * @n + 1 digits. */
static int make_map_file(int n)
{
	char *path = map_files[n];
	int len = sprintf(path, "%s", map_dir);

	for (int depth = 0; depth < 2 * n; depth++) {
		len += snprintf(path + len, 200, "/%0*d", 23 * n + 1, depth);
		if (mkdir(path, 0700) && errno != EEXIST)
			return -1;
	}
	sprintf(path + len, "/map%d", n);
	map_fds[n] = open(path, O_RDONLY | O_CREAT, 0600);
	return map_fds[n] < 0 ? -1 : 0;
}

int make_map_files(void)
{
	sprintf(map_dir, "/tmp/output_maps.%d", getpid());
	if (mkdir(map_dir, 0700))
		return -1;
	for (int n = 0; n < NR_FILES; n++) {
		if (make_map_file(n))
			return -1;
	}
	return 0;
}

void remove_map_files(void)
{
	for (int n = 0; n < NR_FILES; n++) {
		char *end = map_files[n];

		close(map_fds[n]);
		unlink(map_files[n]);
		while ((end = strrchr(map_files[n], '/')) && end > map_files[n]) {
			*end = 0;
			if (rmdir(map_files[n]))
				break;
		}
	}
}

int write_map(unsigned int number)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page_size, PROT_READ, MAP_SHARED, map_fds[number % NR_FILES],
		       (off_t)number * page_size);

	if (p == MAP_FAILED)
		return -1;
	return munmap(p, page_size);
}

static long long name_number(const char *name)
{
	char expected[32];
	unsigned int number;

	if (sscanf(name, "n%u", &number) != 1)
		return -1;
	name_of(number, expected);
	return strcmp(name, expected) ? -1 : (long long)number;
}

static long long map_number(const struct out_record *rec)
{
	unsigned int number = rec->offset / sysconf(_SC_PAGESIZE);

	return strcmp(rec->text, map_files[number % NR_FILES]) ? -1 : (long long)number;
}

long long record_number(const struct out_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		return rec->value;
	case PERF_RECORD_COMM:
		return rec->raw[1] == ((__u64)rec->tid << 32 | rec->pid) ?
		       name_number(rec->text) : -1;
	case PERF_RECORD_MMAP2:
		return rec->raw[1] == ((__u64)rec->tid << 32 | rec->pid) ?
		       map_number(rec) : -1;
	default:
		return -1;
	}
}

struct writer_shared *writers_alloc(void)
{
	void *p = mmap(NULL, sizeof(struct writer_shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void writers_free(struct writer_shared *shared)
{
	munmap(shared, sizeof(*shared));
}

static void run_writer(struct writer_shared *shared, int slot, unsigned int nr, bool maps)
{
	unsigned int i;

	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE))
		usleep(1000);

	for (i = 0; nr ? i < nr : !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		if (!maps)
			write_name(i);
		else if (write_map(i))
			_exit(1);
		__atomic_store_n(&shared->written[slot], i + 1, __ATOMIC_RELEASE);
	}

	/* An exit is a record, too: delay it until it is wanted. */
	__atomic_add_fetch(&shared->finished, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&shared->end, __ATOMIC_ACQUIRE))
		usleep(1000);
}

pid_t start_writer(struct writer_shared *shared, int slot, int cpu, unsigned int nr, bool maps)
{
	pid_t pid = fork();

	if (pid)
		return pid;

	/* However the test ends, no writer is left over. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cpu >= 0 && pin_to_cpu(cpu))
		_exit(2);
	run_writer(shared, slot, nr, maps);
	_exit(0);
}

int wait_count(const int *count, int nr)
{
	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (__atomic_load_n(count, __ATOMIC_ACQUIRE) >= nr)
			return 0;
		usleep(1000);
	}
	errno = ETIMEDOUT;
	return -1;
}

int end_writer(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int test_cpu(int n)
{
	static int cpus[CPU_SETSIZE], nr;

	for (; !nr || cpus[nr - 1] >= 0; nr++)
		cpus[nr] = nth_cpu(nr);
	return n < nr ? cpus[n] : -1;
}

/* --- Accounting --- */

long long pinned_kb(void)
{
	char text[4096], *line;

	if (read_file("/proc/self/status", text, sizeof(text)))
		return -1;
	line = strstr(text, "VmPin:");
	return line ? atoll(line + strlen("VmPin:")) : -1;
}

int set_mlock_kb(int kb)
{
	const char *path = "/proc/sys/kernel/perf_event_mlock_kb";
	int was = read_number(path);
	char text[32];

	sprintf(text, "%d", kb);
	return write_file(path, text) ? -1 : was;
}
