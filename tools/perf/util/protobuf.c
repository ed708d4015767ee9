// SPDX-License-Identifier: GPL-2.0
/* The encoding of protocol buffers; see protobuf.h */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "protobuf.h"

#define MIN_SIZE	64

enum wire_type {
	WIRE_VARINT	= 0,
	WIRE_LENGTH	= 2,
};

void protobuf__reset(struct protobuf *message)
{
	message->len = 0;
	message->failed = false;
}

void protobuf__exit(struct protobuf *message)
{
	zfree(&message->data);
	message->size = 0;
	protobuf__reset(message);
}

static void append(struct protobuf *message, const void *data, size_t len)
{
	size_t size = max((size_t)MIN_SIZE, 2 * (message->len + len));
	unsigned char *larger;

	if (message->failed || !len)
		return;
	if (message->len + len > message->size) {
		larger = realloc(message->data, size);
		if (!larger) {
			message->failed = true;
			return;
		}
		message->data = larger;
		message->size = size;
	}
	memcpy(message->data + message->len, data, len);
	message->len += len;
}

/* Seven bits in each byte, the lowest ones first; the eighth says that there are more */
void protobuf__add_varint(struct protobuf *message, u64 value)
{
	unsigned char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = value | 0x80;
	bytes[len++] = value;
	append(message, bytes, len);
}

static void add_tag(struct protobuf *message, unsigned int field, enum wire_type type)
{
	protobuf__add_varint(message, field << 3 | type);
}

void protobuf__add_number(struct protobuf *message, unsigned int field, u64 value)
{
	add_tag(message, field, WIRE_VARINT);
	protobuf__add_varint(message, value);
}

void protobuf__add_bytes(struct protobuf *message, unsigned int field, const void *data,
			 size_t len)
{
	add_tag(message, field, WIRE_LENGTH);
	protobuf__add_varint(message, len);
	append(message, data, len);
}

void protobuf__add_message(struct protobuf *message, unsigned int field,
			   const struct protobuf *inner)
{
	message->failed |= inner->failed;
	protobuf__add_bytes(message, field, inner->data, inner->len);
}
