// SPDX-License-Identifier: GPL-2.0
/*
 * Storms. Threads stand for CPUs, nested calls between any two accesses for NMIs, and
 * signals interrupt at any instruction. A storm counts how often the situation occurred
 * that it is for, and fails if that is too seldom.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "../../../../kernel/events/output_shared.h"
#include "output_test.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id	_sigev_un._tid
#endif

#define SIGNALS	3

enum spoil { HONEST, SPOIL_TAIL, SPOIL_ALL };

struct storm {
	const char	*name;
	int		cpus;
	int		pages;
	bool		overwrite;
	bool		backward;
	bool		pause;
	bool		signals;
	bool		leases;
	bool		flush;
	enum spoil	spoil;
	int		wakeup_events;
	unsigned int	rate;
	unsigned int	hold;
	unsigned int	span;
	unsigned int	records;	/* per CPU's task, times scale */
	unsigned int	rounds;		/* equal shares of them: all stop after each */
};

#define LAPS_MIN	10	/* how often the buffer must be filled */
#define ROUNDS_MORE	100	/* limit of extra rounds for it, as a factor */

static const struct storm *storm;
static unsigned int scale;
static pthread_barrier_t barrier_all;
static unsigned long quiet_checks, not_published, not_woken, signals_taken, turns;
static u64 all_written, all_lost, all_nested;
static bool stop, enough;
static const char *read_error;

static void on_signal(int number)
{
	(void)number;
	if (this_cpu) {
		__atomic_fetch_add(&signals_taken, 1, __ATOMIC_RELAXED);
		interrupt();
	}
}

static void start_signals(timer_t timers[SIGNALS])
{
	for (int i = 0; i < SIGNALS; i++) {
		struct sigevent event = {
			.sigev_notify	= SIGEV_THREAD_ID,
			.sigev_signo	= SIGRTMIN + i,
			.sigev_notify_thread_id = syscall(SYS_gettid),
		};
		struct itimerspec spec = {
			.it_interval	= { 0, 30000 + 17000 * i },
			.it_value	= { 0, 30000 + 17000 * i },
		};

		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) ||
		    timer_settime(timers[i], 0, &spec, NULL))
			abort();
	}
}

static void stop_signals(timer_t timers[SIGNALS])
{
	for (int i = 0; i < SIGNALS; i++)
		timer_delete(timers[i]);
}

/* While nobody writes, everything must be published. */
static void check_quiet(void)
{
	unsigned long end = 0;

	for (int i = 0; i < CPUS; i++) {
		if (end < cpus[i].end)
			end = cpus[i].end;
	}
	/* A lease is published at the next tick. */
	if (storm->leases)
		tick_all();
	quiet_checks++;
	not_published += storm->leases || storm->hold ? end > published() : end != published();
	not_woken += storm->wakeup_events == 1 && end != woken_at;
}

/* The next round then can fill the buffer, however slow the reader is. */
static void wait_for_reader(void)
{
	struct perf_event_mmap_page *page = buffer->user_page;

	while (READ_ONCE(page->data_tail) != READ_ONCE(page->data_head) &&
	       !READ_ONCE(read_error))
		sched_yield();
}

/* In some storms the reader decides how much fits, so it has to run. */
static bool reader_decides(void)
{
	return storm->spoil == SPOIL_TAIL || storm->pause;
}

static void wait_for_turn(unsigned int round)
{
	unsigned long turn = READ_ONCE(turns);

	while (READ_ONCE(turns) == turn)
		sched_yield();
	enough = published() / perf_data_size(buffer) >= LAPS_MIN ||
		 round >= storm->rounds * ROUNDS_MORE;
}

static void write_round(struct cpu *cpu)
{
	timer_t timers[SIGNALS];

	cpu->rate = storm->rate;
	cpu->hold = storm->hold;
	cpu->span = storm->span;
	if (storm->signals)
		start_signals(timers);
	for (unsigned int i = 0; i < storm->records * scale / storm->rounds; i++)
		write_record();
	if (storm->signals)
		stop_signals(timers);
	cpu->rate = 0;
}

