/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the test PMUs of the module test_perf_aux write into the AUX area.
 *
 * The stream is a sequence of packets. Windows don't nest:
 *
 *	stream = { window | PAD }
 *	window = START { DATA } STOP
 *
 * The last STOP is missing as long as the trace is on. For each window:
 *
 *	time of DATA number k = time of START + k * period, k = 1, 2, ...
 *	0 <= time of STOP - time of the packet before it < period
 *
 * A STOP by TEST_PERF_AUX_BY_FULL replaces a DATA, with the time of that DATA: the last
 * difference is then the period.
 */
#ifndef _LIB_TEST_PERF_AUX_UAPI_H
#define _LIB_TEST_PERF_AUX_UAPI_H

#include <linux/types.h>

#define TEST_PERF_AUX_MAGIC		0x58554154	/* "TAUX" */
#define TEST_PERF_AUX_PERIOD		10000		/* ns, default */
#define TEST_PERF_AUX_PERIOD_MIN	1000		/* ns */

/* test_perf_aux_packet::type */
enum test_perf_aux_type {
	TEST_PERF_AUX_START	= 1,	/* the trace was switched on */
	TEST_PERF_AUX_DATA	= 2,	/* another period is over */
	TEST_PERF_AUX_STOP	= 3,	/* the trace was switched off */
	TEST_PERF_AUX_PAD	= 4,	/* no room for a window in what is left */
};

/* test_perf_aux_packet::why: who switched the trace on or off */
enum test_perf_aux_why {
	TEST_PERF_AUX_BY_START		= 1,	/* event enabled, scheduled in */
	TEST_PERF_AUX_BY_STOP		= 2,	/* event disabled, scheduled out */
	TEST_PERF_AUX_BY_PAUSE		= 3,
	TEST_PERF_AUX_BY_RESUME		= 4,
	TEST_PERF_AUX_BY_TICK		= 5,	/* data was handed over to the reader */
	TEST_PERF_AUX_BY_SNAPSHOT	= 6,	/* an AUX sample was taken */
	TEST_PERF_AUX_BY_FULL		= 7,	/* out of space */
};

/**
 * struct test_perf_aux_packet - packet in the AUX area
 * @magic: %TEST_PERF_AUX_MAGIC
 * @type: enum test_perf_aux_type
 * @why: enum test_perf_aux_why in START and STOP, otherwise zero
 * @cpu: CPU that wrote it
 * @seq: number of packets written into this AUX area before, by any event
 * @time: time by the event's clock, comparable with %PERF_SAMPLE_TIME
 * @tid: thread that ran when the window began
 * @check: test_perf_aux_check() of the packet
 *
 * The size is a power of two, so no packet crosses a page.
 */
struct test_perf_aux_packet {
	__u32	magic;
	__u8	type;
	__u8	why;
	__u16	cpu;
	__u64	seq;
	__u64	time;
	__u32	tid;
	__u32	check;
};

static inline __u32 test_perf_aux_check(const struct test_perf_aux_packet *p)
{
	__u32 sum = p->magic;

	sum = sum * 31 + ((__u32)p->type << 24 | (__u32)p->why << 16 | p->cpu);
	sum = sum * 31 + (__u32)p->seq;
	sum = sum * 31 + (__u32)(p->seq >> 32);
	sum = sum * 31 + (__u32)p->time;
	sum = sum * 31 + (__u32)(p->time >> 32);

	return sum * 31 + p->tid;
}

#endif /* _LIB_TEST_PERF_AUX_UAPI_H */
