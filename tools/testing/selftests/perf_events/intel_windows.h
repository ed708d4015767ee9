/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows: user code with known branches, between the places of two gates; and gates of
 * every kind for these places.
 *
 * Functions return -1 on failure and say why in errno, unless noted otherwise.
 */
#ifndef _INTEL_WINDOWS_H
#define _INTEL_WINDOWS_H

#include "aux_group.h"

/* --- The code --- */

/*
 * One run: @open, where a gate is, then a loop with @loops conditional branches, all but
 * the last of them taken, then @close. In user mode there is no other branch in between,
 * except for system calls and exceptions.
 */
struct window {
	__u64 open[4];		/* number and arguments of a system call, or */
	__u64 close[4];		/* [0] address of a word that is incremented */
	__u64 loops;
};

/* The code of a window. Each kind has two copies, at different addresses. */
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

/* The code of WINDOW_PLACES without gates: only the number of branches identifies them. */
void branches(unsigned long n);

/* The TSC before and after a window, and its number of branches */
struct window_log {
	__u64 from, to;
	__u64 loops;		/* 0: the gate didn't open it */
};

#define LOOPS_UNKNOWN	-1ULL

/* --- Gates --- */

/*
 * A kind of gates around windows. ->setup() fills in the gates and the window; it fails
 * where there is no such kind of gate. ->prepare() is called before each window.
 */
struct gate_kind {
	const char		*name;
	enum window_kind	code;
	int			(*setup)(struct aux_spec *spec, struct window *win);
	void			(*prepare)(void);
	const char		*needs;
	bool			late;	/* may hit after its place */
};

const struct gate_kind *gate_kind(const char *name);

/* NMI gates; and an NMI for those with this tag, by a single system call */
int setup_nmi_gates(struct aux_spec *spec);
void fire_tag(unsigned int tag);
/* TAG_RESUME or TAG_PAUSE */
void fire(bool resumes);

#endif /* _INTEL_WINDOWS_H */
