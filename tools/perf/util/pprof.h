/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PPROF_H
#define __PERF_PPROF_H 1

/*
 * A profile for pprof: samples with their stacks, in the format of profile.proto.
 *
 * Equal samples are one with a sum, equal stacks share their callers, and what is mapped into
 * many processes is there once if its build id is known. So memory grows with the number of
 * different stacks in each thread, and not with that of samples.
 *
 * Functions that return an int return a number of what was added, 0 or more, or -ENOMEM.
 */
#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>
#include "intern.h"

#define PPROF_MAX_BUILD_ID	20
#define PPROF_NONE		(-1)

/**
 * struct pprof_mapping - Code that is mapped
 * @start:  its first address; @limit: behind its last one
 * @offset: in the file
 */
struct pprof_mapping {
	u64		start;
	u64		limit;
	u64		offset;
	const char	*file;
	const u8	*build_id;
	size_t		build_id_size;
};

/**
 * struct pprof_sample - What was seen in a stack
 * @event:  the number of its event
 * @stack:  that of its innermost call, or PPROF_NONE
 * @comm:   the thread's name
 * @pid:    the process
 * @cpu:    where it ran, or PPROF_NONE
 * @period: so many events it stands for
 */
struct pprof_sample {
	int		event;
	int		stack;
	const char	*comm;
	int		pid;
	int		tid;
	int		cpu;
	u64		period;
};

/**
 * struct pprof - A profile that is being made
 * @time:     when it begins, in nanoseconds since 1970; 0: nobody knows
 * @duration: so many nanoseconds are from its first sample to the last one
 */
struct pprof {
	u64		time;
	u64		duration;
	struct intern	strings;
	struct intern	comments;
	struct intern	events;
	struct intern	mappings;
	struct intern	functions;
	struct intern	locations;
	struct intern	stacks;
	struct intern	samples;
};

/* Return 0, or -ENOMEM. Either way, exit frees all. */
int pprof__init(struct pprof *profile);
void pprof__exit(struct pprof *profile);

/* @unit: of its period. Events without samples are not written, others in their order. */
int pprof__event(struct pprof *profile, const char *name, const char *unit);
int pprof__comment(struct pprof *profile, const char *text);
int pprof__mapping(struct pprof *profile, const struct pprof_mapping *mapping);
int pprof__function(struct pprof *profile, const char *name);

/**
 * pprof__location - A place in the code
 * @mapping:   the number of the mapping, or PPROF_NONE
 * @address:   from the mapping's start
 * @functions: numbers of functions, the innermost one first: all but the last are inlined
 * @nr:	       0: nobody knows
 */
int pprof__location(struct pprof *profile, int mapping, u64 address, const int *functions,
		    size_t nr);

/* A call at a location, from the call with the number @caller; PPROF_NONE: from none */
int pprof__stack(struct pprof *profile, int caller, int location);

int pprof__sample(struct pprof *profile, const struct pprof_sample *sample);

/* Write the profile, compressed, from the file's position. Return 0, or a negative error. */
int pprof__write(struct pprof *profile, FILE *out);

/* ---- the keys of its sets, and their values. The numbers of texts are those of strings. */

/**
 * struct pprof_event_key - An event
 * @name: the number of a text, as is @unit
 */
struct pprof_event_key {
	u32	name;
	u32	unit;
};

/**
 * struct pprof_sum - The value of an event, and of a sample
 * @samples: so many
 * @period:  of all of them
 */
struct pprof_sum {
	u64	samples;
	u64	period;
};

/**
 * struct pprof_mapping_key - A mapping
 * @start: 0 if there is a build id: it is the same wherever it is
 * @file:  a text
 */
struct pprof_mapping_key {
	u64	start;
	u64	size;
	u64	offset;
	u32	file;
	u32	build_id_size;
	u8	build_id[24];
};

/**
 * struct pprof_mapping_value - What else is known of it
 * @start:     where it was first
 * @functions: some are known
 * @inlined:   likewise inlined ones
 */
struct pprof_mapping_value {
	u64	start;
	bool	functions;
	bool	inlined;
};

/**
 * struct pprof_location_key - A place
 * @mapping:   its number plus 1; 0: none
 * @functions: the numbers of @nr functions
 */
struct pprof_location_key {
	u64	address;
	u32	mapping;
	u32	nr;
	u32	functions[];
};

/**
 * struct pprof_stack_key - A call
 * @caller: the number of a call plus 1; 0: none
 */
struct pprof_stack_key {
	u32	caller;
	u32	location;
};

/**
 * struct pprof_sample_key - Samples that are equal
 * @stack: the number of a call plus 1; 0: none
 * @comm:  a text
 */
struct pprof_sample_key {
	u32	event;
	u32	stack;
	u32	comm;
	s32	pid;
	s32	tid;
	s32	cpu;
};

/* Text that has any bytes: what isn't UTF-8 becomes U+FFFD */
int pprof__string(struct pprof *profile, const char *text);

#endif /* __PERF_PPROF_H */