static void *write_all(void *arg)
{
	struct cpu *cpu = arg;

	for (unsigned int i = 0; i < storm->rounds || !enough; i++) {
		cpu_enter(cpu->id);
		write_round(cpu);
		cpu_leave();
		pthread_barrier_wait(&barrier_all);
		if (!cpu->id && storm->spoil != SPOIL_ALL)
			check_quiet();
		if (!cpu->id && !storm->spoil)
			wait_for_reader();
		if (!cpu->id && reader_decides())
			wait_for_turn(i);
		pthread_barrier_wait(&barrier_all);
	}
	return NULL;
}

/* A reader that stores nonsense, so it can't rely on data_head. */
static void spoil(struct reader *reader, unsigned int *seed)
{
	u64 value = (u64)rand_r(seed) << (rand_r(seed) % 40);

	WRITE_ONCE(buffer->user_page->data_tail, value);
	if (storm->spoil == SPOIL_ALL && !(value & 0x30)) {
		WRITE_ONCE(buffer->user_page->data_head, value);
	} else if (storm->spoil != SPOIL_ALL && !reader->error) {
		unsigned long head = published();

		if ((long)(head - reader->head) < 0)
			reader->error = "data_head went back";
		reader->head = head;
	}
}

static void *read_until_stop(void *arg)
{
	struct reader *reader = arg;
	unsigned int seed = 1;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		if (storm->spoil)
			spoil(reader, &seed);
		else if (!storm->overwrite && !is_write_backward(&cpus[0].event))
			read_all(reader);
		else
			WRITE_ONCE(buffer->user_page->data_tail,
				   READ_ONCE(buffer->user_page->data_head));
		WRITE_ONCE(read_error, reader->error);
		if (storm->pause)
			rb_toggle_paused(buffer, rand_r(&seed) & 1);
		if (storm->flush && !(rand_r(&seed) % 64))
			perf_output_flush_shared(buffer);
		WRITE_ONCE(turns, turns + 1);
		sched_yield();
	}
	if (storm->pause)
		rb_toggle_paused(buffer, false);
	return NULL;
}

static void run_threads(struct reader *reader)
{
	pthread_t threads[CPUS], thread;

	stop = false;
	enough = !reader_decides();
	read_error = NULL;
	quiet_checks = 0;
	not_published = 0;
	not_woken = 0;
	signals_taken = 0;
	pthread_barrier_init(&barrier_all, NULL, storm->cpus);
	if (pthread_create(&thread, NULL, read_until_stop, reader))
		abort();
	for (int i = 0; i < storm->cpus; i++) {
		if (pthread_create(&threads[i], NULL, write_all, &cpus[i]))
			abort();
	}
	for (int i = 0; i < storm->cpus; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier_all);
}

static void count_records(u64 *written, u64 *lost, u64 *nested)
{
	for (int i = 0; i < WRITERS; i++) {
		struct cpu *cpu = &cpus[i / LEVELS];
		int level = i % LEVELS;

		*written += cpu->attempts[level] - cpu->lost[level];
		*lost += cpu->lost[level];
		*nested += level ? cpu->attempts[level] : 0;
	}
}

static unsigned long lapped(void)
{
	unsigned long times = 0;

	for (int i = 0; i < CPUS; i++)
		times += cpus[i].lapped;
	return times;
}

