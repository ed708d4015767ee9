/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A group of Intel PT or Intel BTS and its gates, the windows that the test runs, and
 * the recorded data.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _INTEL_GATED_H
#define _INTEL_GATED_H

#include "intel_bts_stream.h"
#include "intel_env.h"
#include "intel_msr.h"
#include "intel_pt_stream.h"
#include "intel_windows.h"

/* The most windows in a test */
#define MAX_WINDOWS	4096

struct gated;

/* What differs between Intel PT and Intel BTS */
struct gated_ops {
	const char	*pmu;
	int		(*is_on)(int cpu);
	/* Add the data of AUX records, or that of an overwritten area, to ->trace. */
	int		(*read)(struct gated *gated);
	int		(*read_overwritten)(struct gated *gated);
};

struct gated {
	const struct gated_ops	*ops;
	const struct gate_kind	*kind;
	int			cpu;
	struct aux_spec		spec;
	struct aux_group	group;
	struct perf_records	records;
	size_t			pos;	/* in records: the first whose data isn't in the trace */
	void			*trace;
	const char		*error;
	struct window		win;
	struct window_log	*log;
	size_t			nr;	/* of log */
	__u64			others;	/* overflows of gates that are closed */
};

/*
 * A task's event on one CPU that starts paused; its data is added to @trace. Change ->spec
 * before opening. The model's count of violations restarts.
 */
void gated_init_pt(struct gated *gated, struct pt_trace *trace);
void gated_init_bts(struct gated *gated, struct bts_trace *trace);
/* Pin this task to its CPU, and open the group. */
int gated_open(struct gated *gated);
/*
 * Open the kind's gates, and run two windows, as page faults may be gates. ENODEV or
 * ENOENT if the kind's @needs is missing.
 */
int gated_open_kind(struct gated *gated, const char *kind);
/* A gate by cycles, with samples; ENOENT if there is no such counter */
int gated_open_cycles(struct gated *gated, __u64 period, bool resumes);
void gated_close(struct gated *gated);
/*
 * Add new data to records and trace. An overwritten area is read when the group is
 * disabled. -1 with ->error set if the data is wrong.
 */
int gated_read(struct gated *gated);
int gated_disable_and_read(struct gated *gated);
/*
 * Run a window with this number of conditional branches. QEMU 7.2 swallows
 * breakpoints now and then: the log has 0 if the window wasn't opened, and
 * LOOPS_UNKNOWN if the close had to be tried again.
 */
int gated_window(struct gated *gated, __u64 loops);
/* Is the accounting of requests exact? NULL, or what is wrong. */
const char *gated_inexact(const struct gated *gated);
/*
 * When quiet: do level, hardware and accounting agree, and do gates still work? NULL,
 * or what is wrong. The checks come at the end, with the trace paused, as they would
 * be traced otherwise. Needs NMI gates.
 */
const char *gated_check_level(struct gated *gated, bool running);

enum gate_way {
	BY_TRACEPOINT,		/* in the driver's context */
	BY_NMI,
};

/*
 * Run @section from level @running, with a gate that hits at @point, then check the
 * level as gated_check_level() does. Returns the number of hits, or -1 with ->error
 * set. Needs NMI gates.
 */
long gated_at_point(struct gated *gated, const struct msr_point *point,
		    enum gate_way way, bool resumes, bool running,
		    void (*section)(struct gated *gated));

/*
 * Do @work until data is handed over: more than at the call, more than up to @head, or with
 * PERF_AUX_FLAG_TRUNCATED. -1 if it takes longer than 20 seconds.
 */
int gated_wait_handed_over(struct gated *gated, void (*work)(struct gated *gated));
int gated_wait_truncated(struct gated *gated, void (*work)(struct gated *gated));
/* The level that the newest sample's gate requested; at first, paused */
bool gated_is_paused(const struct gated *gated);

/*
 * For interrupts that find the trace paused. With the kernel in the trace, an interrupt is
 * sometimes requested in the NMI of a pause, before the pause, and comes after that
 * NMI. Call it instead of gated_open(). Returns a file descriptor to be closed in the end.
 */
int gated_open_late(struct gated *gated);

/*
 * Run windows until five interrupts have handed over data while the trace was paused, or
 * until three have found the area full: then the event and its gates are disabled, and it
 * keeps its level when enabled again. No interrupt may switch on a paused trace. NULL,
 * or what is wrong. Both need MSRs and NMI gates.
 */
const char *gated_late_interrupts(struct gated *gated, void (*window)(struct gated *gated));
const char *gated_late_full(struct gated *gated);

#endif /* _INTEL_GATED_H */
