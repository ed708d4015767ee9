// SPDX-License-Identifier: GPL-2.0
/* Lengths of time as users write them; see duration.h */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include "duration.h"

static const struct {
	const char	*name;
	u64		ns;
} units[] = {
	{ "ns",	1 },
	{ "us",	NSEC_PER_USEC },
	{ "ms",	NSEC_PER_MSEC },
	{ "s",	NSEC_PER_SEC },
	{ "m",	60 * NSEC_PER_SEC },
	{ "h",	3600 * NSEC_PER_SEC },
};

/* The unit that @str begins with, up to the next character that isn't a letter; 0: none */
static u64 unit_of(const char *str, size_t *len)
{
	size_t i;

	for (*len = 0; isalpha(str[*len]); (*len)++)
		;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == *len && !strncmp(str, units[i].name, *len))
			return units[i].ns;
	}
	return 0;
}

int duration__parse(const char *str, const char **end, u64 *ns)
{
	unsigned long long number;
	size_t len;
	char *rest;
	u64 unit;

	if (!isdigit(*str))
		return -EINVAL;
	errno = 0;
	number = strtoull(str, &rest, 10);
	unit = unit_of(rest, &len);
	if (!unit)
		return -EINVAL;
	if (!number || errno || number > INT64_MAX / unit)
		return -ERANGE;
	*ns = number * unit;
	*end = rest + len;
	return 0;
}