static const char *check(struct reader *reader, u64 *written, u64 *lost, u64 *nested)
{
	const char *error;
	u64 laps;

	count_records(written, lost, nested);
	laps = published() / perf_data_size(buffer);

	if (storm->backward && storm->overwrite)
		read_newest(reader);
	if (reader->error || writer_error)
		return reader->error ?: writer_error;
	if (not_published)
		return "nobody writes, and not everything is published";
	if (!all_is_committed())
		return "nobody writes, and not everything is committed";
	if (not_woken)
		return "the reader was not woken for the last sample";
	if (!storm->overwrite && !storm->backward && !storm->spoil) {
		error = audit(reader);
		if (error)
			return error;
	}
	if (storm->spoil != SPOIL_ALL && laps < LAPS_MIN)
		return "the buffer was not filled ten times";
	if (storm->rate && *nested < *written / 100)
		return "few records were nested";
	if (storm->hold && lapped() < 5)
		return "few CPUs were held up for a lap";
	if (storm->leases && !storm->backward && !storm->spoil && !storm->overwrite &&
	    reader->leases < 100)
		return "few leases were opened";
	if (storm->signals && signals_taken < 100)
		return "few signals came";
	return NULL;
}

static void report(const char *error, u64 written, u64 lost, u64 nested)
{
	tap_result(!error, "%s: %s (%llu written, %llu lost, %llu nested, %lu signals, %lu times lapped, %lu times quiet)",
		   storm->name, error ?: "fine", (unsigned long long)written,
		   (unsigned long long)lost, (unsigned long long)nested,
		   signals_taken, lapped(), quiet_checks);
	all_written += written;
	all_lost += lost;
	all_nested += nested;
}

static void run_storm(const struct storm *this_storm)
{
	u64 written = 0, lost = 0, nested = 0;
	struct reader reader;
	const char *error;

	storm = this_storm;
	tick_stopped = !storm->leases;
	buffer_new(storm->pages, storm->overwrite, storm->backward, true);
	for (int i = 0; i < CPUS; i++)
		cpus[i].event.attr.wakeup_events = storm->wakeup_events;
	reader_init(&reader);
	run_threads(&reader);
	error = check(&reader, &written, &lost, &nested);
	report(error, written, lost, nested);
	buffer_free();
}

