/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of Intel PT and Intel BTS share: windows of user code whose
 * branches are known, the trace's MSRs, and a walk over the trace itself.
 *
 * The tests run on Intel's hardware and on the model of it (kernel parameter
 * trace_model) alike. The model knows more: it counts what a driver must not do.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _INTEL_COMMON_H
#define _INTEL_COMMON_H

#include <x86intrin.h>

#include "aux_common.h"

/* --- What there is to test --- */

/*
 * NULL, or what is missing: the PMU, and what certain tests need: NMI gates, the
 * account of gates, the MSRs.
 */
const char *lacks_pmu(const char *pmu);
const char *lacks_nmi(void);
const char *lacks_account(void);
const char *lacks_msr(void);

/*
 * Gates that are throttled don't act, so neither a rate nor a machine that is slow
 * with interrupts may throttle.
 */
struct rate_limit {
	int rate;
	char percent[32];
};

int rate_unlimit(struct rate_limit *limit);
void rate_restore(const struct rate_limit *limit);

/* --- The model --- */

bool has_model(void);
/* -1 where there is no model */
long long model_stat(const char *name);
/*
 * How often a driver broke the hardware's rules since the last call of
 * model_watch(). Without a model nobody counts: 0.
 */
void model_watch(void);
long long model_breaches(void);
/* VMX operation on this CPU, as KVM enters and leaves it, for @us microseconds */
int model_vmx(unsigned int us);
/* A VM exit on this CPU, and what KVM does about DEBUGCTL before and behind it */
int model_vmexit(void);
/* Suspend to RAM and back, of this CPU's trace */
int model_suspend(void);
/* Have LVTPC masked: no interrupts */
int model_mask(bool mask);
/* When the handler acknowledges the interrupt: "early", "mid", "late", or as the "cpu" */
int model_ack(const char *when);

/* Where a function of the kernel is; 0 if that is a secret */
__u64 kernel_symbol(const char *name);

/* ->stop() without PERF_EF_UPDATE, ->start(). NULL, or what is missing. */
const char *lacks_restart(void);
int restart_event(int fd);

/* --- MSRs --- */

#define MSR_DEBUGCTL		0x1d9
#define MSR_GLOBAL_STATUS	0x38e
#define GLOBAL_STATUS_TOPA	0x80000000000000ULL
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390
#define MSR_RTIT_OUTPUT_BASE	0x560
#define MSR_RTIT_OUTPUT_MASK	0x561
#define MSR_RTIT_CTL		0x570
#define MSR_RTIT_STATUS		0x571
#define RTIT_STATUS_STOPPED	0x20
#define MSR_RTIT_LAST		0x587

int msr_read(int cpu, unsigned int msr, __u64 *value);
/* Is the hardware tracing? 1, 0, or -1 */
int pt_is_on(int cpu);
int bts_is_on(int cpu);

/* An event on reads or writes of MSRs */
int attr_msr(struct perf_event_attr *attr, bool write);
/* By a group's task or CPU; -1 if there is no such tracepoint */
int count_msr_writes(const struct aux_spec *spec, unsigned int first,
		     unsigned int last);

/* A place in the middle of what a driver does: right behind an access of an MSR */
struct msr_point {
	const char	*name;
	unsigned int	msr;
	bool		write;
};

/* A gate at such a point, by tracepoint. It begins disabled. */
int open_msr_gate(const struct aux_spec *spec, const struct aux_group *group,
		  const struct msr_point *point, bool resumes);

/*
 * An NMI whenever this CPU passes such a point, outside of NMIs. Gates and samplers
 * with this tag count it; TAG_NONE is nobody's. By the module test_perf_msr.
 */
#define TAG_NONE	9

const char *lacks_nmi_at_msr(void);
int nmi_at_msr(const struct msr_point *point, unsigned int tag);
/* Returns how many there were. */
long nmi_at_msr_off(void);

/* --- Windows --- */

/*
 * One way through: @open is a gate's place, then a loop with @loops conditional
 * branches, all but the last of them taken, then @close. In user mode there is no
 * other branch between the two, system calls and exceptions apart.
 */
struct window {
	__u64 open[4];		/* number and arguments of a system call, or */
	__u64 close[4];		/* [0] address of a word that is incremented */
	__u64 loops;
};

