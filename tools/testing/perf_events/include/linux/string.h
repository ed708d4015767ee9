/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_STRING_H
#define _LINUX_STRING_H

#include <stdbool.h>
#include <string.h>

static inline bool strstarts(const char *str, const char *prefix)
{
	return !strncmp(str, prefix, strlen(prefix));
}

#endif
