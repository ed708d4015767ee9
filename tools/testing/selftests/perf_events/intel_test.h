/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common steps of the tests of Intel PT and Intel BTS, for the kselftest harness.
 */
#ifndef _INTEL_TEST_H
#define _INTEL_TEST_H

#include <errno.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "intel_gated.h"

#define ROUNDS		20

/* --- One group --- */

/* Put the kind's gates and window into the group's specification; false: the test skips. */
static inline bool setup_kind(struct __test_metadata *_metadata, struct gated *gated,
			      const char *kind)
{
	gated->kind = gate_kind(kind);
	if (gated->kind->setup(&gated->spec, &gated->win))
		SKIP(return false, "no %s", gated->kind->needs);

	return true;
}

/* The same, and open the group, disabled. */
static inline bool open_kind(struct __test_metadata *_metadata, struct gated *gated,
			     const char *kind)
{
	if (!gated_open_kind(gated, kind))
		return true;
	if (errno == ENOENT || errno == ENODEV)
		SKIP(return false, "no %s", gated->kind->needs);
	ASSERT_EQ(errno, 0)
		TH_LOG("%s", strerror(errno));

	return false;
}

static inline void open_group(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(gated_open(gated), 0)
		TH_LOG("%s", strerror(errno));
}

static inline void enable_group(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(aux_group_enable(&gated->group), 0);
}

static inline void open_and_enable(struct __test_metadata *_metadata, struct gated *gated)
{
	open_group(_metadata, gated);
	enable_group(_metadata, gated);
}

static inline void read_trace(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(gated_read(gated), 0)
		TH_LOG("%s", gated->error);
}

static inline void disable_and_read(struct __test_metadata *_metadata, struct gated *gated)
{
	ASSERT_EQ(gated_disable_and_read(gated), 0)
		TH_LOG("%s", gated->error);
}

static inline void expect_exact(struct __test_metadata *_metadata, const struct gated *gated)
{
	const char *inexact = gated_inexact(gated);

	EXPECT_EQ(NULL, inexact)
		TH_LOG("%s", inexact);
}

static inline void expect_level(struct __test_metadata *_metadata, struct gated *gated,
				bool running)
{
	const char *wrong = gated_check_level(gated, running);

	ASSERT_EQ(NULL, wrong)
		TH_LOG("%s", wrong);
}

/* --- Intel PT --- */

/* The trace ends as it should. */
static inline void expect_complete(struct __test_metadata *_metadata,
				   const struct pt_trace *trace)
{
	EXPECT_TRUE(pt_trace_complete(trace));
	EXPECT_EQ(trace->ovf, 0);
}

static inline void pt_finish(struct __test_metadata *_metadata, struct gated *gated)
{
	disable_and_read(_metadata, gated);
	expect_complete(_metadata, gated->trace);
}

static inline void pt_close(struct __test_metadata *_metadata, struct gated *gated)
{
	pt_trace_free(gated->trace);
	gated_close(gated);
	EXPECT_EQ(model_violations(), 0);
}

/* --- Intel BTS --- */

/* NMIs as gates. Nothing throttles them, until set_rate_limit(). */
static inline bool bts_setup_nmis(struct __test_metadata *_metadata, struct gated *gated,
				  struct bts_trace *trace, struct rate_limit *limit)
{
	gated_init_bts(gated, trace);
	if (!setup_kind(_metadata, gated, "nmi"))
		return false;
	ASSERT_EQ(rate_unlimit(limit), 0);

	return true;
}

static inline void bts_close(struct __test_metadata *_metadata, struct gated *gated)
{
	bts_trace_free(gated->trace);
	gated_close(gated);
	EXPECT_EQ(model_violations(), 0);
}

/* --- Interrupts that come while the trace is paused --- */

static inline void interrupt_while_paused(struct __test_metadata *_metadata,
					  struct gated *gated, const char *wrong, int load)
{
	EXPECT_EQ(NULL, wrong)
		TH_LOG("%s", wrong);
	disable_and_read(_metadata, gated);
	close(load);
	expect_exact(_metadata, gated);
}

/* The interrupt hands over data, and leaves the trace off. */
static inline void hand_over_while_paused(struct __test_metadata *_metadata,
					  struct gated *gated,
					  void (*window)(struct gated *gated))
{
	int load = gated_open_late(gated);

	ASSERT_GE(load, 0);
	interrupt_while_paused(_metadata, gated, gated_late_interrupts(gated, window), load);
}

static inline void full_while_paused(struct __test_metadata *_metadata, struct gated *gated)
{
	int load;

	/* Room for the kernel's trace from enabling on until is_on() */
	gated->spec.aux_pages = 64;
	load = gated_open_late(gated);
	ASSERT_GE(load, 0);
	interrupt_while_paused(_metadata, gated, gated_late_full(gated), load);
}

/* --- Gates inside a driver --- */

/* ->stop() and ->start(), while all gates are active */
static inline void do_restart(struct gated *gated)
{
	aux_group_restart(&gated->group);
}

/* A leader is disabled and enabled before its gates: they can hit ->stop() only. */
static inline void do_disable(struct gated *gated)
{
	aux_group_disable(&gated->group);
	aux_group_enable(&gated->group);
}

/* Returns the number of points at which gates hit. */
static inline int hit_points(struct __test_metadata *_metadata, struct gated *gated,
			     const struct msr_point *points, size_t nr,
			     enum gate_way way, bool resumes, bool running,
			     void (*section)(struct gated *gated))
{
	int hit = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		long hits = gated_at_point(gated, &points[i], way, resumes, running,
					   section);

		ASSERT_GE(hits, 0)
			TH_LOG("%s", gated->error);
		hit += !!hits;
		read_trace(_metadata, gated);
	}

	return hit;
}

#endif /* _INTEL_TEST_H */
