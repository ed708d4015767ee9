/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DUMP_STATUS_H
#define __PERF_DUMP_STATUS_H 1

/*
 * The status of a perf record -M: lines of text, a name and values in each
 *
 * Dumps are counted by what has asked for them: a trigger by its name, a signal, the control
 * descriptor, the end of recording. A dump counts once for each of these that it has.
 */
#include <linux/types.h>

struct dump_status;
struct ring_dump;

/* So many dumps have lines, the newest */
#define DUMP_STATUS_DUMPS	10
/* So many kinds of what asks for dumps; the rest are "other" */
#define DUMP_STATUS_KINDS	64

/* Watches all dumps from now on. Return NULL if there is no memory. */
struct dump_status *dump_status__new(struct ring_dump *dump);
/* Call it when there can't be another dump */
void dump_status__delete(struct dump_status *status);

/*
 * The lines, to be freed, or NULL if there is no memory. For the main thread, when the
 * kernel's buffers have been read.
 */
char *dump_status__text(struct dump_status *status);

#endif /* __PERF_DUMP_STATUS_H */
