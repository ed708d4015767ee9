/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parsers of Intel PT that pt_check asks.
 *
 * A lexer divides the stream into packets. A follower reads packets in their order, and
 * rejects those that can't follow each other. Both begin at the first PSB. An incomplete
 * packet at the end is no fault.
 */
#ifndef PARSERS_H
#define PARSERS_H

#include "packets.h"

struct stream {
	const char *path;
	const unsigned char *bytes;
	size_t size;
};

struct verdict {
	struct packets packets;		/* empty if it is a follower's */
	bool rejected;
	uint64_t offset;		/* where it stopped, or of the packet that it rejects */
	char why[200];
};

/* They fill in a verdict that is all zero. */
void lex_selftest(const struct stream *stream, struct verdict *verdict);
void lex_libipt(const struct stream *stream, struct verdict *verdict);
void lex_perf(const struct stream *stream, struct verdict *verdict);
void follow_selftest(const struct stream *stream, struct verdict *verdict);
void follow_libipt(const struct stream *stream, struct verdict *verdict);
void follow_perf(const struct stream *stream, struct verdict *verdict);

#define reject(verdict, at, fmt, ...) do {				\
	(verdict)->rejected = true;					\
	(verdict)->offset = (at);					\
	snprintf((verdict)->why, sizeof((verdict)->why), fmt, ##__VA_ARGS__); \
} while (0)

#endif
