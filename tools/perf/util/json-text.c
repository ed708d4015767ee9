// SPDX-License-Identifier: GPL-2.0
/* Names as JSON strings; see json-text.h */
#include <string.h>
#include "json-text.h"
#include "utf8.h"

#define REPLACEMENT	"\\ufffd"

/* So many bytes stand in JSON as they are */
static size_t plain(const unsigned char *s)
{
	size_t len = 0, n;

	while (s[len] >= 0x20 && s[len] != '"' && s[len] != '\\') {
		n = utf8__character((const char *)s + len);
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
