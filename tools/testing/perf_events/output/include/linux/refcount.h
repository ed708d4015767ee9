/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_REFCOUNT_H
#define _OUTPUT_LINUX_REFCOUNT_H

#include <linux/atomic.h>

typedef atomic_t refcount_t;

#define refcount_set(r, n)		atomic_set(r, n)
#define refcount_inc_not_zero(r)	(__atomic_fetch_add(&(r)->counter, 1, __ATOMIC_RELAXED) != 0)
#define refcount_dec_and_test(r)	(__atomic_sub_fetch(&(r)->counter, 1, __ATOMIC_SEQ_CST) == 0)

#endif
