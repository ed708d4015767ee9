// SPDX-License-Identifier: GPL-2.0
/* How a profile for pprof is written; see pprof.h. The fields are those of profile.proto. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <linux/kernel.h>
#include "pprof.h"
#include "protobuf.h"

enum {
	PROFILE_SAMPLE_TYPE		= 1,
	PROFILE_SAMPLE			= 2,
	PROFILE_MAPPING			= 3,
	PROFILE_LOCATION		= 4,
	PROFILE_FUNCTION		= 5,
	PROFILE_STRING_TABLE		= 6,
	PROFILE_TIME_NANOS		= 9,
	PROFILE_DURATION_NANOS		= 10,
	PROFILE_PERIOD_TYPE		= 11,
	PROFILE_PERIOD			= 12,
	PROFILE_COMMENT			= 13,
	PROFILE_DEFAULT_SAMPLE_TYPE	= 14,

	VALUE_TYPE_TYPE			= 1,
	VALUE_TYPE_UNIT			= 2,

	SAMPLE_LOCATION_ID		= 1,
	SAMPLE_VALUE			= 2,
	SAMPLE_LABEL			= 3,

	LABEL_KEY			= 1,
	LABEL_STR			= 2,
	LABEL_NUM			= 3,
	LABEL_NUM_UNIT			= 4,

	MAPPING_ID			= 1,
	MAPPING_MEMORY_START		= 2,
	MAPPING_MEMORY_LIMIT		= 3,
	MAPPING_FILE_OFFSET		= 4,
	MAPPING_FILENAME		= 5,
	MAPPING_BUILD_ID		= 6,
	MAPPING_HAS_FUNCTIONS		= 7,
	MAPPING_HAS_INLINE_FRAMES	= 10,

	LOCATION_ID			= 1,
	LOCATION_MAPPING_ID		= 2,
	LOCATION_ADDRESS		= 3,
	LOCATION_LINE			= 4,

	LINE_FUNCTION_ID		= 1,

	FUNCTION_ID			= 1,
	FUNCTION_NAME			= 2,
	FUNCTION_SYSTEM_NAME		= 3,
};

/**
 * struct writer - A profile that is being written
 * @message: the field of the profile that is being made
 * @inner:   a field in it
 * @top:     fields that are complete
 * @nr:	     so many events have samples
 * @err:     the first error; nothing is written after it
 */
struct writer {
	struct pprof	*profile;
	gzFile		file;
	struct protobuf	message;
	struct protobuf	inner;
	struct protobuf	top;
	u32		nr;
	int		err;
};

/* The number of a text */
static u64 text(struct writer *writer, const char *string)
{
	int number = pprof__string(writer->profile, string);

	if (number >= 0)
		return number;
	writer->err = number;
	return 0;
}

/* Write what is complete */
static void flush(struct writer *writer)
{
	struct protobuf *top = &writer->top;

	if (top->failed)
		writer->err = -ENOMEM;
	if (!writer->err && top->len && !gzwrite(writer->file, top->data, top->len))
		writer->err = -(errno ?: EIO);
	protobuf__reset(top);
}

static void put_message(struct writer *writer, unsigned int field)
{
	protobuf__add_message(&writer->top, field, &writer->message);
	protobuf__reset(&writer->message);
	flush(writer);
}

static void put_number(struct writer *writer, unsigned int field, u64 value)
{
	protobuf__add_number(&writer->top, field, value);
	flush(writer);
}

static void add_inner(struct writer *writer, unsigned int field)
{
	protobuf__add_message(&writer->message, field, &writer->inner);
	protobuf__reset(&writer->inner);
}

/* ---- events */

static const struct pprof_event_key *event_key(const struct writer *writer, u32 event)
{
	return intern__key(&writer->profile->events, event);
}

static const struct pprof_sum *event_sum(const struct writer *writer, u32 event)
{
	return intern__value(&writer->profile->events, event);
}

static void count_events(struct writer *writer)
{
	u32 i;

	for (i = 0; i < writer->profile->events.nr; i++)
		writer->nr += event_sum(writer, i)->samples > 0;
}

/* Names as pprof users know them: those of one event, or those that perf_to_profile makes */
static u64 name_of_type(struct writer *writer, u32 event, const char *suffix)
{
	const struct pprof *profile = writer->profile;
	const char *name = intern__key(&profile->strings, event_key(writer, event)->name);
	char *both;
	u64 number;

	if (asprintf(&both, "%s%s", name, suffix) < 0) {
		writer->err = -ENOMEM;
		return 0;
	}
	number = text(writer, both);
	free(both);
	return number;
}

static u64 name_of_samples(struct writer *writer, u32 event)
{
	return writer->nr == 1 ? text(writer, "samples") : name_of_type(writer, event, "_sample");
}

