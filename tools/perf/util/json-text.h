/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_JSON_TEXT_H
#define __PERF_JSON_TEXT_H 1

/* Names as JSON strings, whatever bytes they have: comms and file names can have any */
#include <stddef.h>
#include <stdio.h>

/**
 * json_text__put - Write a JSON string, with its quotes
 *
 * What isn't UTF-8 becomes U+FFFD, one for each byte, as JSON has nothing else for it.
 *
 * Return the number of bytes. An error is one of the stream's: see ferror().
 */
size_t json_text__put(FILE *out, const char *text);

#endif /* __PERF_JSON_TEXT_H */
