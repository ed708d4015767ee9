// SPDX-License-Identifier: GPL-2.0
/* Names as JSON strings; see json-text.h */
#include <stdbool.h>
#include <string.h>
#include <linux/types.h>
#include "json-text.h"

#define REPLACEMENT	"\\ufffd"

/* Is it the shortest form of a character that UTF-8 may have? */
static bool is_character(u32 code, size_t len)
{
	static const u32 lowest[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
	bool surrogate = code >= 0xd800 && code <= 0xdfff;

	return code >= lowest[len] && code <= 0x10ffff && !surrogate;
}

/* The length of the UTF-8 character at @s, 0 if there is none. Reads no byte behind a NUL. */
static size_t character(const unsigned char *s)
{
	size_t len = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	u32 code = *s & (0x7f >> len);
	size_t i;

	if (*s < 0x80)
		return 1;
	if (*s < 0xc0 || *s > 0xf7)
		return 0;
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	return is_character(code, len) ? len : 0;
}

/* So many bytes stand in JSON as they are */
static size_t plain(const unsigned char *s)
{
	size_t len = 0, n;

	while (s[len] >= 0x20 && s[len] != '"' && s[len] != '\\') {
		n = character(s + len);
		if (!n)
			break;
		len += n;
	}
	return len;
}

static size_t put_escaped(FILE *out, unsigned char c)
{
	char buf[8];

	if (c >= 0x80)
		snprintf(buf, sizeof(buf), REPLACEMENT);
	else if (c < 0x20)
		snprintf(buf, sizeof(buf), "\\u%04x", c);
	else
		snprintf(buf, sizeof(buf), "\\%c", c);
	fputs(buf, out);
	return strlen(buf);
}

size_t json_text__put(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size = 2, len;

	putc('"', out);
	while (*s) {
		len = plain(s);
		if (len) {
			size += fwrite(s, 1, len, out);
			s += len;
		} else {
			size += put_escaped(out, *s++);
		}
	}
	putc('"', out);
	return size;
}
