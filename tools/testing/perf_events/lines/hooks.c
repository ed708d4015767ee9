// SPDX-License-Identifier: GPL-2.0
/*
 * What code that was compiled with -fsanitize=thread calls before each access to memory,
 * linked in place of ThreadSanitizer's library. So the kernel's files need no change, and
 * no access is forgotten. Calls of the C library aren't seen; memcpy() is lines_memcpy().
 *
 * Accesses are atomic, as a switch to another CPU comes only in a hook. Plain ones don't
 * let others run, unless the line has to come: how many there are is up to the compiler.
 */
#include <linux/types.h>
#include <string.h>

#include "machine.h"

#define PLAIN	0	/* cycles */
#define MARKED	1
#define LOCKED	20

void __tsan_init(void) { }
void __tsan_func_entry(void *caller) { }
void __tsan_func_exit(void) { }

void __tsan_read1(void *p) { machine_access(p, 1, false, PLAIN); }
void __tsan_read2(void *p) { machine_access(p, 2, false, PLAIN); }
void __tsan_read4(void *p) { machine_access(p, 4, false, PLAIN); }
void __tsan_read8(void *p) { machine_access(p, 8, false, PLAIN); }

void __tsan_write1(void *p) { machine_access(p, 1, true, PLAIN); }
void __tsan_write2(void *p) { machine_access(p, 2, true, PLAIN); }
void __tsan_write4(void *p) { machine_access(p, 4, true, PLAIN); }
void __tsan_write8(void *p) { machine_access(p, 8, true, PLAIN); }

void __tsan_read_range(void *p, size_t size)
{
	machine_access(p, size, false, PLAIN);
}

void __tsan_write_range(void *p, size_t size)
{
	machine_access(p, size, true, PLAIN);
}

void *lines_memcpy(void *to, const void *from, size_t size)
{
	machine_access(to, size, true, PLAIN);
	return memcpy(to, from, size);
}

u8 __tsan_atomic8_load(const u8 *p, int order)
{
	machine_access(p, sizeof(*p), false, MARKED);
	return *p;
}

void __tsan_atomic8_store(u8 *p, u8 v, int order)
{
	machine_access(p, sizeof(*p), true, MARKED);
	*p = v;
}

u32 __tsan_atomic32_load(const u32 *p, int order)
{
	machine_access(p, sizeof(*p), false, MARKED);
	return *p;
}

void __tsan_atomic32_store(u32 *p, u32 v, int order)
{
	machine_access(p, sizeof(*p), true, MARKED);
	*p = v;
}

u64 __tsan_atomic64_load(const u64 *p, int order)
{
	machine_access(p, sizeof(*p), false, MARKED);
	return *p;
}

void __tsan_atomic64_store(u64 *p, u64 v, int order)
{
	machine_access(p, sizeof(*p), true, MARKED);
	*p = v;
}

u32 __tsan_atomic32_exchange(u32 *p, u32 v, int order)
{
	u32 old;

	machine_access(p, sizeof(*p), true, LOCKED);
	old = *p;
	*p = v;
	return old;
}

u32 __tsan_atomic32_fetch_add(u32 *p, u32 v, int order)
{
	machine_access(p, sizeof(*p), true, LOCKED);
	*p += v;
	return *p - v;
}

u32 __tsan_atomic32_fetch_sub(u32 *p, u32 v, int order)
{
	return __tsan_atomic32_fetch_add(p, -v, order);
}

/* One that fails takes the line, too. */
u32 __tsan_atomic32_compare_exchange_val(u32 *p, u32 expected, u32 v, int done, int failed)
{
	u32 old;

	machine_access(p, sizeof(*p), true, LOCKED);
	old = *p;
	if (old == expected)
		*p = v;
	return old;
}

int __tsan_atomic32_compare_exchange_strong(u32 *p, u32 *old, u32 v, int done, int failed)
{
	u32 expected = *old;

	*old = __tsan_atomic32_compare_exchange_val(p, expected, v, done, failed);
	return *old == expected;
}

u64 __tsan_atomic64_exchange(u64 *p, u64 v, int order)
{
	u64 old;

	machine_access(p, sizeof(*p), true, LOCKED);
	old = *p;
	*p = v;
	return old;
}

u64 __tsan_atomic64_fetch_add(u64 *p, u64 v, int order)
{
	machine_access(p, sizeof(*p), true, LOCKED);
	*p += v;
	return *p - v;
}

/* One that fails takes the line, too. */
u64 __tsan_atomic64_compare_exchange_val(u64 *p, u64 expected, u64 v, int done, int failed)
{
	u64 old;

	machine_access(p, sizeof(*p), true, LOCKED);
	old = *p;
	if (old == expected)
		*p = v;
	return old;
}

int __tsan_atomic64_compare_exchange_strong(u64 *p, u64 *old, u64 v, int done, int failed)
{
	u64 expected = *old;

	*old = __tsan_atomic64_compare_exchange_val(p, expected, v, done, failed);
	return *old == expected;
}