static u64 name_of_period(struct writer *writer, u32 event)
{
	return name_of_type(writer, event, writer->nr == 1 ? "" : "_event");
}

static void put_type(struct writer *writer, unsigned int field, u64 name, u64 unit)
{
	protobuf__add_number(&writer->message, VALUE_TYPE_TYPE, name);
	protobuf__add_number(&writer->message, VALUE_TYPE_UNIT, unit);
	put_message(writer, field);
}

static void put_types(struct writer *writer)
{
	u32 i;

	for (i = 0; i < writer->profile->events.nr; i++) {
		if (!event_sum(writer, i)->samples)
			continue;
		put_type(writer, PROFILE_SAMPLE_TYPE, name_of_samples(writer, i),
			 text(writer, "count"));
		put_type(writer, PROFILE_SAMPLE_TYPE, name_of_period(writer, i),
			 event_key(writer, i)->unit);
	}
}

/* Of the first event: if the period varies, its mean */
static void put_period(struct writer *writer)
{
	const struct pprof_sum *sum;
	u32 i;

	for (i = 0; i < writer->profile->events.nr; i++) {
		sum = event_sum(writer, i);
		if (!sum->samples)
			continue;
		put_number(writer, PROFILE_PERIOD, sum->period / sum->samples);
		put_type(writer, PROFILE_PERIOD_TYPE,
			 event_key(writer, i)->name, event_key(writer, i)->unit);
		put_number(writer, PROFILE_DEFAULT_SAMPLE_TYPE, name_of_period(writer, i));
		return;
	}
}

/* ---- samples */

static void add_locations(struct writer *writer, u32 stack)
{
	const struct pprof_stack_key *key;

	while (stack) {
		key = intern__key(&writer->profile->stacks, stack - 1);
		protobuf__add_varint(&writer->inner, key->location + 1);
		stack = key->caller;
	}
	add_inner(writer, SAMPLE_LOCATION_ID);
}

/* Two of each event: those of other events are 0 */
static void add_values(struct writer *writer, u32 event, const struct pprof_sum *sum)
{
	u32 i;

	for (i = 0; i < writer->profile->events.nr; i++) {
		if (!event_sum(writer, i)->samples)
			continue;
		protobuf__add_varint(&writer->inner, i == event ? sum->samples : 0);
		protobuf__add_varint(&writer->inner, i == event ? sum->period : 0);
	}
	add_inner(writer, SAMPLE_VALUE);
}

/* With the unit that a reader takes for granted: some drop a 0 that has none */
static void add_number_label(struct writer *writer, const char *key, s64 number)
{
	if (number < 0)
		return;
	protobuf__add_number(&writer->inner, LABEL_KEY, text(writer, key));
	protobuf__add_number(&writer->inner, LABEL_NUM, number);
	protobuf__add_number(&writer->inner, LABEL_NUM_UNIT, text(writer, key));
	add_inner(writer, SAMPLE_LABEL);
}

static void add_labels(struct writer *writer, const struct pprof_sample_key *sample)
{
	protobuf__add_number(&writer->inner, LABEL_KEY, text(writer, "thread_comm"));
	protobuf__add_number(&writer->inner, LABEL_STR, sample->comm);
	add_inner(writer, SAMPLE_LABEL);
	add_number_label(writer, "pid", sample->pid);
	add_number_label(writer, "tid", sample->tid);
	add_number_label(writer, "cpu", sample->cpu);
}

static void put_samples(struct writer *writer)
{
	const struct pprof *profile = writer->profile;
	const struct pprof_sample_key *key;
	u32 i;

	for (i = 0; i < profile->samples.nr && !writer->err; i++) {
		key = intern__key(&profile->samples, i);
		add_locations(writer, key->stack);
		add_values(writer, key->event, intern__value(&profile->samples, i));
		add_labels(writer, key);
		put_message(writer, PROFILE_SAMPLE);
	}
}

/* ---- code */

/* A program: no kernel, nothing else without a file, and no shared library */
static bool is_program(const struct pprof *profile, u32 mapping)
{
	const struct pprof_mapping_key *key = intern__key(&profile->mappings, mapping);
	const char *file = intern__key(&profile->strings, key->file);

	return *file == '/' && !strstr(file, ".so") && !strstr(file, "//anon");
}