static const struct storm storms[] = {
	{ .name = "2 CPUs", .cpus = 2, .pages = 64, .rate = 64, .span = 20,
	  .records = 20000, .rounds = 100 },
	{ .name = "8 CPUs, one page", .cpus = 8, .pages = 1, .rate = 64, .span = 40,
	  .records = 5000, .rounds = 50 },
	{ .name = "4 CPUs, each sample wakes", .cpus = 4, .pages = 16, .rate = 64,
	  .wakeup_events = 1, .overwrite = true, .records = 5000, .rounds = 50 },
	{ .name = "8 CPUs, short records", .cpus = 8, .pages = 16, .rate = 128,
	  .records = 10000, .rounds = 50 },
	{ .name = "4 CPUs, long records", .cpus = 4, .pages = 16, .rate = 200,
	  .span = 2000, .records = 600, .rounds = 30 },
	{ .name = "4 CPUs, many nested", .cpus = 4, .pages = 16, .rate = 16, .span = 20,
	  .records = 2000, .rounds = 20 },
	{ .name = "4 CPUs, signals", .cpus = 4, .pages = 16, .rate = 256, .span = 20,
	  .signals = true, .records = 10000, .rounds = 40 },
	{ .name = "8 CPUs, overwrite", .cpus = 8, .pages = 1, .rate = 64, .span = 40,
	  .overwrite = true, .records = 5000, .rounds = 50 },
	{ .name = "8 CPUs, overwrite, backward", .cpus = 8, .pages = 1, .rate = 64,
	  .span = 10, .overwrite = true, .backward = true, .records = 5000, .rounds = 50 },
	{ .name = "8 CPUs, overwrite, held up", .cpus = 8, .pages = 1, .rate = 64, .span = 40,
	  .hold = 8192, .overwrite = true, .records = 500, .rounds = 10 },
	{ .name = "8 CPUs, overwrite, backward, held up", .cpus = 8, .pages = 16, .rate = 64,
	  .span = 200, .hold = 8192, .overwrite = true, .backward = true, .records = 1000,
	  .rounds = 10 },
	{ .name = "4 CPUs, backward", .cpus = 4, .pages = 16, .rate = 64,
	  .span = 10, .backward = true, .records = 5000, .rounds = 50 },
	{ .name = "8 CPUs, nonsense in data_tail", .cpus = 8, .pages = 1, .rate = 64,
	  .span = 40, .spoil = SPOIL_TAIL, .records = 5000, .rounds = 50 },
	{ .name = "4 CPUs, nonsense in data_tail and data_head", .cpus = 4, .pages = 16,
	  .rate = 64, .span = 40, .spoil = SPOIL_ALL, .records = 5000, .rounds = 50 },
	{ .name = "2 CPUs, leases", .cpus = 2, .pages = 64, .rate = 64, .span = 20,
	  .leases = true, .records = 20000, .rounds = 100 },
	{ .name = "8 CPUs, leases", .cpus = 8, .pages = 64, .rate = 64, .span = 10,
	  .leases = true, .records = 10000, .rounds = 50 },
	{ .name = "4 CPUs, leases, many nested", .cpus = 4, .pages = 64, .rate = 16, .span = 10,
	  .leases = true, .records = 5000, .rounds = 20 },
	{ .name = "4 CPUs, leases and flushes", .cpus = 4, .pages = 64, .rate = 64, .span = 10,
	  .leases = true, .flush = true, .records = 10000, .rounds = 50 },
	{ .name = "4 CPUs, leases, signals", .cpus = 4, .pages = 64, .rate = 256, .span = 20,
	  .leases = true, .signals = true, .records = 5000, .rounds = 40 },
	{ .name = "4 CPUs, leases, overwrite, backward", .cpus = 4, .pages = 64, .rate = 64,
	  .span = 10, .leases = true, .overwrite = true, .backward = true, .records = 10000,
	  .rounds = 50 },
	{ .name = "4 CPUs, leases, overwrite, backward, held up", .cpus = 4, .pages = 8,
	  .rate = 64, .span = 10, .hold = 16384, .leases = true, .overwrite = true,
	  .backward = true, .records = 2000, .rounds = 2 },
	{ .name = "4 CPUs, leases, nonsense in data_tail", .cpus = 4, .pages = 64, .rate = 64,
	  .span = 10, .leases = true, .spoil = SPOIL_TAIL, .records = 5000, .rounds = 50 },
	{ .name = "4 CPUs, leases, output paused", .cpus = 4, .pages = 64, .rate = 64,
	  .span = 20, .leases = true, .pause = true, .records = 10000, .rounds = 20 },
	{ .name = "4 CPUs, output paused", .cpus = 4, .pages = 16, .rate = 64, .span = 20,
	  .pause = true, .records = 10000, .rounds = 20 },
};

/* Writes the part of the control page that describes the counter. */
static void *write_page(void *arg)
{
	struct cpu *cpu = arg;
	struct perf_event_mmap_page *page = buffer->user_page;

	cpu_enter(cpu->id);
	cpu->rate = 64;
	for (unsigned int i = 0; i < 3000 * scale; i++) {
		u64 count;

		while (!perf_output_page_begin(buffer))
			sched_yield();
		count = page->time_enabled;
		access_step();
		page->time_enabled = count + 1;
		perf_output_page_end(buffer);
	}
	cpu->rate = 0;
	cpu_leave();
	return NULL;
}

static void run_page_storm(void)
{
	pthread_t threads[4];
	u64 count;

	buffer_new(1, true, false, true);
	for (int i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, write_page, &cpus[i]))
			abort();
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	count = buffer->user_page->time_enabled;
	tap_result(count == 4 * 3000 * scale && !(buffer->user_page->lock & 1),
		   "4 CPUs, the control page: no update gets lost");
	buffer_free();
}

void storm_tests(unsigned int times)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	scale = times;
	for (int i = 0; i < SIGNALS; i++)
		sigaction(SIGRTMIN + i, &action, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(storms); i++)
		run_storm(&storms[i]);
	run_page_storm();
	printf("# all storms: %llu records written, %llu lost; %llu of both nested\n",
	       (unsigned long long)all_written, (unsigned long long)all_lost,
	       (unsigned long long)all_nested);
}
