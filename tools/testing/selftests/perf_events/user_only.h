/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests that kernel addresses are hidden from users without privilege: become such
 * a user, and look for kernel addresses in all that an event records.
 *
 * Functions return -1 on failure and say why in errno.
 */
#ifndef _USER_ONLY_H
#define _USER_ONLY_H

#include <linux/perf_event.h>

#include "perf_common.h"

/* --- A user without privilege, who can be root again --- */

struct user_only {
	char	paranoid[16];	/* kernel.perf_event_paranoid as it was */
};

/* Set paranoid to 2 and drop privileges; and undo both. */
int user_only_begin(struct user_only *user);
int user_only_end(const struct user_only *user);
int user_only_drop(void);

/* --- The records of an event --- */

struct user_records {
	int		fd;
	struct perf_event_mmap_page *page;
	unsigned int	nr;
	unsigned int	with_ip;	/* samples whose IP isn't 0 */
	unsigned int	with_regs;
	unsigned int	in_kernel;	/* by PERF_RECORD_MISC_KERNEL */
	unsigned int	kernel;		/* records with a kernel address */
	__u64		address;	/* the last of them */
	__u32		type;
};

/* Adds all that a user without privilege may ask for to attr->sample_type. */
int user_records_open(struct user_records *rec, const struct perf_event_attr *attr);
/* Counts the records. */
int user_records_close(struct user_records *rec);

#endif /* _USER_ONLY_H */
