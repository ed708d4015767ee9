// SPDX-License-Identifier: GPL-2.0
/*
 * Is what lines counts true? The caches by a table; the machine by code whose counts are
 * known; the rings by what the reader finds; and a broken ring, which it must find.
 */
#include <string.h>

#include "../tap.h"
#include "lines_code.h"
#include "rings.h"
#include "world.h"

#define ROUNDS	200

int tap_count, tap_failed;

/*
 * Caches
 */

static const struct {
	unsigned int		cache;
	enum mesi_access	access;
	enum mesi_result	result;
	const char		*states;	/* of the three caches, afterwards */
	unsigned long		removed;
} steps[] = {
	{ 0, MESI_LOAD,	 MESI_COLD,    "EII", 0 },
	{ 0, MESI_STORE, MESI_HIT,     "MII", 0 },
	{ 0, MESI_RMW,	 MESI_HIT,     "MII", 0 },
	{ 1, MESI_LOAD,	 MESI_FETCH,   "SSI", 0 },
	{ 0, MESI_LOAD,	 MESI_HIT,     "SSI", 0 },
	{ 2, MESI_LOAD,	 MESI_READ,    "SSS", 0 },
	{ 1, MESI_STORE, MESI_UPGRADE, "IMI", 2 },
	{ 2, MESI_RMW,	 MESI_TAKE,    "IIM", 1 },
	{ 0, MESI_LOAD,	 MESI_FETCH,   "SIS", 0 },
	{ 1, MESI_RMW,	 MESI_TAKE,    "IMI", 2 },
	{ 1, MESI_LOAD,	 MESI_HIT,     "IMI", 0 },
	{ 0, MESI_STORE, MESI_TAKE,    "MII", 1 },
};

static bool check_step(struct mesi *mesi, unsigned int i)
{
	enum mesi_result asked = mesi_ask(mesi, steps[i].cache, 1, steps[i].access);
	unsigned long removed = 0;
	enum mesi_result result = mesi_do(mesi, steps[i].cache, 1, steps[i].access, &removed);

	for (unsigned int cache = 0; cache < 3; cache++) {
		if (mesi_state(mesi, cache, 1) != steps[i].states[cache])
			return false;
	}
	return asked == result && result == steps[i].result && removed == steps[i].removed;
}

static void mesi_tests(void)
{
	struct mesi *mesi = mesi_new(3, 2);
	unsigned long removed = 0;
	bool ok = true;

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (!check_step(mesi, i)) {
			printf("# step %u\n", i);
			ok = false;
		}
	}
	tap_result(ok, "a line of three caches is in the state that MESI says");
	tap_result(mesi_state(mesi, 0, 0) == 'I', "other lines stay as they are");
	mesi_free(mesi);

	mesi = mesi_new(1025, 1);
	for (unsigned int i = 0; i < 1025; i++)
		mesi_do(mesi, i, 0, MESI_LOAD, &removed);
	mesi_do(mesi, 1024, 0, MESI_STORE, &removed);
	tap_result(removed == 1024 && mesi_state(mesi, 1024, 0) == 'M' &&
		   mesi_state(mesi, 1023, 0) == 'I', "a store to a line of 1025 caches removes 1024 copies");
	mesi_free(mesi);
}

/*
 * Code whose counts are known
 */

static unsigned long *counter;
static void (*add)(unsigned long *counter);

static void add_often(unsigned int cpu)
{
	(void)cpu;
	for (int i = 0; i < ROUNDS; i++)
		add(counter);
}

static void add_own(unsigned int cpu)
{
	for (int i = 0; i < ROUNDS; i++)
		add(counter + cpu * LINE_SIZE / sizeof(*counter));
}

static void look_often(unsigned int cpu)
{
	(void)cpu;
	for (int i = 0; i < ROUNDS; i++)
		look(counter);
}

static unsigned long transfers(void)
{
	return world_transfers(machine_counts(false), MACHINE_STATE);
}

/* Returns what the counter has then. */
static unsigned long run(unsigned int cpus, void (*code)(unsigned int cpu),
			 void (*adder)(unsigned long *counter))
{
	struct machine_options options = {
		.cpus = cpus, .seed = 1, .transfer = 100, .hold = 20, .locked = 20,
		.arena = 1 << 20,
	};

	machine_create(&options);
	counter = machine_alloc(LINE_SIZE, cpus * LINE_SIZE);
	add = adder;
	for (unsigned int i = 0; i < cpus; i++)
		machine_spawn(i, code, i);
	machine_run();
	return *counter;
}

