// SPDX-License-Identifier: GPL-2.0
/* Is it UTF-8? See utf8.h */
#include <stdbool.h>
#include <linux/types.h>
#include "utf8.h"

/* Is it the shortest form of a character that UTF-8 may have? */
static bool is_character(u32 code, size_t len)
{
	static const u32 lowest[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
	bool surrogate = code >= 0xd800 && code <= 0xdfff;

	return code >= lowest[len] && code <= 0x10ffff && !surrogate;
}

size_t utf8__character(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
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
