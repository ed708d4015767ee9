// SPDX-License-Identifier: GPL-2.0
/* Keys that have numbers; see intern.h */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "intern.h"

#define MIN_KEYS	256
#define ALIGNMENT	((size_t)8)

/**
 * struct intern_key - Where a key is
 * @at: in the bytes of all
 */
struct intern_key {
	size_t	at;
	u32	len;
	u32	hash;
};

void intern__exit(struct intern *set)
{
	free(set->bytes);
	free(set->keys);
	free(set->slots);
	memset(set, 0, sizeof(*set));
}

/* FNV-1a */
static u32 hash_of(const void *key, size_t len)
{
	const unsigned char *s = key;
	u64 hash = 0xcbf29ce484222325ULL;

	while (len--)
		hash = (hash ^ *s++) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

/* Its slot, or the free one that it belongs into. There is always a free one. */
static u32 *find_slot(const struct intern *set, const void *key, size_t len, u32 hash)
{
	const struct intern_key *other;
	u32 at = hash & (set->nr_slots - 1);

	for (; set->slots[at]; at = (at + 1) & (set->nr_slots - 1)) {
		other = &set->keys[set->slots[at] - 1];
		if (other->hash == hash && other->len == len &&
		    !memcmp(set->bytes + other->at, key, len))
			break;
	}
	return &set->slots[at];
}

static int grow_slots(struct intern *set, u32 nr_slots)
{
	u32 *slots = calloc(nr_slots, sizeof(*slots));
	u32 i, at;

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < set->nr; i++) {
		at = set->keys[i].hash & (nr_slots - 1);
		while (slots[at])
			at = (at + 1) & (nr_slots - 1);
		slots[at] = i + 1;
	}
	free(set->slots);
	set->slots = slots;
	set->nr_slots = nr_slots;
	return 0;
}

/* Half of the slots stay free, so there are twice as many as keys */
static int grow_keys(struct intern *set)
{
	u32 nr_keys = set->nr_keys ? 2 * set->nr_keys : MIN_KEYS;
	struct intern_key *keys;

	if (nr_keys > INT_MAX / 2)
		return -ENOMEM;
	keys = realloc(set->keys, nr_keys * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	set->keys = keys;
	if (grow_slots(set, 2 * nr_keys))
		return -ENOMEM;
	set->nr_keys = nr_keys;
	return 0;
}

static int grow_bytes(struct intern *set, size_t len)
{
	size_t size = 2 * (set->len + len);
	char *bytes;

	if (set->len + len <= set->size)
		return 0;
	bytes = realloc(set->bytes, size);
	if (!bytes)
		return -ENOMEM;
	set->bytes = bytes;
	set->size = size;
	return 0;
}

static int make_room(struct intern *set, size_t len)
{
	int err = set->nr == set->nr_keys ? grow_keys(set) : 0;

	return err ?: grow_bytes(set, round_up(len, ALIGNMENT));
}

int intern__add(struct intern *set, const void *key, size_t len)
{
	size_t aligned = round_up(len, ALIGNMENT);
	u32 hash = hash_of(key, len);
	u32 *slot;

	if (make_room(set, aligned + set->value_size))
		return -ENOMEM;
	slot = find_slot(set, key, len, hash);
	if (*slot)
		return *slot - 1;
	memcpy(set->bytes + set->len, key, len);
	memset(set->bytes + set->len + aligned, 0, set->value_size);
	set->keys[set->nr] = (struct intern_key){ .at = set->len, .len = len, .hash = hash };
	set->len += aligned + round_up(set->value_size, ALIGNMENT);
	*slot = ++set->nr;
	return *slot - 1;
}

const void *intern__key(const struct intern *set, u32 number)
{
	return set->bytes + set->keys[number].at;
}

void *intern__value(const struct intern *set, u32 number)
{
	const struct intern_key *key = &set->keys[number];

	return set->bytes + key->at + round_up(key->len, ALIGNMENT);
}

size_t intern__key_len(const struct intern *set, u32 number)
{
	return set->keys[number].len;
}
