// SPDX-License-Identifier: GPL-2.0
/*
 * What ring_buffer.c, output_shared.c and output_lease.c need of the rest of the kernel.
 * A thread is a CPU, and a signal an interrupt: the CPU's tick, or a call from another CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "bench.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id	_sigev_un._tid
#endif

/* The library of lttng-ust blocks the three before. */
#define SIGNAL_TICK	(SIGRTMIN + 3)
#define SIGNAL_CALL	(SIGRTMIN + 4)
#define TICK_NS		4000000		/* HZ is 250 */

unsigned int allocation_fails;
long allocated;
unsigned long jiffies;
__thread unsigned long this_cpu_off;

static __thread struct irq_work *lazy_work;
static __thread timer_t timer;
static __thread bool ticking;

unsigned int possible_cpus = 1;
static pthread_t cpus[CPUS_MAX];

/* A call on another CPU, which answers by a store, as the kernel's does */
static struct {
	void	(*function)(void *info);
	void	*info;
	bool	done;
} call;

/*
 * Interrupts
 */

/* A lazy irq_work costs its CPU an exchange until the next tick, and one more if it is new. */
void irq_work_queue(struct irq_work *work)
{
	/* Somebody would be woken, or asked for a lease: here all write until the end. */
	if (!work->lazy) {
		WRITE_ONCE(work->func, NULL);
		return;
	}
	if (!__atomic_exchange_n(&work->pending, 1, __ATOMIC_SEQ_CST))
		work->next = __atomic_exchange_n(&lazy_work, work, __ATOMIC_SEQ_CST);
}

/* What would ask has no function any more. */
void irq_work_queue_on(struct irq_work *work, int cpu)
{
	(void)work;
	(void)cpu;
	abort();
}

/* All CPUs have left, and ran theirs. */
void irq_work_sync(struct irq_work *work)
{
	(void)work;
}

static void run_lazy_work(void)
{
	struct irq_work *work = __atomic_exchange_n(&lazy_work, NULL, __ATOMIC_SEQ_CST), *next;

	for (; work; work = next) {
		next = work->next;
		__atomic_store_n(&work->pending, 0, __ATOMIC_SEQ_CST);
		work->func(work);
	}
}

/* Each tick brings the time up to date, for any CPU may be late. */
static void on_tick(int signal)
{
	unsigned long now = nanoseconds(CLOCK_MONOTONIC) / TICK_NS, old = READ_ONCE(jiffies);

	(void)signal;
	while (old < now && !try_cmpxchg(&jiffies, &old, now))
		;
	run_lazy_work();
}

static void on_call(int signal)
{
	(void)signal;
	call.function(call.info);
	__atomic_store_n(&call.done, true, __ATOMIC_RELEASE);
}

/* One caller at a time: there is one reader. */
void on_each_cpu_cond(bool (*condition)(int cpu, void *info), void (*function)(void *info),
		      void *info, bool wait)
{
	(void)wait;
	for (int cpu = 0; cpu < possible_cpus; cpu++) {
		if (!condition(cpu, info))
			continue;
		call.function = function;
		call.info = info;
		__atomic_store_n(&call.done, false, __ATOMIC_RELEASE);
		pthread_kill(cpus[cpu], SIGNAL_CALL);
		while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
			sched_yield();
	}
}

/*
 * CPUs
 */

/* Interrupts don't interrupt each other. */
void cpus_init(void)
{
	struct sigaction action = { .sa_flags = SA_RESTART };

	sigaddset(&action.sa_mask, SIGNAL_TICK);
	sigaddset(&action.sa_mask, SIGNAL_CALL);
	action.sa_handler = on_tick;
	sigaction(SIGNAL_TICK, &action, NULL);
	action.sa_handler = on_call;
	sigaction(SIGNAL_CALL, &action, NULL);
}

static void start_ticks(void)
{
	struct sigevent event = {
		.sigev_notify		= SIGEV_THREAD_ID,
		.sigev_signo		= SIGNAL_TICK,
		.sigev_notify_thread_id	= gettid(),
	};
	struct itimerspec period = { { 0, TICK_NS }, { 0, TICK_NS } };

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &period, NULL))
		abort();
}

void cpus_possible(unsigned int writers)
{
	long here = sysconf(_SC_NPROCESSORS_CONF);

	possible_cpus = min_t(long, max_t(long, writers, here), CPUS_MAX);
}

void cpu_enter(unsigned int number, bool ticks)
{
	cpus[number] = pthread_self();
	this_cpu_off = number * PERCPU_UNIT;
	ticking = ticks;
	if (ticks)
		start_ticks();
}

void cpu_leave(void)
{
	if (ticking)
		timer_delete(timer);
	run_lazy_work();
}
