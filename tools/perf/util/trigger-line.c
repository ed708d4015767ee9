// SPDX-License-Identifier: GPL-2.0
/* Lines that programs write to the socket of perf record --trigger-socket; see trigger-line.h */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/stringify.h>
#include "duration.h"
#include "trigger-line.h"

#define SPACE	' '
#define TILDE	'~'

static const char *check_reason(const char *reason)
{
	size_t i;

	for (i = 0; reason[i]; i++) {
		if (reason[i] < SPACE || reason[i] > TILDE)
			return "the reason is not a line of printable ASCII";
	}
	return i > TRIGGER_LINE_MAX_REASON ?
	       "the reason is longer than " __stringify(TRIGGER_LINE_MAX_REASON) " characters" :
	       NULL;
}

static const char *skip_spaces_of(const char *str)
{
	return str + strspn(str, " ");
}

const char *trigger_line__parse_span(struct trigger_line *line, const char *str)
{
	const char *end = str;

	line->span = 0;
	str = skip_spaces_of(str);
	switch (duration__parse(str, &end, &line->span)) {
	case 0:
		/* Else it is a reason that begins as a time does */
		if (*end && *end != SPACE)
			line->span = 0;
		else
			str = skip_spaces_of(end);
		break;
	case -ERANGE:
		return "the time is out of range";
	default:
		break;
	}
	line->reason = str;
	return check_reason(str);
}

static const char *parse_name(struct trigger_line *line, const char *str, size_t len)
{
	if (!len || len > DUMP_TRIGGER_MAX_NAME)
		return "there is no such trigger for the socket";
	memcpy(line->name, str, len);
	line->name[len] = '\0';
	return NULL;
}

const char *trigger_line__parse(struct trigger_line *line, const char *str)
{
	const char *why;
	size_t len;

	*line = (struct trigger_line){ .verb = TRIGGER_FIRE, .reason = "" };
	if (!strcmp(str, TRIGGER_LINE_STATUS)) {
		line->verb = TRIGGER_STATUS;
		return NULL;
	}
	if (strncmp(str, TRIGGER_LINE_WAIT, strlen(TRIGGER_LINE_WAIT)))
		return parse_name(line, str, strlen(str));
	line->verb = TRIGGER_WAIT;
	str = skip_spaces_of(str + strlen(TRIGGER_LINE_WAIT));
	len = strcspn(str, " ");
	why = parse_name(line, str, len);
	return why ?: trigger_line__parse_span(line, str + len);
}
