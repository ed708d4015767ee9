/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_PROTOBUF_H
#define __PERF_PROTOBUF_H 1

/*
 * A message in the encoding of protocol buffers: numbers, and what has a length. That is all
 * that the formats which perf writes have.
 *
 * A number that is 0, a text that is empty and a message without fields are what a reader
 * takes for granted, so the caller may leave them out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct protobuf - A message that is being made, or a part of one
 * @failed: there was no memory; what is there isn't whole
 */
struct protobuf {
	unsigned char	*data;
	size_t		len;
	size_t		size;
	bool		failed;
};

/* It must be all zeroes before. Its memory is used again after reset. */
void protobuf__reset(struct protobuf *message);
void protobuf__exit(struct protobuf *message);

/* A number alone: one of a packed field, which is added as bytes */
void protobuf__add_varint(struct protobuf *message, u64 value);

/* Fields. A negative number is as long as a u64. */
void protobuf__add_number(struct protobuf *message, unsigned int field, u64 value);
void protobuf__add_bytes(struct protobuf *message, unsigned int field, const void *data,
			 size_t len);
void protobuf__add_message(struct protobuf *message, unsigned int field,
			   const struct protobuf *inner);

#endif /* __PERF_PROTOBUF_H */
