/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that a seed repeats (splitmix64). */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_word(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;

	return z ^ (z >> 31);
}

/* A number from 0 to @n - 1. */
static inline uint64_t random_below(struct random *random, uint64_t n)
{
	return random_word(random) % n;
}

/* True once in @n times. */
static inline bool one_in(struct random *random, unsigned int n)
{
	return !random_below(random, n);
}

/* Each bit of @mask once in @n times. */
static inline uint64_t random_bits(struct random *random, uint64_t mask, unsigned int n)
{
	uint64_t bits = 0;
	unsigned int i;

	for (i = 0; i < 64; i++) {
		if (mask >> i & 1 && one_in(random, n))
			bits |= 1ull << i;
	}

	return bits;
}

#endif
