// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of AUX area pause and resume. See aux_common.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest.h"
#include "aux_common.h"

#define PMU_DIR		"/sys/bus/event_source/devices"
#define AUX_DIR		"/sys/kernel/debug/test_perf_aux"
#define NMI_DIR		"/sys/kernel/debug/test_perf_nmi"
#define NMI_AT		AUX_DIR "/nmi_at"
#define PAGE		4096UL

/* --- The rest --- */

int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;

	do {
		n = read(fd, buf + len, size - 1 - len);
		if (n > 0)
			len += n;
	} while (n > 0 && len < size - 1);
	close(fd);
	buf[len] = '\0';

	return n < 0 ? -1 : 0;
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;

	n = write(fd, text, strlen(text));
	close(fd);

	return n == (ssize_t)strlen(text) ? 0 : -1;
}

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);

	return sched_setaffinity(0, sizeof(set), &set);
}

int nth_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && !n--)
			return cpu;
	}

	return -1;
}

int cpu_set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);

	return write_file(path, online ? "1" : "0");
}

__u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);

	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void spin_ns(__u64 ns)
{
	__u64 end = clock_ns() + ns;

	while (clock_ns() < end)
		;
}

bool storm_is_over(__u64 begin, bool seen)
{
	const char *text = getenv("PERF_STORM_SECONDS");
	unsigned int seconds = text ? atoi(text) : STORM_SECONDS;

	return (seen && !text) || clock_ns() - begin >= seconds * 1000000000ULL;
}

bool storm_was_short(bool seen)
{
	return !seen && !getenv("PERF_STORM_SECONDS");
}

/* --- Is there something to test? --- */

int load_module(const char *module)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", module, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;

	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
}

const char *lacks_test_pmus(void)
{
	if (geteuid())
		return "needs root";

	if (pmu_type("test_aux") < 0 && load_module("test_perf_aux"))
		return "no module test_perf_aux (CONFIG_TEST_PERF_AUX)";

	if (pmu_type("test_aux") < 0)
		return "no PMU test_aux";

	if (pmu_type("test_nmi") < 0)
		return "no PMU test_nmi (CONFIG_TEST_PERF_NMI)";

	if (!access(AUX_DIR "/stats", R_OK))
		return NULL;

	if (mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL) ||
	    access(AUX_DIR "/stats", R_OK))
		return "no debugfs files of test_perf_aux (CONFIG_DEBUG_FS)";

	return NULL;
}

void skip_program(const char *missing)
{
	if (!missing)
		return;

	ksft_print_header();
	ksft_exit_skip("%s\n", missing);
}

/* --- Events --- */

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, group_fd,
		       PERF_FLAG_FD_CLOEXEC);
}

int perf_try_open(struct perf_event_attr *attr, int group_fd)
{
	int fd = perf_open(attr, 0, -1, group_fd);

	if (fd < 0)
		return errno;
	close(fd);

	return 0;
}

__u64 perf_id(int fd)
{
	__u64 id = 0;

	ioctl(fd, PERF_EVENT_IOC_ID, &id);

	return id;
}

__u64 perf_count(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : -1ULL;
}

int perf_set_filter(int fd, const char *filter)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

static int read_number(const char *path)
{
	char buf[64];

	return read_file(path, buf, sizeof(buf)) ? -1 : atoi(buf);
}

int pmu_type(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PMU_DIR "/%s/type", name);

	return read_number(path);
}

void attr_init(struct perf_event_attr *attr, int type)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC_RAW;
}

