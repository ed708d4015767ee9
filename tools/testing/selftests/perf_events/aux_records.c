// SPDX-License-Identifier: GPL-2.0
/*
 * The records of the data area. See aux_records.h.
 */
#include <stdlib.h>
#include <string.h>

#include "aux_records.h"

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
	/* Double the array whenever a power of two is full. */
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

size_t perf_records_flagged(const struct perf_records *records, size_t from,
			    __u64 flag)
{
	size_t n = 0;

	for (; from < records->nr; from++)
		n += records->rec[from].type == PERF_RECORD_AUX &&
		     records->rec[from].flags & flag;

	return n;
}

bool aux_record_is_between(const struct perf_record *rec, const struct aux_group *group,
			   __u64 from, __u64 to)
{
	const struct test_perf_aux_packet *p;
	__u64 offset = rec->offset;

	for (; offset < rec->offset + rec->size; offset += sizeof(*p)) {
		p = (const void *)(group->area + (offset & (group->area_size - 1)));
		if (p->time < from || p->time > to)
			return false;
	}

	return true;
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
