/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PICTURE_FUNCTIONS_H
#define __PERF_PICTURE_FUNCTIONS_H 1

/*
 * The functions that a picture shows: which one an address belongs to.
 *
 * Each is kept once, until the end, so two are the same if their addresses are. Code
 * without a symbol is one function for each DSO, as nobody knows where its functions begin.
 */
#include <stdbool.h>
#include <linux/hashtable.h>
#include <linux/types.h>
#include "call-track.h"

struct machine;
struct thread;

#define PICTURE_FUNCTIONS_BITS	12

/**
 * struct picture_function - A function
 * @call:  what call-track.h wants to know
 * @known: it has a symbol
 * @key:   the symbol, or the DSO
 * @dso:   the short name of its DSO, "" if that isn't known
 */
struct picture_function {
	struct call_function	call;
	bool			known;
	const void		*key;
	char			*name;
	char			*dso;
	struct hlist_node	node;
};

/**
 * struct picture_place - Where an address belongs to
 * @start: the first address of the function
 * @end:   behind the last one; 0: only the address is known to belong there
 * @maps:  the value of picture_functions when this was found
 */
struct picture_place {
	const struct picture_function	*function;
	u64				start;
	u64				end;
	u64				maps;
};

/**
 * struct picture_functions - All of them
 * @maps: has to change whenever code is mapped, or another program is: what was found
 *	  before isn't so any more
 */
struct picture_functions {
	u64	maps;
	DECLARE_HASHTABLE(table, PICTURE_FUNCTIONS_BITS);
};

void picture_functions__init(struct picture_functions *functions);
void picture_functions__exit(struct picture_functions *functions);

/* Is that the address's place, too? */
static inline bool picture_functions__has(const struct picture_functions *functions,
					  u64 address, const struct picture_place *place)
{
	return place->maps == functions->maps && address >= place->start && address < place->end;
}

/**
 * picture_functions__find - Find the function that an address belongs to
 * @place: what was found last, or zeroes: it is often there again
 *
 * Return 0, or -ENOMEM.
 */
int picture_functions__find(struct picture_functions *functions, struct machine *machine,
			    struct thread *thread, u64 address, struct picture_place *place);

#endif /* __PERF_PICTURE_FUNCTIONS_H */
