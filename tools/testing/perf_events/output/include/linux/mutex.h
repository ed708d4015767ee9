/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_MUTEX_H
#define _OUTPUT_LINUX_MUTEX_H

#include <linux/spinlock.h>

struct mutex { pthread_mutex_t mutex; };

#define mutex_init(lock)	pthread_mutex_init(&(lock)->mutex, NULL)
#define mutex_lock(lock)	pthread_mutex_lock(&(lock)->mutex)
#define mutex_unlock(lock)	pthread_mutex_unlock(&(lock)->mutex)

#endif
