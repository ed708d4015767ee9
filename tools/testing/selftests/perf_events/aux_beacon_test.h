/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common steps of the tests with beacons, for the kselftest harness.
 */
#ifndef _AUX_BEACON_TEST_H
#define _AUX_BEACON_TEST_H

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "aux_beacons.h"

static inline void beacon_run_setup(struct __test_metadata *_metadata, struct beacon_run *run)
{
	const char *missing = beacon_run_begin(run);

	if (missing)
		SKIP(return, "%s", missing);

	ASSERT_EQ(nmi_at(""), 0);
	ASSERT_EQ(aux_stats_reset(), 0);
	run->old_rate = set_max_sample_rate(RATE_UNLIMITED);
	ASSERT_GT(run->old_rate, 0);
	run->beacons_fd = memfd_create("beacons", 0);
	ASSERT_EQ(ftruncate(run->beacons_fd, sizeof(struct beacons)), 0);
	run->beacons = beacons_map(run->beacons_fd);
	ASSERT_NE(run->beacons, NULL);
	ASSERT_EQ(pin_to_cpu(run->cpu[0]), 0);
}

static inline void beacon_run_teardown(struct __test_metadata *_metadata,
				       struct beacon_run *run)
{
	int i;

	EXPECT_EQ(nmi_at(""), 0);
	if (run->old_rate)
		set_max_sample_rate(run->old_rate);
	for (i = 0; i < BEACON_CPUS; i++) {
		aux_trace_free(&run->trace[i]);
		aux_group_close(&run->group[i]);
	}
	if (run->beacons)
		munmap(run->beacons, sizeof(struct beacons));
	close(run->beacons_fd);
	EXPECT_EQ(aux_stat("total.protocol_errors"), 0);
}

/* @shares: &spec.level_fd or &spec.threads_fd, for all but the first */
static inline void beacon_run_open(struct __test_metadata *_metadata, struct beacon_run *run,
				   int **shares)
{
	int i;

	for (i = 0; i < BEACON_CPUS; i++) {
		run->spec.cpu = run->cpu[i];
		if (i)
			*shares = &run->group[0].aux;
		ASSERT_EQ(aux_group_open(&run->group[i], &run->spec), 0)
			TH_LOG("%s", strerror(errno));
	}
}

static inline void beacon_run_enable(struct __test_metadata *_metadata, struct beacon_run *run)
{
	int i;

	for (i = 0; i < BEACON_CPUS; i++)
		ASSERT_EQ(aux_group_enable(&run->group[i]), 0);
}

static inline void beacon_run_read(struct __test_metadata *_metadata, struct beacon_run *run)
{
	int i;

	for (i = 0; i < BEACON_CPUS; i++) {
		if (run->group[i].aux < 0)
			continue;
		aux_group_disable(&run->group[i]);
		ASSERT_EQ(aux_trace_read(&run->trace[i], &run->group[i]), 0)
			TH_LOG("%s", run->trace[i].error);
	}
}

static inline void beacon_run_expect(struct __test_metadata *_metadata,
				     const struct beacon_run *run)
{
	const struct beacons *beacons = run->beacons;
	const struct beacon *first = NULL;
	unsigned int wrong;

	ASSERT_GT(beacons->nr, 10);
	ASSERT_LE(beacons->nr, MAX_BEACONS);
	wrong = beacons_wrong(run, &first);
	EXPECT_EQ(wrong, 0)
		TH_LOG("beacon %u of %u at %llu, task %u on CPU %u: %straced",
		       (unsigned int)(first - beacons->at), beacons->nr, first->time, first->tid,
		       first->cpu, first->inside ? "not " : "");
}

/* --- Gates by NMI at all points of the driver --- */

#define BEACON_STORM_RULES	"all:1:13,all:2:17,all:3:29"

/* On each CPU, besides those that the task itself causes */
struct beacon_nmi_gates {
	int resume[BEACON_CPUS], pause[BEACON_CPUS];
};

static inline void beacon_nmi_gates_open(struct __test_metadata *_metadata,
					 struct beacon_run *run,
					 struct beacon_nmi_gates *gates)
{
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < BEACON_CPUS; i++) {
		run->spec.cpu = run->cpu[i];
		attr_nmi(&attr, 0, TAG_RESUME);
		gates->resume[i] = aux_group_add_gate(&run->group[i], &run->spec, &attr, true);
		attr_nmi(&attr, 0, TAG_PAUSE);
		gates->pause[i] = aux_group_add_gate(&run->group[i], &run->spec, &attr, false);
		ASSERT_GE(gates->resume[i], 0);
		ASSERT_GE(gates->pause[i], 0);
	}
}

static inline void beacon_nmi_gates_close(const struct beacon_nmi_gates *gates)
{
	int i;

	for (i = 0; i < BEACON_CPUS; i++) {
		close(gates->pause[i]);
		close(gates->resume[i]);
	}
}

#endif /* _AUX_BEACON_TEST_H */