/* Where the code of a window is. Each kind exists twice, at different places. */
struct window_code {
	void		(*run)(const struct window *win);
	const char	*open, *close;	/* places for probes */
	const char	*branch;	/* the conditional branch */
	const char	*end;
};

enum window_kind {
	WINDOW_CALLS,		/* system call, system call */
	WINDOW_CALL_STORE,	/* system call, store */
	WINDOW_STORE_CALL,	/* store, system call */
	WINDOW_PLACES,		/* an instruction at ->open, one at ->close */
	WINDOW_KINDS
};

extern const struct window_code window_codes[WINDOW_KINDS][2];
const struct window_code *window_code(enum window_kind kind, unsigned int copy);

/* When a window was open at most, by the TSC, and what it executed */
struct window_log {
	__u64 from, to;
	__u64 loops;		/* 0: the gate didn't open it */
};

#define LOOPS_UNKNOWN	-1ULL

/*
 * Gates of every kind around windows, see gate_kinds[]. ->setup() fills in the
 * gates and the window; it fails where there is no such kind of gate. ->prepare()
 * is called before each window.
 */
struct gate_kind {
	const char		*name;
	enum window_kind	code;
	int			(*setup)(struct aux_spec *spec, struct window *win);
	void			(*prepare)(void);
	const char		*needs;
	bool			late;	/* may hit behind its place */
};

const struct gate_kind *gate_kind(const char *name);

/* NMI gates, and one NMI for those with this tag: with one system call only */
int setup_nmi_gates(struct aux_spec *spec);
void fire_tag(unsigned int tag);
/* TAG_RESUME or TAG_PAUSE */
void fire(bool resumes);
/*
 * Makes NMIs with this tag take longer, ahead of the gates that are opened later: for
 * what is to happen in an NMI, and before them. It has samples as soon as it is given
 * a buffer.
 */
int open_nmi_load(int cpu, unsigned int tag);
/* Another task on the CPU: a task's event is scheduled out and in. */
void sleep_a_little(void);

struct gated {
	const struct gate_kind	*kind;
	int			cpu;
	int			(*is_on)(int cpu);
	struct aux_spec		spec;
	struct aux_group	group;
	struct perf_records	records;
	size_t			pos;	/* in records, see pt_trace_read() */
	struct window		win;
	struct window_log	*log;
	size_t			nr;	/* of log */
	__u64			others;	/* what gates that are closed have counted */
};

/* @log has room for all windows to come. @pmu: intel_pt or intel_bts */
void gated_init(struct gated *gated, const char *pmu, struct window_log *log);
/* Pin this task to its CPU, and open the group. */
int gated_open(struct gated *gated);
/*
 * Open the kind's gates, and go through two windows: page faults may be gates. ENODEV
 * or ENOENT where the kind's @needs is missing.
 */
int gated_open_kind(struct gated *gated, const char *kind);
/* By the counter of the hardware */
void attr_cycles(struct perf_event_attr *attr, __u64 period);
/* Gates by cycles, with samples; ENOENT where there is no such counter */
int gated_open_cycles(struct gated *gated, __u64 period, bool resumes);
void gated_close(struct gated *gated);
/*
 * Go through a window with this number of conditional branches in it. QEMU 7.2
 * swallows breakpoints now and then. The log says 0 where the window wasn't opened
 * and LOOPS_UNKNOWN where the close had to be tried again.
 */
int gated_window(struct gated *gated, __u64 loops);
/* Is the account of requests exact? NULL, or what is wrong. */
const char *gated_inexact(const struct gated *gated);
/*
 * Quiet: do level, hardware and account agree, and do gates go on to work? NULL, or
 * what is wrong. Ends paused, and looks at nothing before: it would trace itself.
 * Needs NMI gates.
 */
const char *gated_check_level(struct gated *gated, bool running);

enum gate_way {
	BY_TRACEPOINT,		/* in whatever context the driver is */
	BY_NMI,
};

/*
 * Run @section from level @running, with gates that hit at @point. The level and so
 * on are as the gate asked for, afterwards? Returns how often it hit, or -1 with
 * *@error set. Needs NMI gates.
 */
long gated_at_point(struct gated *gated, const struct msr_point *point,
		    enum gate_way way, bool resumes, bool running,
		    void (*section)(struct gated *gated), const char **error);

/*
 * Do @work until an AUX record comes, or one that tells that the area was full. -1 if
 * it takes longer than 20 seconds.
 */
