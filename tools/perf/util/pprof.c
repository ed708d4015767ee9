// SPDX-License-Identifier: GPL-2.0
/* What a profile for pprof has; see pprof.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include "pprof.h"
#include "utf8.h"

#define REPLACEMENT	"\xef\xbf\xbd"

int pprof__init(struct pprof *profile)
{
	int err;

	memset(profile, 0, sizeof(*profile));
	profile->events.value_size = sizeof(struct pprof_sum);
	profile->samples.value_size = sizeof(struct pprof_sum);
	profile->mappings.value_size = sizeof(struct pprof_mapping_value);
	/* The format wants it to be the first one */
	err = pprof__string(profile, "");
	return min(err, 0);
}

void pprof__exit(struct pprof *profile)
{
	intern__exit(&profile->strings);
	intern__exit(&profile->comments);
	intern__exit(&profile->events);
	intern__exit(&profile->mappings);
	intern__exit(&profile->functions);
	intern__exit(&profile->locations);
	intern__exit(&profile->stacks);
	intern__exit(&profile->samples);
}

/* ---- texts */

static bool is_utf8(const char *text)
{
	size_t len;

	for (; *text; text += len) {
		len = utf8__character(text);
		if (!len)
			return false;
	}
	return true;
}

static void replace_bytes(char *to, const char *text)
{
	size_t len;

	for (; *text; text += len ?: 1) {
		len = utf8__character(text);
		if (len) {
			memcpy(to, text, len);
			to += len;
		} else {
			memcpy(to, REPLACEMENT, strlen(REPLACEMENT));
			to += strlen(REPLACEMENT);
		}
	}
	*to = 0;
}

int pprof__string(struct pprof *profile, const char *text)
{
	char *copy;
	int number;

	if (is_utf8(text))
		return intern__add(&profile->strings, text, strlen(text) + 1);
	copy = malloc(strlen(text) * strlen(REPLACEMENT) + 1);
	if (!copy)
		return -ENOMEM;
	replace_bytes(copy, text);
	number = intern__add(&profile->strings, copy, strlen(copy) + 1);
	free(copy);
	return number;
}

static int add_text(struct pprof *profile, struct intern *set, const char *text)
{
	int string = pprof__string(profile, text);

	return string < 0 ? string : intern__add(set, &string, sizeof(string));
}

int pprof__comment(struct pprof *profile, const char *text)
{
	return add_text(profile, &profile->comments, text);
}

int pprof__function(struct pprof *profile, const char *name)
{
	return add_text(profile, &profile->functions, name);
}

int pprof__event(struct pprof *profile, const char *name, const char *unit)
{
	int name_number = pprof__string(profile, name);
	int unit_number = pprof__string(profile, unit);
	struct pprof_event_key key = { .name = name_number, .unit = unit_number };

	if (name_number < 0 || unit_number < 0)
		return -ENOMEM;
	return intern__add(&profile->events, &key, sizeof(key));
}

/* ---- code */

int pprof__mapping(struct pprof *profile, const struct pprof_mapping *mapping)
{
	struct pprof_mapping_value *value;
	struct pprof_mapping_key key;
	int number, file;

	file = pprof__string(profile, mapping->file);
	if (file < 0)
		return file;
	memset(&key, 0, sizeof(key));
	key.size = mapping->limit - mapping->start;
	key.offset = mapping->offset;
	key.file = file;
	key.build_id_size = min_t(size_t, mapping->build_id_size, PPROF_MAX_BUILD_ID);
	if (key.build_id_size)
		memcpy(key.build_id, mapping->build_id, key.build_id_size);
	else
		key.start = mapping->start;
	number = intern__add(&profile->mappings, &key, sizeof(key));
	if (number < 0)
		return number;
	value = intern__value(&profile->mappings, number);
	value->start = value->start ?: mapping->start;
	return number;
}

int pprof__location(struct pprof *profile, int mapping, u64 address, const int *functions,
		    size_t nr)
{
	size_t size = sizeof(struct pprof_location_key) + nr * sizeof(u32);
	struct pprof_location_key *key = malloc(size);
	struct pprof_mapping_value *value;
	int number;
	size_t i;

	if (!key)
		return -ENOMEM;
	key->address = address;
	key->mapping = mapping + 1;
	key->nr = nr;
	for (i = 0; i < nr; i++)
		key->functions[i] = functions[i];
	number = intern__add(&profile->locations, key, size);
	free(key);
	if (mapping == PPROF_NONE)
		return number;
	value = intern__value(&profile->mappings, mapping);
	value->functions |= nr > 0;
	value->inlined |= nr > 1;
	return number;
}

int pprof__stack(struct pprof *profile, int caller, int location)
{
	struct pprof_stack_key key = { .caller = caller + 1, .location = location };

	return intern__add(&profile->stacks, &key, sizeof(key));
}

/* ---- samples */

static void count(struct intern *set, int number, u64 period)
{
	struct pprof_sum *sum = intern__value(set, number);

	sum->samples++;
	sum->period += period;
}

int pprof__sample(struct pprof *profile, const struct pprof_sample *sample)
{
	int comm = pprof__string(profile, sample->comm), number;
	struct pprof_sample_key key = {
		.event	= sample->event,
		.stack	= sample->stack + 1,
		.comm	= comm,
		.pid	= sample->pid,
		.tid	= sample->tid,
		.cpu	= sample->cpu,
	};

	if (comm < 0)
		return comm;
	number = intern__add(&profile->samples, &key, sizeof(key));
	if (number < 0)
		return number;
	count(&profile->samples, number, sample->period);
	count(&profile->events, sample->event, sample->period);
	return number;
}