static int tracepoint_number(const char *name)
{
	static const char * const dir[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[256];
	unsigned int i;
	int id;

	for (i = 0; i < ARRAY_SIZE(dir); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", dir[i], name);
		id = read_number(path);
		if (id >= 0)
			return id;
	}

	return -1;
}

int attr_tracepoint(struct perf_event_attr *attr, const char *name)
{
	int id = tracepoint_number(name);

	if (id < 0 && !mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		id = tracepoint_number(name);
	if (id < 0)
		return -1;

	attr_init(attr, PERF_TYPE_TRACEPOINT);
	attr->disabled = 0;
	attr->config = id;
	attr->sample_period = 1;

	return 0;
}

void attr_nmi(struct perf_event_attr *attr, unsigned int interval,
	      unsigned int tag)
{
	attr_init(attr, pmu_type("test_nmi"));
	attr->disabled = 0;
	attr->config = interval | (__u64)tag << 32;
	attr->sample_period = 1;
}

void attr_page_fault(struct perf_event_attr *attr, bool user)
{
	attr_init(attr, PERF_TYPE_SOFTWARE);
	attr->disabled = 0;
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	attr->sample_period = 1;
	attr->exclude_kernel = user;
	attr->exclude_user = !user;
}

void attr_breakpoint(struct perf_event_attr *attr, const void *where, bool write)
{
	attr_init(attr, PERF_TYPE_BREAKPOINT);
	attr->disabled = 0;
	attr->bp_type = write ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
	attr->bp_addr = (uintptr_t)where;
	attr->bp_len = sizeof(long);
	attr->sample_period = 1;
	attr->exclude_kernel = 1;
}

void attr_probe(struct perf_event_attr *attr, int type, const char *where,
		__u64 offset)
{
	attr_init(attr, type);
	attr->disabled = 0;
	attr->config1 = (uintptr_t)where;
	attr->config2 = offset;
	attr->sample_period = 1;
}

__u64 file_offset(const void *addr)
{
	unsigned long start, end, offset;
	__u64 found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)addr >= start && (uintptr_t)addr < end)
			found = (uintptr_t)addr - start + offset;
	}
	if (maps)
		fclose(maps);

	return found;
}

int set_max_sample_rate(int rate)
{
	static const char path[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	int old = read_number(path);
	char text[32];

	snprintf(text, sizeof(text), "%d\n", rate);

	return old < 0 || write_file(path, text) ? -1 : old;
}

/* --- Groups --- */

void aux_group_unmap(struct aux_group *group)
{
	if (group->area)
		munmap(group->area, group->area_size);
	if (group->page)
		munmap(group->page, PAGE + group->data_size);
	group->area = NULL;
	group->page = NULL;
}

int aux_group_map(struct aux_group *group, const struct aux_spec *spec)
{
	int prot = spec->overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	void *map;

	group->data_size = (spec->data_pages ?: 64) * PAGE;
	group->area_size = (spec->aux_pages ?: 64) * PAGE;

	map = mmap(NULL, PAGE + group->data_size, PROT_READ | PROT_WRITE,
		   MAP_SHARED, group->aux, 0);
	if (map == MAP_FAILED)
		return -1;

	group->page = map;
	group->data = map + PAGE;
	group->page->aux_offset = PAGE + group->data_size;
	group->page->aux_size = group->area_size;

	map = mmap(NULL, group->area_size, prot, MAP_SHARED, group->aux,
		   group->page->aux_offset);
	if (map == MAP_FAILED)
		return -1;

	group->area = map;

	return 0;
}

void aux_group_init(struct aux_group *group)
{
	memset(group, 0, sizeof(*group));
	group->aux = -1;
	group->resume = -1;
	group->pause = -1;
}

void aux_group_close(struct aux_group *group)
{
	aux_group_unmap(group);
	if (group->pause >= 0)
		close(group->pause);
	if (group->resume >= 0)
		close(group->resume);
	if (group->aux >= 0)
		close(group->aux);
	aux_group_init(group);
}

static int open_leader(struct aux_group *group, const struct aux_spec *spec)
{
	struct perf_event_attr attr;

	attr_init(&attr, pmu_type(spec->pmu ?: "test_aux"));
	attr.config = spec->config ?: spec->period;
	attr.exclude_kernel = spec->exclude_kernel;
	attr.exclude_user = spec->exclude_user;
	/* Has no effect, but that PERF_EVENT_IOC_PERIOD stops and starts. */
	attr.sample_period = 1;
	attr.aux_watermark = spec->watermark;
	attr.inherit = spec->inherit;
	attr.remove_on_exec = spec->leader_removed_on_exec;
	attr.aux_start_paused = spec->start_paused;

	group->period = spec->period ?: TEST_PERF_AUX_PERIOD;
	group->aux = perf_open(&attr, spec->pid, spec->cpu, -1);
	if (group->aux < 0)
		return -1;

	group->aux_id = perf_id(group->aux);

	return 0;
}

int aux_group_add_gate(const struct aux_group *group, const struct aux_spec *spec,
		       const struct perf_event_attr *gate, bool resumes)
{
	struct perf_event_attr attr = *gate;

	attr.inherit = spec->inherit;
	attr.aux_resume = resumes;
	attr.aux_pause = !resumes;

	return perf_open(&attr, spec->pid, spec->cpu, group->aux);
}

int aux_group_add_sampler(const struct aux_group *group,
			  const struct aux_spec *spec,
			  const struct perf_event_attr *sampler,
			  unsigned int size)
{
	struct perf_event_attr attr = *sampler;
	int fd;

	attr.sample_type |= PERF_SAMPLE_AUX;
	attr.aux_sample_size = size;
	fd = perf_open(&attr, spec->pid, spec->cpu, group->aux);
	if (fd < 0 || !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, group->aux))
		return fd;
	close(fd);

	return -1;
}

