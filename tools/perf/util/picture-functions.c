// SPDX-License-Identifier: GPL-2.0
/* The functions that a picture shows; see picture-functions.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>
#include "dso.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "picture-functions.h"
#include "symbol.h"
#include "thread.h"

#define UNKNOWN		"[unknown]"

void picture_functions__init(struct picture_functions *functions)
{
	functions->maps = 1;
	hash_init(functions->table);
}

static void free_function(struct picture_function *function)
{
	free(function->name);
	free(function->dso);
	free(function);
}

void picture_functions__exit(struct picture_functions *functions)
{
	struct picture_function *function;
	struct hlist_node *next;
	size_t i;

	hash_for_each_safe(functions->table, i, next, function, node)
		free_function(function);
	hash_init(functions->table);
}

/* Mitigations of the kernel and of compilers, which call in place of a call or return */
static bool is_thunk(const char *name)
{
	return strstarts(name, "__x86_indirect_") || strstarts(name, "__indirect_thunk_") ||
	       strstr(name, "_return_thunk");
}

static struct picture_function *new_function(const void *key, const char *name, const char *dso)
{
	struct picture_function *function = zalloc(sizeof(*function));

	if (!function)
		return NULL;
	function->key = key;
	function->name = strdup(name);
	function->dso = strdup(dso);
	if (function->name && function->dso)
		return function;
	free_function(function);
	return NULL;
}

/* The key alone may be that of another: its memory is used again when code has gone */
static struct picture_function *find(struct picture_functions *functions, const void *key,
				     const char *name, const char *dso, bool kernel)
{
	struct picture_function *function;

	hash_for_each_possible(functions->table, function, node, (unsigned long)key) {
		if (function->key == key && function->call.kernel == kernel &&
		    !strcmp(function->name, name) && !strcmp(function->dso, dso))
			return function;
	}
	return NULL;
}

static const struct picture_function *find_or_add(struct picture_functions *functions,
						  const struct symbol *sym, const struct dso *dso,
						  bool kernel)
{
	const void *key = sym ? (const void *)sym : dso;
	const char *name = sym ? sym->name : UNKNOWN, *dso_name = dso ? dso->short_name : "";
	struct picture_function *function = find(functions, key, name, dso_name, kernel);

	if (function)
		return function;
	function = new_function(key, name, dso_name);
	if (!function)
		return NULL;
	function->known = sym;
	function->call.kernel = kernel;
	function->call.hidden = is_thunk(function->name);
	hash_add(functions->table, &function->node, (unsigned long)key);
	return function;
}

/* A symbol may have another one inside: up to that, each address is known to be its own */
static u64 end_of(struct symbol *sym, u64 address)
{
	struct symbol *next = dso__next_symbol(sym);

	if (!next || next->start >= sym->end)
		return sym->end;
	return address < next->start ? next->start : 0;
}

static void set_range(struct picture_place *place, const struct addr_location *al, u64 address)
{
	u64 end = al->sym ? end_of(al->sym, al->addr) : 0;

	place->start = al->sym ? address - (al->addr - al->sym->start) : address;
	place->end = end ? address + (end - al->addr) : 0;
}

int picture_functions__find(struct picture_functions *functions, struct machine *machine,
			    struct thread *thread, u64 address, struct picture_place *place)
{
	bool kernel = machine__kernel_ip(machine, address);
	struct addr_location al = { .sym = NULL };

	if (picture_functions__has(functions, address, place))
		return 0;
	thread__find_symbol(thread, kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			    address, &al);
	place->function = find_or_add(functions, al.sym, al.map ? al.map->dso : NULL, kernel);
	place->maps = functions->maps;
	set_range(place, &al, address);
	return place->function ? 0 : -ENOMEM;
}
