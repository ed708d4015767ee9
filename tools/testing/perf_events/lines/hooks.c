// SPDX-License-Identifier: GPL-2.0
/*
 * What code that was compiled with -fsanitize=thread calls before each access to
 * memory, to be linked in place of ThreadSanitizer's library. So files of the kernel
 * need no change, and no access is forgotten. Not seen are inline assembly and calls
 * of the C library: local operations are functions here, see include/linux/atomic.h,
 * and memcpy() is lines_memcpy().
 *
 * Accesses of all sizes are atomic, as a switch to another CPU comes only in a hook.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "machine.h"

void *lines_memcpy(void *to, const void *from, size_t bytes);

#define HOOK(name, bytes, access)						\
	void __tsan_##name(void *address);					\
	void __tsan_##name(void *address)					\
	{									\
		machine_access(address, bytes, access, MACHINE_STATE);		\
	}

#define HOOKS(bytes)								\
	HOOK(read##bytes, bytes, MESI_LOAD)					\
	HOOK(write##bytes, bytes, MESI_STORE)					\
	HOOK(unaligned_read##bytes, bytes, MESI_LOAD)				\
	HOOK(unaligned_write##bytes, bytes, MESI_STORE)				\
	HOOK(volatile_read##bytes, bytes, MESI_LOAD)				\
	HOOK(volatile_write##bytes, bytes, MESI_STORE)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *address, size_t bytes);
void __tsan_read_range(void *address, size_t bytes)
{
	machine_access(address, bytes, MESI_LOAD, MACHINE_STATE);
}

void __tsan_write_range(void *address, size_t bytes);
void __tsan_write_range(void *address, size_t bytes)
{
	machine_access(address, bytes, MESI_STORE, MACHINE_STATE);
}

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

#define FETCH(bits, name, change)						\
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p,	\
						    uint##bits##_t v, int order);\
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p,	\
						    uint##bits##_t v, int order)\
	{									\
		uint##bits##_t old;						\
										\
		(void)order;							\
		machine_access((void *)p, bits / 8, MESI_RMW, MACHINE_STATE);	\
		old = *p;							\
		*p = change;							\
		return old;							\
	}

#define EXCHANGE(bits, name)							\
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *p,		\
					 uint##bits##_t *old, uint##bits##_t v,	\
					 int done, int failed);			\
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *p,		\
					 uint##bits##_t *old, uint##bits##_t v,	\
					 int done, int failed)			\
	{									\
		(void)done;							\
		(void)failed;							\
		machine_access((void *)p, bits / 8, MESI_RMW, MACHINE_STATE);	\
		if (*p == *old) {						\
			*p = v;							\
			return 1;						\
		}								\
		*old = *p;							\
		machine_failed();						\
		return 0;							\
	}

#define ATOMICS(bits)								\
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order); \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)	\
	{									\
		(void)order;							\
		machine_access((void *)p, bits / 8, MESI_LOAD, MACHINE_STATE);	\
		return *p;							\
	}									\
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order); \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order)  \
	{									\
		(void)order;							\
		machine_access((void *)p, bits / 8, MESI_STORE, MACHINE_STATE);	\
		*p = v;								\
	}									\
	FETCH(bits, exchange, v)						\
	FETCH(bits, fetch_add, old + v)						\
	FETCH(bits, fetch_sub, old - v)						\
	FETCH(bits, fetch_or, old | v)						\
	FETCH(bits, fetch_and, old & v)						\
	EXCHANGE(bits, compare_exchange_strong)					\
	EXCHANGE(bits, compare_exchange_weak)

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

/* Compiled without hooks: only what is in the arena counts, so it is one side here. */
void *lines_memcpy(void *to, const void *from, size_t bytes)
{
	if (bytes) {
		machine_access(from, bytes, MESI_LOAD, MACHINE_DATA);
		machine_access(to, bytes, MESI_STORE, MACHINE_DATA);
	}
	return memcpy(to, from, bytes);
}

/* Local operations: on x86 without lock prefix, in one instruction */
bool lines_local_cmpxchg(long *p, long *old, long new);
bool lines_local_cmpxchg(long *p, long *old, long new)
{
	machine_access(p, sizeof(*p), MESI_STORE, MACHINE_STATE);
	if (*p == *old) {
		*p = new;
		return true;
	}
	*old = *p;
	return false;
}

long lines_local_add(long *p, long n);
long lines_local_add(long *p, long n)
{
	machine_access(p, sizeof(*p), MESI_STORE, MACHINE_STATE);
	*p += n;
	return *p;
}

/* An exchange with memory is locked on x86, with or without the prefix. */
long lines_local_xchg(long *p, long new);
long lines_local_xchg(long *p, long new)
{
	long old;

	machine_access(p, sizeof(*p), MESI_RMW, MACHINE_STATE);
	old = *p;
	*p = new;
	return old;
}
