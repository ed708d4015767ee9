/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_LINE_H
#define __PERF_TRIGGER_LINE_H 1

/*
 * Lines that programs write to the socket of perf record --trigger-socket
 *
 *	NAME				fire this trigger; the answer comes at once
 *	wait NAME [TIME] [REASON]	likewise, with the samples of so long, and with a reason;
 *					the answer comes when the dump is complete
 *	status				what is recorded, and what was dumped
 *
 * So no trigger for the socket can have the name TRIGGER_LINE_STATUS.
 */
#include <linux/types.h>
#include "trigger-parse.h"

#define TRIGGER_LINE_STATUS	"status"
#define TRIGGER_LINE_WAIT	"wait "

/* It is a part of the file's name */
#define TRIGGER_LINE_MAX_REASON	64

enum trigger_verb {
	TRIGGER_FIRE,
	TRIGGER_WAIT,
	TRIGGER_STATUS,
};

/**
 * struct trigger_line - What a line says
 * @name:   of the trigger, not for TRIGGER_STATUS
 * @span:   nanoseconds, 0: all
 * @reason: printable ASCII, a part of the line that was parsed; can be ""
 */
struct trigger_line {
	enum trigger_verb	verb;
	char			name[DUMP_TRIGGER_MAX_NAME + 1];
	u64			span;
	const char		*reason;
};

/* Return NULL, or what is wrong with it. Such a name may be that of no trigger. */
const char *trigger_line__parse(struct trigger_line *line, const char *str);
/* Likewise of "[TIME] [REASON]" */
const char *trigger_line__parse_span(struct trigger_line *line, const char *str);

#endif /* __PERF_TRIGGER_LINE_H */