int aux_group_add_soft_gate(const struct aux_group *group,
			    const struct aux_spec *spec, const char *where,
			    bool resumes)
{
	struct perf_event_attr attr;

	return attr_tracepoint(&attr, where) ?
	       -1 : aux_group_add_gate(group, spec, &attr, resumes);
}

int aux_group_add_soft_sampler(const struct aux_group *group,
			       const struct aux_spec *spec, const char *where,
			       unsigned int size)
{
	struct perf_event_attr attr;

	return attr_tracepoint(&attr, where) ?
	       -1 : aux_group_add_sampler(group, spec, &attr, size);
}

int aux_group_add_nmi_sampler(const struct aux_group *group,
			      const struct aux_spec *spec, unsigned int size)
{
	struct perf_event_attr attr;

	attr_nmi(&attr, 0, TAG_SAMPLE);

	return aux_group_add_sampler(group, spec, &attr, size);
}

static int open_gates(struct aux_group *group, const struct aux_spec *spec)
{
	if (spec->resume.size) {
		group->resume = aux_group_add_gate(group, spec, &spec->resume, true);
		if (group->resume < 0)
			return -1;
		group->resume_id = perf_id(group->resume);
	}
	if (spec->pause.size) {
		group->pause = aux_group_add_gate(group, spec, &spec->pause, false);
		if (group->pause < 0)
			return -1;
		group->pause_id = perf_id(group->pause);
	}

	return 0;
}

static int set_filters(const struct aux_group *group, const struct aux_spec *spec)
{
	if (spec->resume_filter &&
	    perf_set_filter(group->resume, spec->resume_filter))
		return -1;

	return spec->pause_filter ?
	       perf_set_filter(group->pause, spec->pause_filter) : 0;
}

static int share_output(const struct aux_group *group)
{
	if (group->resume >= 0 &&
	    ioctl(group->resume, PERF_EVENT_IOC_SET_OUTPUT, group->aux))
		return -1;

	if (group->pause >= 0 &&
	    ioctl(group->pause, PERF_EVENT_IOC_SET_OUTPUT, group->aux))
		return -1;

	return 0;
}

int aux_group_open(struct aux_group *group, const struct aux_spec *spec)
{
	int err;

	aux_group_init(group);
	if (open_leader(group, spec) || open_gates(group, spec) ||
	    set_filters(group, spec) ||
	    (!spec->no_map &&
	     (aux_group_map(group, spec) || share_output(group)))) {
		err = errno;
		aux_group_close(group);
		errno = err;
		return -1;
	}

	return 0;
}

int aux_group_enable(const struct aux_group *group)
{
	return ioctl(group->aux, PERF_EVENT_IOC_ENABLE, 0);
}

