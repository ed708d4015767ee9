// SPDX-License-Identifier: GPL-2.0
/* How often may each user ask? See uid-rate.h */
#include <linux/kernel.h>
#include "uid-rate.h"

static unsigned int find_bucket(const struct uid_rate *rate, uid_t uid)
{
	unsigned int i, first = 0;

	for (i = 0; i < UID_RATE_USERS; i++) {
		if (rate->buckets[i].full && rate->buckets[i].uid == uid)
			return i;
		if (rate->buckets[i].full < rate->buckets[first].full)
			first = i;
	}
	return first;
}

bool uid_rate__take(struct uid_rate *rate, uid_t uid, u64 now)
{
	unsigned int i = find_bucket(rate, uid);
	u64 full = rate->buckets[i].uid == uid ? max(rate->buckets[i].full, now) : now;

	if (full - now > (UID_RATE_BURST - 1) * UID_RATE_PERIOD)
		return false;
	rate->buckets[i].uid = uid;
	rate->buckets[i].full = full + UID_RATE_PERIOD;
	return true;
}
