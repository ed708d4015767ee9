/* SPDX-License-Identifier: GPL-2.0 */
/* The PMUs of this machine, and what their events may look like. */
#ifndef FUZZ_PMUS_H
#define FUZZ_PMUS_H

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define MAX_PMUS	32
#define MAX_FIELDS	32

/* Bits of attr.config, config1 or config2 that the PMU's "format" names. */
struct field {
	unsigned int word;
	uint64_t mask;
};

struct pmu {
	char name[32];
	unsigned int type;
	bool has_aux;
	bool counts_only;	/* no samples */
	bool for_root;
	bool avoid;		/* in programs that are made up */
	unsigned int nr_fields;
	struct field field[MAX_FIELDS];
};

extern struct pmu pmus[MAX_PMUS];
extern unsigned int nr_pmus;

/* What breakpoints watch, and what is called for them. */
extern volatile uint64_t watched[2];
void watched_function(void);

/* The linker's. */
extern char __executable_start[];

/* Reads sysfs and tracefs; sorted by name. The number of PMUs, 0 on failure. */
unsigned int pmus_init(void);

/* The index of a PMU, or -1. */
int pmus_find(const char *name);

/* A random attr.config, config1 and config2 that the PMU might take. */
void pmus_config(struct random *random, unsigned int pmu, uint64_t config[3]);

/*
 * Keep one event of each kind that has the kernel patch its text when the first is
 * opened and the last is closed: for the patching takes long, and QEMU may miss it.
 */
void pmus_hold(void);

#endif
