// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests that kernel addresses are hidden. See user_only.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <asm/perf_regs.h>
#include <sys/mman.h>

#include "user_only.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define NOBODY		65534
#define PAGE		4096UL
#define DATA_SIZE	(64 * PAGE)

/* --- A user without privilege --- */

/* The saved user ID stays root, and the effective capabilities are dropped. */
int user_only_drop(void)
{
	return seteuid(NOBODY);
}

static int set_paranoid(const char *value)
{
	int ret;

	if (seteuid(0))
		return -1;
	ret = write_file(PARANOID, value);

	return user_only_drop() ? -1 : ret;
}

int user_only_begin(struct user_only *user)
{
	if (read_file(PARANOID, user->paranoid, sizeof(user->paranoid)))
		return -1;

	return set_paranoid("2");
}

int user_only_end(const struct user_only *user)
{
	return seteuid(0) ? -1 : write_file(PARANOID, user->paranoid);
}

/* --- The records of an event --- */

#define SAMPLE_ALL							\
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
	 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |	\
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |			\
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |			\
	 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |		\
	 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

static const __u64 regs = 1ULL << PERF_REG_X86_IP | 1ULL << PERF_REG_X86_SP;

int user_records_open(struct user_records *rec, const struct perf_event_attr *attr)
{
	struct perf_event_attr all = *attr;
	void *map;

	all.sample_type |= SAMPLE_ALL;
	all.sample_regs_intr = regs;

	memset(rec, 0, sizeof(*rec));
	rec->fd = perf_open(&all, 0, -1, -1);
	/* Some kernels refuse a callchain that could contain the kernel's part. */
	if (rec->fd < 0 && errno == EACCES) {
		all.exclude_callchain_kernel = 1;
		rec->fd = perf_open(&all, 0, -1, -1);
	}
	if (rec->fd < 0)
		return -1;

	map = mmap(NULL, PAGE + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, rec->fd, 0);
	if (map == MAP_FAILED) {
		close(rec->fd);
		return -1;
	}
	rec->page = map;

	return perf_enable(rec->fd);
}

/* Excludes the markers in callchains and small negative numbers. */
static bool is_kernel_address(__u64 word)
{
	return word >= 0xffff800000000000ULL && word < 0xfffffffffffff000ULL;
}

/* In SAMPLE_ALL, WEIGHT, DATA_SRC, TRANSACTION and REGS_INTR follow CALLCHAIN. */
static void look_at_sample(struct user_records *rec, const __u64 *body)
{
	const __u64 *callchain = body + 7;

	rec->with_ip += !!body[1];
	rec->with_regs += !!callchain[1 + callchain[0] + 3];
}

static void look_at_record(struct user_records *rec, const struct perf_event_header *header)
{
	const __u64 *body = (const __u64 *)(header + 1);
	unsigned int i, words = header->size / 8 - 1, found = 0;

	for (i = 0; i < words; i++) {
		if (!is_kernel_address(body[i]))
			continue;
		rec->address = body[i];
		rec->type = header->type;
		found++;
	}
	rec->nr++;
	rec->kernel += !!found;
	if (header->type != PERF_RECORD_SAMPLE)
		return;

	rec->in_kernel += (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			  PERF_RECORD_MISC_KERNEL;
	look_at_sample(rec, body);
}

static void copy_data(const struct user_records *rec, __u64 from, void *to, size_t size)
{
	const char *data = (const char *)rec->page + PAGE;
	size_t i;

	for (i = 0; i < size; i += 8)
		memcpy(to + i, data + (from + i) % DATA_SIZE, 8);
}

int user_records_close(struct user_records *rec)
{
	__u64 copy[65536 / 8], head, tail = 0;
	struct perf_event_header *header = (void *)copy;

	perf_disable(rec->fd);
	head = __atomic_load_n(&rec->page->data_head, __ATOMIC_ACQUIRE);
	for (; tail < head; tail += header->size) {
		copy_data(rec, tail, header, sizeof(*header));
		if (!header->size)
			return -1;
		copy_data(rec, tail, header, header->size);
		look_at_record(rec, header);
	}
	munmap(rec->page, PAGE + DATA_SIZE);

	return close(rec->fd);
}
