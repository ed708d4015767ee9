// SPDX-License-Identifier: GPL-2.0
/* Marks of dumps; see picture.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "picture.h"

#define DUMP		"dump"
#define MAX_NAME	64

/* "trigger NAME: CONDITION: ..." */
static void name_of(const char *why, char *name)
{
	char next;

	if (sscanf(why, "trigger %63[^: ]%c", name, &next) != 2 || next != ':')
		strcpy(name, DUMP);
}

/* "... at SECONDS.NANOSECONDS", with more behind it. The condition is before it. 0: none */
static u64 time_of(const char *why)
{
	u64 sec, ns, time = 0;
	int digits, len;

	while ((why = strstr(why, " at "))) {
		why += strlen(" at ");
		if (sscanf(why, "%" SCNu64 ".%n%9" SCNu64 "%n", &sec, &digits, &ns, &len) == 2 &&
		    len - digits == 9)
			time = sec * NSEC_PER_SEC + ns;
	}
	return time;
}

int picture__mark_dump(struct picture *picture, const char *why, u64 end)
{
	struct picture_cpu *row = picture__cpu(picture, -1);
	u64 time = time_of(why);
	char name[MAX_NAME];

	if (!row)
		return -ENOMEM;
	if (time < picture->events.origin || time > end)
		time = end;
	if (picture__range(picture, time) < 0)
		return 0;
	name_of(why, name);
	return min(trace_events__mark_all(&picture->events, &row->row, time, name, why), 0);
}
