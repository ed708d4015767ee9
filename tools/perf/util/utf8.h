/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_UTF8_H
#define __PERF_UTF8_H 1

/* Comms and file names can have any bytes. Formats that have to be UTF-8 can't. */
#include <stddef.h>

/* The length of the UTF-8 character at @s, 0 if there is none. Reads no byte behind a NUL. */
size_t utf8__character(const char *s);

#endif /* __PERF_UTF8_H */
