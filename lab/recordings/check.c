// SPDX-License-Identifier: GPL-2.0
/*
 * pt_check: do all our parsers of Intel PT accept a raw stream, and agree on it? See usage().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../trace-test/perf_file.h"
#include "parsers.h"

#define CONTEXT_PACKETS	8
#define CONTEXT_BYTES	16

/* libxdc and kAFL end a recording with such bytes. No packet begins with one. */
#define TRAILER		0x55

static const struct parser {
	const char *name;
	void (*parse)(const struct stream *stream, struct verdict *verdict);
	bool lexer;
} parsers[] = {
	{ "libipt-packets",	lex_libipt,		true },
	{ "selftest-packets",	lex_selftest,		true },
	{ "perf-packets",	lex_perf,		true },
	{ "selftest-stream",	follow_selftest,	false },
	{ "libipt-query",	follow_libipt,	false },
	{ "perf-decoder",	follow_perf,	false },
};

#define PARSERS	(sizeof(parsers) / sizeof(*parsers))
/* The one whose packets have all that the others say */
#define REFERENCE	0

/* One row for what precedes the first packet */
static uint64_t transitions[PACKET_TYPES + 1][PACKET_TYPES];

/* ---- the stream */

/* Is there only the recorder's trailer from @offset on? */
static bool is_trailer(const struct stream *stream, uint64_t offset)
{
	uint64_t at = offset;

	while (at < stream->size && stream->bytes[at] == TRAILER)
		at++;
	return at > offset && at == stream->size;
}

static void ask(const struct stream *stream, struct verdict *verdicts)
{
	memset(verdicts, 0, PARSERS * sizeof(*verdicts));
	for (size_t i = 0; i < PARSERS; i++) {
		parsers[i].parse(stream, &verdicts[i]);
		if (is_trailer(stream, verdicts[i].offset))
			verdicts[i].rejected = false;
	}
}

/* ---- what is wrong with it */

static void print_packet(const char *mark, const struct packet *packet)
{
	char text[PACKET_TEXT];

	packet_text(packet, text);
	printf("%s0x%" PRIx64 " %s\n", mark, packet->offset, text);
}

/* The packets before @offset, without padding, as far as @packets has them */
static void print_packets_before(const struct packets *packets, uint64_t offset)
{
	size_t last = packets->nr, first, found = 0;

	while (last && packets->packet[last - 1].offset >= offset)
		last--;
	for (first = last; first && found < CONTEXT_PACKETS; first--)
		found += packets->packet[first - 1].type != PACKET_PAD;
	for (; first < last; first++)
		if (packets->packet[first].type != PACKET_PAD)
			print_packet("    ", &packets->packet[first]);
}

static void print_bytes(const struct stream *stream, uint64_t from, uint64_t to)
{
	for (; from < to && from < stream->size; from++)
		printf(" %02x", stream->bytes[from]);
}

static void print_context(const struct stream *stream, const struct packets *packets,
			  uint64_t offset)
{
	print_packets_before(packets, offset);
	printf("    0x%" PRIx64 " bytes:", offset);
	print_bytes(stream, offset > CONTEXT_BYTES ? offset - CONTEXT_BYTES : 0, offset);
	printf(" >");
	print_bytes(stream, offset, offset + CONTEXT_BYTES);
	printf("\n");
}

/* The most packets can show what is before any fault. */
static const struct packets *longest(const struct verdict *verdicts)
{
	const struct packets *packets = &verdicts[REFERENCE].packets;

	for (size_t i = 0; i < PARSERS; i++)
		if (verdicts[i].packets.nr > packets->nr)
			packets = &verdicts[i].packets;
	return packets;
}