int aux_group_disable(const struct aux_group *group)
{
	return ioctl(group->aux, PERF_EVENT_IOC_DISABLE, 0);
}

void aux_group_restart(const struct aux_group *group)
{
	__u64 period = 1;

	ioctl(group->aux, PERF_EVENT_IOC_PERIOD, &period);
}

/* --- Records of the data area --- */

#define SAMPLE_ID_SIZE	32	/* of the sample_type in attr_init() */

struct raw_record {
	struct perf_event_header header;
	__u64 body[256];
};

static void copy_data(const struct aux_group *group, __u64 from, void *to,
		      size_t size)
{
	unsigned char *dst = to;

	while (size--)
		*dst++ = group->data[from++ & (group->data_size - 1)];
}

static bool packets_intact(const struct test_perf_aux_packet *p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (p[i].magic != TEST_PERF_AUX_MAGIC ||
		    p[i].check != test_perf_aux_check(&p[i]) ||
		    p[i].seq != p[0].seq + i)
			return false;
	}

	return nr;
}

/* PERF_SAMPLE_AUX: the size, then the data */
static void parse_sampled(struct perf_record *rec, const __u64 *body)
{
	const struct test_perf_aux_packet *p = (const void *)(body + 1);
	size_t nr = body[0] / sizeof(*p);

	rec->sampled = body[0];
	rec->intact = packets_intact(p, nr);
	if (nr)
		rec->newest = p[nr - 1];
}

static void parse_sample(struct perf_record *rec, const __u64 *body)
{
	rec->id = body[0];
	rec->tid = body[1] >> 32;
	rec->time = body[2];
	rec->cpu = body[3];
}

static void parse_sample_id(struct perf_record *rec, const __u64 *trailer)
{
	rec->tid = trailer[0] >> 32;
	rec->time = trailer[1];
	rec->cpu = trailer[2];
	rec->id = trailer[3];
}

static void parse_record(struct perf_record *rec, const struct raw_record *raw)
{
	const char *end = (const char *)raw + raw->header.size;

	memset(rec, 0, sizeof(*rec));
	rec->type = raw->header.type;
	if (rec->type == PERF_RECORD_SAMPLE) {
		parse_sample(rec, raw->body);
		if (raw->header.size > sizeof(raw->header) + SAMPLE_ID_SIZE)
			parse_sampled(rec, raw->body + SAMPLE_ID_SIZE / 8);
		return;
	}

	parse_sample_id(rec, (const __u64 *)(end - SAMPLE_ID_SIZE));
	if (rec->type == PERF_RECORD_AUX) {
		rec->offset = raw->body[0];
		rec->size = raw->body[1];
		rec->flags = raw->body[2];
	} else if (rec->type == PERF_RECORD_LOST) {
		rec->lost = raw->body[1];
	}
}

static struct perf_record *append_record(struct perf_records *records)
{
	/* Room for the next is made whenever a power of two is full. */
	if (!(records->nr & (records->nr - 1))) {
		size_t room = records->nr ? records->nr * 2 : 1;
		void *rec = realloc(records->rec, room * sizeof(*records->rec));

		if (!rec)
			return NULL;
		records->rec = rec;
	}

	return &records->rec[records->nr++];
}

int perf_records_read(struct perf_records *records, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = group->page->data_tail;

	while (tail != head) {
		struct perf_record *rec = append_record(records);
		struct raw_record raw;

		copy_data(group, tail, &raw.header, sizeof(raw.header));
		if (!rec || raw.header.size > sizeof(raw) ||
		    raw.header.size < sizeof(raw.header))
			return -1;

		copy_data(group, tail, &raw, raw.header.size);
		parse_record(rec, &raw);
		tail += raw.header.size;
	}
	__atomic_store_n(&group->page->data_tail, tail, __ATOMIC_RELEASE);

	return 0;
}

size_t perf_records_count(const struct perf_records *records, __u32 type,
			  __u64 id)
{
	size_t i, n = 0;

	for (i = 0; i < records->nr; i++) {
		if (records->rec[i].type == type &&
		    (!id || records->rec[i].id == id))
			n++;
	}

	return n;
}

