/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_SPINLOCK_H
#define _OUTPUT_LINUX_SPINLOCK_H

#include <pthread.h>

typedef struct { pthread_mutex_t mutex; } spinlock_t;

#define spin_lock_init(lock)			pthread_mutex_init(&(lock)->mutex, NULL)
#define spin_lock_irq(lock)			pthread_mutex_lock(&(lock)->mutex)
#define spin_unlock_irq(lock)			pthread_mutex_unlock(&(lock)->mutex)
#define spin_lock_irqsave(lock, flags)		((flags) = 0, spin_lock_irq(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), spin_unlock_irq(lock))
#define lockdep_assert_held(lock)		do { } while (0)

#endif
