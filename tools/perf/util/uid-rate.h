/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_UID_RATE_H
#define __PERF_UID_RATE_H 1

/*
 * How often may each user ask? A bucket of tokens for each of the last users
 *
 * A request takes a token. A bucket has UID_RATE_BURST of them, and gets a new one each
 * UID_RATE_PERIOD. It is kept as the time at which it will be full again.
 */
#include <linux/time64.h>
#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#define UID_RATE_BURST	10
#define UID_RATE_PERIOD	NSEC_PER_SEC
#define UID_RATE_USERS	64

/**
 * struct uid_rate - Buckets; all zero: nobody has asked
 * @uid:	the user
 * @full:	when the bucket is full, in nanoseconds
 */
struct uid_rate {
	struct {
		uid_t	uid;
		u64	full;
	} buckets[UID_RATE_USERS];
};

/*
 * May @uid ask now? Then a token is taken. @now is in nanoseconds, and never goes back.
 * A user without a bucket gets the one that is full first.
 */
bool uid_rate__take(struct uid_rate *rate, uid_t uid, u64 now);

#endif /* __PERF_UID_RATE_H */
