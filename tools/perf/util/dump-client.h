/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_CLIENT_H
#define __PERF_DUMP_CLIENT_H 1

/* Ask a running perf record --trigger-socket; see trigger-socket.h */
#include <stdio.h>

/* Where the service of a distribution has its socket */
#define DUMP_CLIENT_SOCKET	"/run/perf-flight-recorder/socket"

/* Exit codes: those of init scripts for 'not running' and 'no permission' */
#define DUMP_CLIENT_OK		0
#define DUMP_CLIENT_REFUSED	1
#define DUMP_CLIENT_NOT_RUNNING	3
#define DUMP_CLIENT_NOT_ALLOWED	4

/**
 * dump_client__ask - Write a line, and read the answer
 * @path:    of the socket
 * @seconds: to wait for the whole answer
 * @lines:   what follows "ack", to be freed; NULL unless DUMP_CLIENT_OK is returned
 *
 * Return an exit code, after a message if it isn't DUMP_CLIENT_OK.
 */
int dump_client__ask(const char *path, const char *line, unsigned int seconds, char **lines);

/* The value of the next line in *@lines that begins with @name and a space, or NULL */
const char *dump_client__next(const char **lines, const char *name, int *len);
/* The number in the first of these, 0 if there is none */
double dump_client__number(const char *lines, const char *name);

/* Write the answer to "status" as Prometheus' text format. @lines: NULL: nobody answers. */
void dump_client__print_metrics(FILE *out, const char *lines);

#endif /* __PERF_DUMP_CLIENT_H */