static u64 build_id_of(struct writer *writer, const struct pprof_mapping_key *key)
{
	char hex[2 * PPROF_MAX_BUILD_ID + 1] = "";
	u32 i;

	for (i = 0; i < key->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", key->build_id[i]);
	return text(writer, hex);
}

static void put_mapping(struct writer *writer, u32 mapping)
{
	const struct pprof_mapping_key *key = intern__key(&writer->profile->mappings, mapping);
	const struct pprof_mapping_value *value = intern__value(&writer->profile->mappings,
								mapping);
	struct protobuf *message = &writer->message;

	protobuf__add_number(message, MAPPING_ID, mapping + 1);
	protobuf__add_number(message, MAPPING_MEMORY_START, value->start);
	protobuf__add_number(message, MAPPING_MEMORY_LIMIT, value->start + key->size);
	protobuf__add_number(message, MAPPING_FILE_OFFSET, key->offset);
	protobuf__add_number(message, MAPPING_FILENAME, key->file);
	protobuf__add_number(message, MAPPING_BUILD_ID, build_id_of(writer, key));
	protobuf__add_number(message, MAPPING_HAS_FUNCTIONS, value->functions);
	protobuf__add_number(message, MAPPING_HAS_INLINE_FRAMES, value->inlined);
	put_message(writer, PROFILE_MAPPING);
}

/* The first one is what readers call the profile by: the first program, if there is one */
static void put_mappings(struct writer *writer)
{
	u32 i, main = 0, nr = writer->profile->mappings.nr;

	while (main < nr && !is_program(writer->profile, main))
		main++;
	if (main < nr)
		put_mapping(writer, main);
	for (i = 0; i < nr && !writer->err; i++) {
		if (i != main)
			put_mapping(writer, i);
	}
}

static u64 start_of(const struct pprof *profile, u32 mapping)
{
	const struct pprof_mapping_value *value;

	if (!mapping)
		return 0;
	value = intern__value(&profile->mappings, mapping - 1);
	return value->start;
}

static void put_location(struct writer *writer, u32 location)
{
	const struct pprof_location_key *key = intern__key(&writer->profile->locations, location);
	struct protobuf *message = &writer->message;
	u32 i;

	protobuf__add_number(message, LOCATION_ID, location + 1);
	protobuf__add_number(message, LOCATION_MAPPING_ID, key->mapping);
	protobuf__add_number(message, LOCATION_ADDRESS,
			     start_of(writer->profile, key->mapping) + key->address);
	for (i = 0; i < key->nr; i++) {
		protobuf__add_number(&writer->inner, LINE_FUNCTION_ID, key->functions[i] + 1);
		add_inner(writer, LOCATION_LINE);
	}
	put_message(writer, PROFILE_LOCATION);
}

static void put_function(struct writer *writer, u32 function)
{
	const u32 *name = intern__key(&writer->profile->functions, function);

	protobuf__add_number(&writer->message, FUNCTION_ID, function + 1);
	protobuf__add_number(&writer->message, FUNCTION_NAME, *name);
	protobuf__add_number(&writer->message, FUNCTION_SYSTEM_NAME, *name);
	put_message(writer, PROFILE_FUNCTION);
}

static void put_code(struct writer *writer)
{
	const struct pprof *profile = writer->profile;
	u32 i;

	put_mappings(writer);
	for (i = 0; i < profile->locations.nr && !writer->err; i++)
		put_location(writer, i);
	for (i = 0; i < profile->functions.nr && !writer->err; i++)
		put_function(writer, i);
}

/* ---- the rest */

static void put_times(struct writer *writer)
{
	put_number(writer, PROFILE_TIME_NANOS, writer->profile->time);
	put_number(writer, PROFILE_DURATION_NANOS, writer->profile->duration);
}

static void put_comments(struct writer *writer)
{
	const struct intern *comments = &writer->profile->comments;
	u32 i;

	for (i = 0; i < comments->nr; i++)
		put_number(writer, PROFILE_COMMENT, *(const u32 *)intern__key(comments, i));
}

/* What comes before it may add some */
static void put_strings(struct writer *writer)
{
	const struct intern *strings = &writer->profile->strings;
	u32 i;

	for (i = 0; i < strings->nr && !writer->err; i++) {
		protobuf__add_bytes(&writer->top, PROFILE_STRING_TABLE, intern__key(strings, i),
				    intern__key_len(strings, i) - 1);
		flush(writer);
	}
}

static gzFile open_file(FILE *out)
{
	int fd = dup(fileno(out));
	gzFile file = fd < 0 ? NULL : gzdopen(fd, "wb");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

int pprof__write(struct pprof *profile, FILE *out)
{
	struct writer writer = { .profile = profile, .file = open_file(out) };

	if (!writer.file)
		return -(errno ?: ENOMEM);
	errno = 0;
	count_events(&writer);
	put_types(&writer);
	put_samples(&writer);
	put_code(&writer);
	put_times(&writer);
	put_period(&writer);
	put_comments(&writer);
	put_strings(&writer);
	if (gzclose(writer.file) != Z_OK && !writer.err)
		writer.err = -(errno ?: EIO);
	protobuf__exit(&writer.message);
	protobuf__exit(&writer.inner);
	protobuf__exit(&writer.top);
	return writer.err;
}