const struct perf_record *perf_records_newest(const struct perf_records *records,
					      __u64 id)
{
	size_t i;

	for (i = records->nr; i; i--) {
		if (records->rec[i - 1].type == PERF_RECORD_SAMPLE &&
		    records->rec[i - 1].id == id)
			return &records->rec[i - 1];
	}

	return NULL;
}

void perf_records_free(struct perf_records *records)
{
	free(records->rec);
	memset(records, 0, sizeof(*records));
}

/* --- The test PMU's stream --- */

#define trace_error(trace, fmt, ...)					\
	(snprintf((trace)->error, sizeof((trace)->error), fmt, ##__VA_ARGS__), -1)

static struct aux_window *last_window(struct aux_trace *trace)
{
	return &trace->win[trace->nr - 1];
}

static struct aux_window *append_window(struct aux_trace *trace)
{
	if (!(trace->nr & (trace->nr - 1))) {
		size_t room = trace->nr ? trace->nr * 2 : 1;
		void *win = realloc(trace->win, room * sizeof(*trace->win));

		if (!win)
			return NULL;
		trace->win = win;
	}
	memset(&trace->win[trace->nr], 0, sizeof(*trace->win));

	return &trace->win[trace->nr++];
}

static bool continues(const struct test_perf_aux_packet *start,
		      struct aux_trace *trace)
{
	return trace->nr && last_window(trace)->closed_by == start->why &&
	       (start->why == TEST_PERF_AUX_BY_TICK ||
		start->why == TEST_PERF_AUX_BY_SNAPSHOT);
}

static int take_start(struct aux_trace *trace,
		      const struct test_perf_aux_packet *p, __u64 period)
{
	struct aux_window *win;

	if (trace->open)
		return trace_error(trace, "packet %llu: START in a window",
				   (unsigned long long)p->seq);

	if (trace->nr && p->time < last_window(trace)->stop)
		return trace_error(trace, "packet %llu: time goes back",
				   (unsigned long long)p->seq);

	trace->open = true;
	trace->expect = p->time + period;
	if (continues(p, trace))
		return 0;

	win = append_window(trace);
	if (!win)
		return trace_error(trace, "out of memory");

	win->start = p->time;
	win->stop = -1ULL;
	win->tid = p->tid;
	win->cpu = p->cpu;
	win->opened_by = p->why;

	return 0;
}

static int take_data(struct aux_trace *trace,
		     const struct test_perf_aux_packet *p, __u64 period)
{
	if (p->time != trace->expect)
		return trace_error(trace, "packet %llu: time %llu, not %llu",
				   (unsigned long long)p->seq,
				   (unsigned long long)p->time,
				   (unsigned long long)trace->expect);

	trace->expect += period;
	last_window(trace)->packets++;

	return 0;
}

static int take_stop(struct aux_trace *trace,
		     const struct test_perf_aux_packet *p, __u64 period)
{
	struct aux_window *win = last_window(trace);
	/* STOP comes before the next DATA is due, or finds no room for it. */
	__u64 limit = trace->expect + (p->why == TEST_PERF_AUX_BY_FULL);

	if (p->time >= limit || p->time + period < trace->expect)
		return trace_error(trace,
				   "packet %llu: STOP at %llu, DATA due at %llu",
				   (unsigned long long)p->seq,
				   (unsigned long long)p->time,
				   (unsigned long long)trace->expect);

	trace->open = false;
	win->stop = p->time;
	win->closed_by = p->why;

	return 0;
}

static int take_packet(struct aux_trace *trace,
		       const struct test_perf_aux_packet *p, __u64 period)
{
	if (p->magic != TEST_PERF_AUX_MAGIC || p->check != test_perf_aux_check(p))
		return trace_error(trace, "packet %llu is damaged",
				   (unsigned long long)trace->next_seq);

	if (trace->resync && !trace->packets)
		trace->next_seq = p->seq;
	if (p->seq != trace->next_seq)
		return trace_error(trace, "packet %llu where %llu was due",
				   (unsigned long long)p->seq,
				   (unsigned long long)trace->next_seq);
	trace->next_seq++;
	trace->packets++;

	if (p->type == TEST_PERF_AUX_START) {
		trace->resync = false;
		return take_start(trace, p, period);
	}
	if (trace->resync || (!trace->open && p->type == TEST_PERF_AUX_PAD))
		return 0;
	if (trace->open && p->type == TEST_PERF_AUX_DATA)
		return take_data(trace, p, period);
	if (trace->open && p->type == TEST_PERF_AUX_STOP)
		return take_stop(trace, p, period);

	return trace_error(trace, "packet %llu: type %u %s a window",
			   (unsigned long long)p->seq, p->type,
			   trace->open ? "in" : "outside");
}

static int take_range(struct aux_trace *trace, const struct aux_group *group,
		      __u64 from, __u64 to)
{
	const struct test_perf_aux_packet *p;

	for (; from + sizeof(*p) <= to; from += sizeof(*p)) {
		p = (const void *)(group->area + from % group->area_size);
		if (take_packet(trace, p, group->period))
			return -1;
	}

	return from == to ? 0 : trace_error(trace, "part of a packet");
}

int aux_trace_read(struct aux_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);
	int ret = take_range(trace, group, group->page->aux_tail, head);

	__atomic_store_n(&group->page->aux_tail, head, __ATOMIC_RELEASE);

	return ret;
}

int aux_trace_read_overwrite(struct aux_trace *trace, struct aux_group *group)
{
	__u64 head = __atomic_load_n(&group->page->aux_head, __ATOMIC_ACQUIRE);
	const struct test_perf_aux_packet *oldest;

	if (head >= group->area_size)
		return trace_error(trace, "aux_head %llu is outside the area",
				   (unsigned long long)head);

	/* Never wrapped: there is nothing behind the newest packet. */
	oldest = (const void *)(group->area + head);
	if (oldest->magic != TEST_PERF_AUX_MAGIC)
		return take_range(trace, group, 0, head);

	trace->resync = true;

	return take_range(trace, group, head, head + group->area_size);
}

void aux_trace_free(struct aux_trace *trace)
{
	free(trace->win);
	memset(trace, 0, sizeof(*trace));
}

struct aux_region {
	__u64 open, close;
	bool initial, last;
};

/* Find the next region in the samples from *@pos on. */
static bool next_region(const struct perf_records *records,
			const struct aux_group *group, size_t *pos, bool *paused,
			struct aux_region *region)
{
	region->initial = !*pos && !*paused;
	region->open = 0;

	for (; *pos < records->nr; ++*pos) {
		const struct perf_record *rec = &records->rec[*pos];

		if (rec->type != PERF_RECORD_SAMPLE)
			continue;
		if (*paused && rec->id == group->resume_id) {
			*paused = false;
			region->open = rec->time;
		} else if (!*paused && rec->id == group->pause_id) {
			*paused = true;
			region->close = rec->time;
			region->last = false;
			++*pos;
			return true;
		}
	}

	region->close = -1ULL;
	region->last = true;

	return !*paused;
}

/* How many windows from *@win on lie in the region? */
static int match_region(struct aux_trace *trace, size_t *win,
			const struct aux_region *region)
{
	size_t first = *win;

	while (*win < trace->nr && trace->win[*win].start >= region->open &&
	       trace->win[*win].stop <= region->close)
		++*win;

	if (*win == first)
		return trace_error(trace, "no window in the region %llu to %llu",
				   (unsigned long long)region->open,
				   (unsigned long long)region->close);

	if (!region->initial &&
	    trace->win[first].opened_by != TEST_PERF_AUX_BY_RESUME)
		return trace_error(trace, "window %zu: opened by %u, no resume",
				   first, trace->win[first].opened_by);

	if (!region->last &&
	    trace->win[*win - 1].closed_by != TEST_PERF_AUX_BY_PAUSE)
		return trace_error(trace, "window %zu: closed by %u, no pause",
				   *win - 1, trace->win[*win - 1].closed_by);

	return 0;
}

long aux_trace_match(struct aux_trace *trace, const struct perf_records *records,
		     const struct aux_group *group, bool paused)
{
	size_t pos = 0, win = 0;
	struct aux_region region;
	long regions = 0;

	if (perf_records_count(records, PERF_RECORD_LOST, 0))
		return trace_error(trace, "samples were lost");

	while (next_region(records, group, &pos, &paused, &region)) {
		if (match_region(trace, &win, &region))
			return -1;
		regions++;
		if (region.last)
			break;
	}

	if (win != trace->nr)
		return trace_error(trace, "window %zu, %llu to %llu: no region",
				   win, (unsigned long long)trace->win[win].start,
				   (unsigned long long)trace->win[win].stop);

	return regions;
}

/* --- Accounting of the test PMUs --- */

static long long text_value(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return atoll(line + len);
	}
	errno = ENOENT;

	return -1;
}

