/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_INTERN_H
#define __PERF_INTERN_H 1

/*
 * Keys, each of which is kept once, and has a number: 0, 1, 2, in the order of their arrival.
 * Each can have a value.
 */
#include <stddef.h>
#include <linux/types.h>

struct intern_key;

/**
 * struct intern - A set of keys
 * @value_size: of each value, to be set before the first key
 * @bytes:	all keys, each with its value behind it
 * @len:	so many bytes are used
 * @keys:	where each of them is
 * @nr:		so many keys
 * @slots:	their numbers plus 1, by their hash; 0: none
 * @nr_slots:	a power of two
 */
struct intern {
	size_t			value_size;
	char			*bytes;
	size_t			len;
	size_t			size;
	struct intern_key	*keys;
	u32			nr;
	u32			nr_keys;
	u32			*slots;
	u32			nr_slots;
};

/* Before the first key, all but the size of values must be zero */
void intern__exit(struct intern *set);

/**
 * intern__add - The number of a key
 *
 * All its bytes count: those between the members of a struct, too. There must be one at
 * least. The value of a new key is zero.
 *
 * Return it, or -ENOMEM.
 */
int intern__add(struct intern *set, const void *key, size_t len);

/* The key with that number, and its value: there until the next key is added */
const void *intern__key(const struct intern *set, u32 number);
void *intern__value(const struct intern *set, u32 number);

size_t intern__key_len(const struct intern *set, u32 number);

#endif /* __PERF_INTERN_H */
