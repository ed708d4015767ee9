/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The records in the data area of a group of struct aux_group, all of whose events
 * have the sample_type of attr_init().
 */
#ifndef _AUX_RECORDS_H
#define _AUX_RECORDS_H

#include "aux_group.h"

struct perf_record {
	__u32	type;
	__u32	tid;
	__u32	cpu;
	__u64	id;
	__u64	time;
	__u64	offset, size, flags;	/* PERF_RECORD_AUX */
	__u64	lost;			/* PERF_RECORD_LOST */
	__u64	sampled;		/* bytes of AUX data in a sample */
	bool	intact;			/* these are packets without a gap */
	struct test_perf_aux_packet newest;
};

struct perf_records {
	struct perf_record	*rec;
	size_t			nr;
};

/* Appends the new records. */
int perf_records_read(struct perf_records *records, struct aux_group *group);
size_t perf_records_count(const struct perf_records *records, __u32 type,
			  __u64 id);
/* AUX records with a flag, from index @from on */
size_t perf_records_flagged(const struct perf_records *records, size_t from,
			    __u64 flag);
/* Are all packets that an AUX record hands over of those times? The area has them yet. */
bool aux_record_is_between(const struct perf_record *rec, const struct aux_group *group,
			   __u64 from, __u64 to);
/* The newest sample of the event, or NULL */
const struct perf_record *perf_records_newest(const struct perf_records *records,
					      __u64 id);
void perf_records_free(struct perf_records *records);

#endif /* _AUX_RECORDS_H */