long long file_value(const char *path, const char *name)
{
	static char buf[65536];

	if (read_file(path, buf, sizeof(buf)))
		return -1;

	return text_value(buf, name);
}

int aux_actions_read(const struct aux_group *group, struct aux_actions *act)
{
	static const char * const field[] = {
		"requested", "carried", "superseded", "paused", "pending",
	};
	long long value[ARRAY_SIZE(field)];
	char name[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(field); i++) {
		snprintf(name, sizeof(name), "event.%llu.%s",
			 (unsigned long long)group->aux_id, field[i]);
		value[i] = file_value(AUX_DIR "/actions", name);
		if (value[i] < 0)
			return -1;
	}

	act->requested = value[0];
	act->carried = value[1];
	act->superseded = value[2];
	act->paused = value[3];
	act->pending = value[4];

	return 0;
}

long long aux_stat(const char *name)
{
	return file_value(AUX_DIR "/stats", name);
}

long long nmi_stat(const char *name)
{
	return file_value(NMI_DIR "/stats", name);
}

int aux_stats_reset(void)
{
	return write_file(AUX_DIR "/stats", "0\n") ||
	       write_file(AUX_DIR "/actions", "0\n") ||
	       write_file(NMI_DIR "/stats", "0\n") ? -1 : 0;
}