static void machine_tests(void)
{
	const struct machine_counts *counts = machine_counts(false);
	unsigned long n;

	n = run(8, add_often, add_atomic);
	tap_result(n == 8 * ROUNDS && counts->locked == 8 * ROUNDS && counts->accesses == 8 * ROUNDS,
		   "8 CPUs add atomically: no addition is lost, none is forgotten");
	tap_result(transfers() >= 8 * ROUNDS * 9 / 10 && transfers() < 8 * ROUNDS,
		   "each addition takes the line from another one: %lu transfers", transfers());
	machine_destroy();

	n = run(8, add_often, add_plain);
	tap_result(n < 8 * ROUNDS && counts->accesses == 16 * ROUNDS && !counts->locked,
		   "8 CPUs load and store: %lu additions are lost", 8 * ROUNDS - n);
	machine_destroy();

	n = run(8, add_often, add_exchange);
	tap_result(n == 8 * ROUNDS && counts->failed &&
		   counts->locked == 8 * ROUNDS + counts->failed,
		   "8 CPUs exchange if equal: no addition is lost, %lu exchanges fail",
		   counts->failed);
	machine_destroy();

	run(8, add_own, add_local);
	tap_result(!transfers() && !counts->locked && counts->accesses == 8 * ROUNDS,
		   "8 CPUs add to lines of their own: no transfers, nothing is locked");
	machine_destroy();

	run(8, look_often, NULL);
	tap_result(transfers() == 7, "8 CPUs read: each but the first gets one copy");
	machine_destroy();
}

static uint64_t times[2];

static void add_once(unsigned int cpu)
{
	add(counter);
	times[cpu] = machine_time();
}

static void time_tests(void)
{
	run(2, add_once, add_atomic);
	tap_result(times[0] < 25 && times[1] >= 100 && times[1] < 145,
		   "a locked operation waits for its line");
	machine_destroy();

	run(2, add_once, clear);
	tap_result(times[0] < 5 && times[1] < 5, "a store does not");
	machine_destroy();
}

/*
 * Rings
 */

static void count_ring(const struct ring *ring, enum load load, unsigned int cpus,
		       unsigned int interrupt, struct world_result *result)
{
	struct world_options options = {
		.ring = ring, .load = load, .cpus = cpus, .size = 64, .bytes = 16 << 10,
		.seed = 3, .transfer = 100, .hold = 20, .interrupt = interrupt, .limit = 150000,
	};

	world_run(&options, result);
	if (result->read != result->total && !result->error)
		result->error = "records that nobody can read";
}

/* The numbers of records are limited by accesses: each of them is counted. */
static void check_ring(const struct ring *ring, bool nmi)
{
	static const unsigned int interrupts[] = { 0, 101, 31 };
	struct world_result result;
	const char *error = NULL;
	unsigned long records = 0;

	for (unsigned int cpus = 1; cpus <= 8; cpus *= 2) {
		for (unsigned int i = 0; i < (nmi ? 3 : 1); i++) {
			count_ring(ring, LOAD_ALL, cpus, interrupts[i], &result);
			error = result.error ?: error;
			records += result.read;
		}
	}
	tap_result(!error && records > 1000, "%s: %lu records are read, complete and in order%s%s",
		   ring->name, records, error ? ": " : "", error ?: "");
}

static void ring_tests(void)
{
	struct world_result result, again;

	check_ring(&shared_ring, true);
	check_ring(&lease_ring, true);
	check_ring(&lease_add_ring, true);
	check_ring(&word_ring, true);
	check_ring(&stretch_ring, true);
	check_ring(&percpu_ring, true);
	check_ring(&private_ring, true);
	check_ring(&owner_ring, false);

	count_ring(&broken_ring, LOAD_ALL, 4, 0, &result);
	tap_result(result.error, "%s: found: %s", broken_ring.name, result.error ?: "nothing");

	count_ring(&shared_ring, LOAD_ALL, 4, 31, &result);
	count_ring(&shared_ring, LOAD_ALL, 4, 31, &again);
	tap_result(!memcmp(&result, &again, sizeof(result)), "the same seed, the same counts");
}

static double locked(const struct ring *ring, unsigned int cpus)
{
	struct world_result result;

	count_ring(ring, LOAD_ONE, cpus, 0, &result);
	return (double)result.writers.locked / result.written;
}

static void count_tests(void)
{
	tap_result(!locked(&private_ring, 4) && !locked(&percpu_ring, 4),
		   "one writer, buffers of its own: nothing is locked");
	tap_result(locked(&owner_ring, 4) == 1, "one writer, a lock: one locked operation");
	tap_result(locked(&shared_ring, 4) >= 3 && locked(&shared_ring, 4) < 3.5,
		   "one writer, one buffer: three, and more for each block");
	tap_result(locked(&lease_add_ring, 4) < 0.5, "one writer, leases: %.2f",
		   locked(&lease_add_ring, 4));
}

/* CPU 0 stops while it stores a record, and the others go on for some laps. */
static unsigned long lost_while_held(const struct ring *ring)
{
	struct world_options options = {
		.ring = ring, .load = LOAD_ALL, .cpus = 4, .size = 64, .bytes = 16 << 10,
		.seed = 3, .transfer = 100, .hold = 20, .held = 100000000, .limit = 4000000,
	};
	struct world_result result;

	world_run(&options, &result);
	return result.lost;
}

static void held_tests(void)
{
	unsigned long lost = lost_while_held(&shared_overwrite_ring);

	tap_result(lost > 1000, "overwrite mode, a CPU is held up: one buffer loses %lu records", lost);
	lost = lost_while_held(&stretch_overwrite_ring);
	tap_result(lost < 100, "stretches lose %lu", lost);
}

int main(void)
{
	printf("TAP version 13\n");
	mesi_tests();
	machine_tests();
	time_tests();
	ring_tests();
	count_tests();
	held_tests();
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