static bool report_rejections(const struct stream *stream, const struct verdict *verdicts)
{
	bool rejected = false;

	for (size_t i = 0; i < PARSERS; i++) {
		const struct verdict *verdict = &verdicts[i];

		if (!verdict->rejected)
			continue;
		printf("  %s rejects it at 0x%" PRIx64 ": %s\n", parsers[i].name,
		       verdict->offset, verdict->why);
		print_context(stream, longest(verdicts), verdict->offset);
		rejected = true;
	}
	return rejected;
}

static void print_side(const char *name, const struct packets *packets, size_t i)
{
	printf("    %s: ", name);
	if (i < packets->nr)
		print_packet("", &packets->packet[i]);
	else
		printf("no packet\n");
}

/* The first packet that the reference and @other see differently */
static bool report_disagreement(const struct stream *stream, const struct verdict *verdicts,
				size_t other)
{
	const struct packets *a = &verdicts[REFERENCE].packets, *b = &verdicts[other].packets;
	uint64_t offset;
	size_t i = 0;

	while (i < a->nr && i < b->nr && packet_same(&a->packet[i], &b->packet[i]))
		i++;
	if (i == a->nr && i == b->nr)
		return false;

	offset = i < a->nr ? a->packet[i].offset : b->packet[i].offset;
	printf("  %s and %s disagree at 0x%" PRIx64 "\n", parsers[REFERENCE].name,
	       parsers[other].name, offset);
	print_context(stream, a, offset);
	print_side(parsers[REFERENCE].name, a, i);
	print_side(parsers[other].name, b, i);
	return true;
}

static bool report_disagreements(const struct stream *stream, const struct verdict *verdicts)
{
	bool disagree = false;

	for (size_t i = 0; i < PARSERS; i++)
		if (parsers[i].lexer)
			disagree |= report_disagreement(stream, verdicts, i);
	return disagree;
}

/* ---- what is in it */

static void print_counts(const struct packets *packets)
{
	size_t counts[PACKET_TYPES] = { 0 };

	for (size_t i = 0; i < packets->nr; i++)
		counts[packets->packet[i].type]++;
	printf(" ");
	for (enum packet_type type = 0; type < PACKET_TYPES; type++)
		if (counts[type])
			printf(" %s %zu", packet_name(type), counts[type]);
	printf("\n");
}

static void print_summary(const struct stream *stream, const struct verdict *verdict)
{
	const struct packets *packets = &verdict->packets;
	uint64_t rest = stream->size - verdict->offset;

	printf("%s: %zu bytes, %zu packets", stream->path, stream->size, packets->nr);
	if (packets->nr && packets->packet[0].offset)
		printf(", the first PSB at 0x%" PRIx64, packets->packet[0].offset);
	if (is_trailer(stream, verdict->offset))
		printf(", a recorder's trailer of %" PRIu64, rest);
	else if (rest && !verdict->rejected)
		printf(", %" PRIu64 " bytes of an incomplete packet", rest);
	printf("\n");
	print_counts(packets);
}

/* Padding says nothing: what it separates follows each other. */
static void count_transitions(const struct packets *packets)
{
	enum packet_type last = PACKET_TYPES;

	for (size_t i = 0; i < packets->nr; i++) {
		enum packet_type type = packets->packet[i].type;

		if (type == PACKET_PAD)
			continue;
		transitions[last][type]++;
		last = type;
	}
}

/* Each pair once: number, how often the first is followed by the second, the pair */
static void print_transitions(void)
{
	for (enum packet_type from = 0; from < PACKET_TYPES; from++) {
		uint64_t sum = 0;

		for (enum packet_type to = 0; to < PACKET_TYPES; to++)
			sum += transitions[from][to];
		for (enum packet_type to = 0; to < PACKET_TYPES; to++)
			if (transitions[from][to])
				printf("%s\t%s\t%" PRIu64 "\t%.4f\n", packet_name(from),
				       packet_name(to), transitions[from][to],
				       (double)transitions[from][to] / sum);
	}
}

/* ---- modes */

