/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_HEADER_LINES_H
#define __PERF_HEADER_LINES_H 1

/*
 * What the header of a perf.data says, as perf report --header-only prints it. A topic that
 * adds to the header is heard without being known.
 */
struct perf_session;

/*
 * Say each line, without its "# ". Non-zero from @say: stop, and return that.
 * A pipe has no such header: nothing is said. Otherwise return 0, or -ENOMEM.
 */
int header_lines__each(struct perf_session *session, int (*say)(void *arg, const char *line),
		       void *arg);

#endif /* __PERF_HEADER_LINES_H */
