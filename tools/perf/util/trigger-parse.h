/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_PARSE_H
#define __PERF_TRIGGER_PARSE_H 1

/*
 * Triggers of perf record -M, as the user writes them: NAME:CONDITION
 *
 * A CONDITION is one of
 *
 *	EVENT				it occurs
 *	EVENT,count=N,within=TIME	it occurs N times within TIME
 *	ENTRY..EXIT,longer=TIME		a thread takes longer than TIME from ENTRY to EXIT
 *	socket				a program asks for it, see trigger-socket.h
 */
#include <linux/types.h>
#include <stddef.h>

/* A name is a part of a file's name, and of a line on a control descriptor */
#define DUMP_TRIGGER_MAX_NAME	40

/**
 * struct dump_trigger - A trigger
 * @name:	what the user calls it
 * @condition:	as it was written
 * @event:	the event that occurs, or the entry of a pair; NULL: a program asks
 * @exit:	the other one of a pair, else NULL
 * @longer:	nanoseconds that a pair must exceed
 * @count:	so many occurrences of @event, 1 if no number was given
 * @within:	nanoseconds from the first of them to the last, 0 if @count is 1
 */
struct dump_trigger {
	char	*name;
	char	*condition;
	char	*event;
	char	*exit;
	u64	longer;
	u64	count;
	u64	within;
};

/**
 * dump_trigger__parse - Parse one
 * @error: what is wrong and how to write it, if it fails
 *
 * Return 0, or -EINVAL or -ENOMEM. Call dump_trigger__exit() only after a success.
 */
int dump_trigger__parse(struct dump_trigger *trigger, const char *str, char *error,
			size_t size);
void dump_trigger__exit(struct dump_trigger *trigger);

#endif /* __PERF_TRIGGER_PARSE_H */