static bool check(const struct stream *stream)
{
	struct verdict verdicts[PARSERS];
	bool bad;

	ask(stream, verdicts);
	print_summary(stream, &verdicts[REFERENCE]);
	if (!longest(verdicts)->nr) {
		printf("  there is no PSB in it: is it Intel PT?\n");
		return false;
	}
	bad = report_rejections(stream, verdicts);
	bad |= report_disagreements(stream, verdicts);
	if (!bad)
		printf("  all parsers accept it, and agree\n");
	for (size_t i = 0; i < PARSERS; i++)
		free(verdicts[i].packets.packet);
	return !bad;
}

static bool list(const struct stream *stream)
{
	struct verdict verdict = { 0 };

	lex_libipt(stream, &verdict);
	for (size_t i = 0; i < verdict.packets.nr; i++)
		print_packet("", &verdict.packets.packet[i]);
	free(verdict.packets.packet);
	return !verdict.rejected;
}

static bool count(const struct stream *stream)
{
	struct verdict verdict = { 0 };

	lex_libipt(stream, &verdict);
	count_transitions(&verdict.packets);
	free(verdict.packets.packet);
	return !verdict.rejected;
}

/* ---- files */

/* Each run of bytes without a gap is a stream of its own. */
static bool check_perf_file(const char *path, bool (*mode)(const struct stream *stream))
{
	struct perf_file file = { 0 };
	bool good = true;
	char name[200];

	perf_file_read(&file, path);
	for (size_t i = 0; i < file.nr_streams; i++) {
		const struct perf_stream *perf = &file.streams[i];
		struct stream stream = { .path = name, .bytes = perf->bytes, .size = perf->size };

		snprintf(name, sizeof(name), "%s, AUX area %u from 0x%" PRIx64, path, perf->idx,
			 perf->offset);
		if (stream.size)
			good &= mode(&stream);
	}
	if (!file.nr_streams)
		die("%s: no AUX area data in it", path);
	return good;
}

static bool check_file(const char *path, bool (*mode)(const struct stream *stream))
{
	static const char magic[] = "PERFILE2";
	struct stream stream = { .path = path };
	FILE *f = fopen(path, "rb");
	struct stat st;
	bool good;

	if (!f || fstat(fileno(f), &st))
		die("%s: %s", path, strerror(errno));
	if (!st.st_size)
		die("%s: empty", path);
	stream.size = st.st_size;
	stream.bytes = mmap(NULL, stream.size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	if (stream.bytes == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	fclose(f);
	if (stream.size >= strlen(magic) && !memcmp(stream.bytes, magic, strlen(magic)))
		good = check_perf_file(path, mode);
	else
		good = mode(&stream);
	munmap((void *)stream.bytes, stream.size);
	return good;
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: pt_check [--list | --transitions] FILE...\n"
		"\n"
		"Asks all our parsers about streams of Intel PT, raw or in a perf.data file: does\n"
		"each accept the stream, and do they see the same packets? Prints numbers of packets by type,\n"
		"the first byte that a parser rejects with what is around it, and the first\n"
		"packet that two parsers see differently.\n"
		"\n"
		"  --list         libipt's packets, as pt_write reads them, after their offset\n"
		"  --transitions  which packet follows which, over all streams, without padding:\n"
		"                 first, second, number, share of what follows the first\n"
		"\n"
		"Exit status: 0; 1 for a rejection or a disagreement; 2 if a file can't be read.\n");
}

int main(int argc, char **argv)
{
	bool (*mode)(const struct stream *stream) = check;
	bool good = true;
	int first = 1;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc > 1 && (!strcmp(argv[1], "--list") || !strcmp(argv[1], "--transitions"))) {
		mode = argv[1][2] == 'l' ? list : count;
		first++;
	}
	if (argc <= first || argv[first][0] == '-') {
		usage(stderr);
		return 2;
	}

	for (int i = first; i < argc; i++)
		good &= check_file(argv[i], mode);
	if (mode == count)
		print_transitions();
	return good ? 0 : 1;
}