int nmi_at(const char *points)
{
	char line[512];

	snprintf(line, sizeof(line), "%s\n", points);

	return write_file(NMI_AT, line);
}

int try_kernel_counter(unsigned int aux_action)
{
	char line[16];

	snprintf(line, sizeof(line), "%u\n", aux_action);

	return write_file(AUX_DIR "/kernel_counter", line) ? errno : 0;
}

int nmi_fire(unsigned int count, unsigned int tag)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u\n", count, tag);

	return write_file(NMI_DIR "/fire", line);
}

int module_users(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);

	return read_number(path);
}

/* Events of tasks that have exited go away a little later. */
int module_wait_unused(const char *module)
{
	__u64 end = clock_ns() + 10000000000ULL;

	while (module_users(module) > 0) {
		if (clock_ns() > end)
			return -1;
		poll(NULL, 0, 1);
	}

	return 0;
}

/* --- Places for gates --- */

bool has_soft_places(void)
{
	struct perf_event_attr attr;

	return !attr_tracepoint(&attr, AT_RESUME) &&
	       !attr_tracepoint(&attr, AT_PAUSE) &&
	       !attr_tracepoint(&attr, AT_SAMPLE);
}

void soft_resume(void)
{
	syscall(__NR_sched_get_priority_max, 0);
}

void soft_pause(void)
{
	syscall(__NR_sched_get_priority_min, 0);
}

void soft_sample(void)
{
	syscall(__NR_sched_getscheduler, 0);
}

void marker_resume(void)
{
	asm volatile("");
}

/* Another body, or a compiler may take the two for one function. */
void marker_pause(void)
{
	asm volatile("" : : "r" (1));
}
