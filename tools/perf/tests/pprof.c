// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles for pprof.
 *
 * Expected: messages have the bytes that protocol buffers define; equal samples, stacks and
 * files are there once, with the right sums; and all of it is in the file. A byte that is
 * wrong, a sample that is counted twice or not at all, or an error that isn't reported fails here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <linux/kernel.h>
#include "debug.h"
#include "intern.h"
#include "pprof.h"
#include "protobuf.h"
#include "tests.h"

#define CHECK(cond)	TEST_ASSERT_VAL(#cond, cond)

#define MANY		10000
#define MAX_FIELD	15

/* ---- the encoding */

static bool has_bytes(const struct protobuf *message, const char *bytes, size_t len)
{
	return !message->failed && message->len == len && !memcmp(message->data, bytes, len);
}

static int check_varint(u64 value, const char *bytes, size_t len)
{
	struct protobuf message = { .len = 0 };

	protobuf__add_varint(&message, value);
	CHECK(has_bytes(&message, bytes, len));
	protobuf__exit(&message);
	return TEST_OK;
}

static int test_varints(void)
{
	CHECK(!check_varint(0, "\x00", 1));
	CHECK(!check_varint(127, "\x7f", 1));
	CHECK(!check_varint(128, "\x80\x01", 2));
	CHECK(!check_varint(300, "\xac\x02", 2));
	CHECK(!check_varint(-1ULL, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
	return TEST_OK;
}

static int test_message(void)
{
	struct protobuf message = { .len = 0 }, inner = { .len = 0 };

	protobuf__add_number(&inner, 1, 150);
	CHECK(has_bytes(&inner, "\x08\x96\x01", 3));
	protobuf__add_bytes(&message, 2, "testing", 7);
	protobuf__add_message(&message, 3, &inner);
	protobuf__add_number(&message, 16, 1);
	CHECK(has_bytes(&message, "\x12\x07testing\x1a\x03\x08\x96\x01\x80\x01\x01", 17));
	protobuf__reset(&message);
	CHECK(!message.len);
	inner.failed = true;
	protobuf__add_message(&message, 3, &inner);
	CHECK(message.failed);
	protobuf__exit(&inner);
	protobuf__exit(&message);
	return TEST_OK;
}

/* ---- keys */

static int test_keys(void)
{
	struct intern set = { .value_size = sizeof(u64) };
	u64 key, *value;
	int i;

	for (i = 0; i < MANY; i++) {
		key = i * 7919ULL;
		/* All but the last byte of it: keys of an odd length */
		CHECK(intern__add(&set, &key, sizeof(key) - 1) == i);
		value = intern__value(&set, i);
		CHECK(!*value);
		*value = i;
	}
	for (i = 0; i < MANY; i++) {
		key = i * 7919ULL;
		CHECK(intern__add(&set, &key, sizeof(key) - 1) == i);
		CHECK(!memcmp(intern__key(&set, i), &key, sizeof(key) - 1));
		CHECK(intern__key_len(&set, i) == sizeof(key) - 1);
		CHECK(*(u64 *)intern__value(&set, i) == (u64)i);
	}
	CHECK(set.nr == MANY);
	/* The beginning of a key is another one */
	CHECK(intern__add(&set, &key, 1) == MANY);
	intern__exit(&set);
	return TEST_OK;
}

/* ---- profiles */

static const u8 build_id[] = { 0x12, 0x34 };

static int add_mapping(struct pprof *profile, u64 start, size_t build_id_size)
{
	struct pprof_mapping mapping = {
		.start		= start,
		.limit		= start + 0x1000,
		.file		= "/bin/f",
		.build_id	= build_id,
		.build_id_size	= build_id_size,
	};

	return pprof__mapping(profile, &mapping);
}

static int add_sample(struct pprof *profile, int event, int stack, const char *comm, u64 period)
{
	struct pprof_sample sample = {
		.event	= event,
		.stack	= stack,
		.comm	= comm,
		.pid	= 1,
		.tid	= 2,
		.cpu	= 0,
		.period	= period,
	};

	return pprof__sample(profile, &sample);
}

static int test_same(void)
{
	const struct pprof_sum *sum;
	struct pprof profile;
	int f, inner[2], location, stack, sample;

	CHECK(!pprof__init(&profile));
	CHECK(pprof__event(&profile, "unused", "count") == 0);
	CHECK(pprof__event(&profile, "clock", "nanoseconds") == 1);
	f = add_mapping(&profile, 0x1000, sizeof(build_id));
	CHECK(add_mapping(&profile, 0x5000, sizeof(build_id)) == f);
	CHECK(add_mapping(&profile, 0x1000, 0) != add_mapping(&profile, 0x5000, 0));
	inner[0] = pprof__function(&profile, "inlined");
	inner[1] = pprof__function(&profile, "f");
	CHECK(pprof__function(&profile, "inlined") == inner[0]);
	location = pprof__location(&profile, f, 0x10, inner, 2);
	CHECK(pprof__location(&profile, f, 0x10, inner, 2) == location);
	CHECK(pprof__location(&profile, f, 0x11, inner, 2) != location);
	stack = pprof__stack(&profile, PPROF_NONE, location);
	CHECK(pprof__stack(&profile, PPROF_NONE, location) == stack);
	CHECK(pprof__stack(&profile, stack, location) != stack);
	sample = add_sample(&profile, 1, stack, "comm", 10);
	CHECK(add_sample(&profile, 1, stack, "comm", 20) == sample);
	CHECK(add_sample(&profile, 1, stack, "another", 40) != sample);
	sum = intern__value(&profile.samples, sample);
	CHECK(sum->samples == 2 && sum->period == 30);
	sum = intern__value(&profile.events, 1);
	CHECK(sum->samples == 3 && sum->period == 70);
	pprof__exit(&profile);
	return TEST_OK;
}

static int check_text(const char *text, const char *wanted)
{
	struct pprof profile;
	int number;

	CHECK(!pprof__init(&profile));
	number = pprof__string(&profile, text);
	CHECK(number >= 0);
	CHECK(!strcmp(intern__key(&profile.strings, number), wanted));
	pprof__exit(&profile);
	return TEST_OK;
}

static int test_texts(void)
{
	CHECK(!check_text("", ""));
	CHECK(!check_text("k\xc3\xa4se\n", "k\xc3\xa4se\n"));
	CHECK(!check_text("\xffx\xc3", "\xef\xbf\xbdx\xef\xbf\xbd"));
	return TEST_OK;
}

/* ---- files */

static int fill(struct pprof *profile)
{
	int event, mapping, function, location, stack = PPROF_NONE, i;
	char name[16];

	CHECK(!pprof__init(profile));
	profile->duration = 5;
	event = pprof__event(profile, "clock", "nanoseconds");
	CHECK(pprof__comment(profile, "a comment") >= 0);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		function = pprof__function(profile, name);
		mapping = add_mapping(profile, 0x1000, 2);
		location = pprof__location(profile, mapping, i, &function, 1);
		stack = pprof__stack(profile, i % 10 ? stack : PPROF_NONE, location);
		CHECK(add_sample(profile, event, stack, "comm", i) == i);
	}
	return TEST_OK;
}

static u64 read_varint(gzFile file)
{
	u64 value = 0;
	int byte, shift = 0;

	do {
		byte = gzgetc(file);
		value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte > 0 && byte & 0x80);
	return value;
}

/* So many fields of each number are there, and no other ones */
static int count_fields(gzFile file, u64 *fields)
{
	u64 tag, value;
	int c;

	while ((c = gzgetc(file)) >= 0) {
		CHECK(gzungetc(c, file) == c);
		tag = read_varint(file);
		CHECK(tag >> 3 <= MAX_FIELD);
		fields[tag >> 3]++;
		value = read_varint(file);
		CHECK((tag & 7) == 0 || (tag & 7) == 2);
		if ((tag & 7) == 2)
			CHECK(gzseek(file, value, SEEK_CUR) >= 0);
	}
	CHECK(gzeof(file));
	return TEST_OK;
}

static int test_file(void)
{
	u64 fields[MAX_FIELD + 1] = { 0 };
	struct pprof profile;
	FILE *out = tmpfile();
	gzFile file;

	CHECK(out);
	CHECK(!fill(&profile));
	CHECK(!pprof__write(&profile, out));
	CHECK(!lseek(fileno(out), 0, SEEK_SET));
	file = gzdopen(dup(fileno(out)), "rb");
	CHECK(file);
	CHECK(!count_fields(file, fields));
	CHECK(gzclose(file) == Z_OK);
	fclose(out);
	/* sample types, samples, a mapping, locations, functions, texts */
	CHECK(fields[1] == 2 && fields[2] == MANY && fields[3] == 1);
	CHECK(fields[4] == MANY && fields[5] == MANY && fields[6] == profile.strings.nr);
	CHECK(fields[10] == 1 && fields[11] == 1 && fields[12] == 1 && fields[13] == 1);
	CHECK(fields[14] == 1);
	pprof__exit(&profile);
	return TEST_OK;
}

static int test_full(void)
{
	FILE *out = fopen("/dev/full", "w");
	struct pprof profile;

	CHECK(out);
	CHECK(!fill(&profile));
	CHECK(pprof__write(&profile, out) == -ENOSPC);
	fclose(out);
	pprof__exit(&profile);
	return TEST_OK;
}

static int test__pprof(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	CHECK(!test_varints());
	CHECK(!test_message());
	CHECK(!test_keys());
	CHECK(!test_same());
	CHECK(!test_texts());
	CHECK(!test_file());
	CHECK(!test_full());
	return TEST_OK;
}

DEFINE_SUITE("Profiles for pprof", pprof);
