/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software model of Intel's trace hardware: its interrupt.
 */
#ifndef _TRACE_MODEL_HOST_H
#define _TRACE_MODEL_HOST_H

#include <linux/types.h>

#define TM_NEVER	(~0ULL)

/* When the drivers' handler unmasks LVTPC, which the interrupt has masked */
enum tm_ack {
	TM_ACK_CPU,	/* as the kernel does for this CPU */
	TM_ACK_EARLY,	/* first of all */
	TM_ACK_MID,	/* before counters are enabled again */
	TM_ACK_LATE,	/* last of all */
};

/* host.c */
bool tm_pmi_allowed(void);
bool tm_pmi_is_masked(void);
void tm_pmi_mask(bool mask);
void tm_pmi_send(void);
void tm_timer_update(u64 deadline);
void tm_host_reset(unsigned int cpu);

/* ack.c */
bool tm_ack_parse(const char *word, enum tm_ack *ack);
void tm_ack_set(enum tm_ack ack);
const char *tm_ack_word(void);

#endif /* _TRACE_MODEL_HOST_H */
