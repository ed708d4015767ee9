/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OUTPUT_LINUX_COMPILER_H
#define _OUTPUT_LINUX_COMPILER_H

#ifdef STEPS
/* The test's: called before each access that other contexts can see. */
void access_step(void);
#else
#define access_step()	do { } while (0)
#endif

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define barrier()	__asm__ __volatile__("" : : : "memory")
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#define noinline	__attribute__((__noinline__))
#define __force
#define __maybe_unused	__attribute__((__unused__))
#define __weak		__attribute__((__weak__))

#ifdef __SANITIZE_THREAD__
#define READ_ONCE(x)		({ access_step(); __atomic_load_n(&(x), __ATOMIC_RELAXED); })
#define WRITE_ONCE(x, value)	({ access_step(); __atomic_store_n(&(x), value, __ATOMIC_RELAXED); })
#else
#define READ_ONCE(x)		({ access_step(); (__typeof__(x))(*(volatile __typeof__(x) *)&(x)); })
#define WRITE_ONCE(x, value)	({ access_step(); *(volatile __typeof__(x) *)&(x) = (value); })
#endif

#define smp_load_acquire(p)	({ access_step(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define smp_store_release(p, v)	({ access_step(); __atomic_store_n(p, v, __ATOMIC_RELEASE); })

#ifdef __x86_64__
#define smp_rmb()		barrier()
#define smp_wmb()		barrier()
#else
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#endif

#endif