int gated_wait_handed_over(struct gated *gated, void (*work)(struct gated *gated));
int gated_wait_truncated(struct gated *gated, void (*work)(struct gated *gated));
/* The level that the gate with the newest sample has left; at first, paused */
bool gated_is_paused(const struct gated *gated);

/*
 * Interrupts that find the trace paused. With the kernel in the trace, what asks for
 * one happens now and then in the NMI of a pause, ahead of it: the interrupt comes
 * behind that NMI. Before the group opens, and instead of gated_open(); returns a file
 * that is to be closed in the end.
 */
int gated_open_late(struct gated *gated);

/* What differs between traces: adds to the trace what there is, by AUX records */
struct late_trace {
	int	(*read)(struct gated *gated, void *trace);
	void	*trace;
};

/*
 * Go through windows until five interrupts have handed over data while the trace was
 * paused, or until three have found the area full: then the event is disabled, and so
 * are its gates, and it comes back at the level that it had. No interrupt turns on a
 * trace that is paused. NULL, or what is wrong. Both need MSRs and NMI gates.
 */
const char *gated_late_interrupts(struct gated *gated, const struct late_trace *to,
				  void (*window)(struct gated *gated));
const char *gated_late_full(struct gated *gated, const struct late_trace *to);

/* --- The stream of Intel PT --- */

/* What there is behind a TSC packet, up to the next one */
struct pt_segment {
	__u64		tsc;
	__u64		tnt;	/* conditional branches, compressed returns */
	unsigned int	pge;
};

/* attr.config: with TSC packets */
#define PT_CONFIG_TSC	0x400

/* Is there tracing between here and the next packet that tells? */
enum pt_level {
	PT_UNKNOWN,
	PT_OFF,
	PT_ON,
};

struct pt_trace {
	unsigned char		*bytes;
	size_t			nr_bytes;
	size_t			done;	/* of bytes: checked */
	bool			synced;	/* no PSB needed to go on from there */
	bool			in_psb, psb_fup;
	enum pt_level		level;
	struct pt_segment	*seg;
	size_t			nr;
	struct pt_segment	ahead;	/* of the first TSC */
	__u64			tnt;
	unsigned long		psb, ovf, records, truncated;
	__u64			ip;	/* the last one, 0 at PSB */
	unsigned long		ips, kernel_ips;
	char			error[200];
};

/*
 * Add the data that the AUX records in @records tell of and check it: a packet
 * where one is due, TIP.PGE and TIP.PGD in turn, nothing traced outside of them.
 * @pos is the first record that wasn't looked at yet. Data behind a truncated
 * record begins in mid-stream: the check goes on at the next PSB.
 */
int pt_trace_read(struct pt_trace *trace, const struct perf_records *records,
		  size_t *pos, struct aux_group *group);
/* The same for an overwritten area: from its oldest PSB to its newest packet. */
int pt_trace_read_overwrite(struct pt_trace *trace, struct aux_group *group);
/* For an event that is disabled: does the trace end as it should? */
bool pt_trace_complete(const struct pt_trace *trace);
void pt_trace_free(struct pt_trace *trace);

/*
 * Is every TSC packet in a window? With @exact, has each window its number of
 * conditional branches, no less and no more? -1 with ->error set, or the number
 * of windows with data.
 */
int pt_trace_match(struct pt_trace *trace, const struct window_log *log,
		   size_t nr, bool exact);

/* --- The records of Intel BTS --- */

struct bts_record {
	__u64 from, to, flags;
};

struct bts_trace {
	struct bts_record	*rec;
	size_t			nr;
	unsigned long		records, truncated;
	char			error[200];
};

int bts_trace_read(struct bts_trace *trace, const struct perf_records *records,
		   size_t *pos, struct aux_group *group);
int bts_trace_read_overwrite(struct bts_trace *trace, struct aux_group *group);
void bts_trace_free(struct bts_trace *trace);

/* How many records are of the loops in windows of this kind? */
size_t bts_branches(const struct bts_trace *trace, enum window_kind kind);
/*
 * Do the records of the loops tell the windows' story, one after the other, from
 * the first on or, with @newest, up to the last? -1 with ->error set, or the
 * number of windows found.
 */
int bts_trace_match(struct bts_trace *trace, const struct gated *gated,
		    bool newest);

#endif /* _INTEL_COMMON_H */
