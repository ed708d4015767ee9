/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Four functions that burn CPU time, named after WHO, and one that spreads the time over
 * them. Two programs compiled with different WHO have them at the same addresses: if one
 * is taken for the other, the result is a wrong name, not a missing one.
 */
#define PASTE_(a, b)	a##_##b
#define PASTE(a, b)	PASTE_(a, b)
#define STRING_(a)	#a
#define STRING(a)	STRING_(a)
#define MINE(name)	PASTE(WHO, name)

static volatile unsigned long MINE(sum);

#define BURN(name, step)						\
__attribute__((noinline)) void MINE(name)(void)				\
{									\
	unsigned long x = MINE(sum) | 1;				\
									\
	for (int i = 0; i < 8000; i++)					\
		x = (step);						\
	MINE(sum) = x;							\
}

BURN(hash, (x ^ i) * 0x9e3779b97f4a7c15)
BURN(mix, x + (x << 7) + (x >> 9))
BURN(fold, (x >> 1) ^ (x & 1 ? 0xedb88320U : i + 0U))
BURN(turn, (x << 13 | x >> 51) + i)

/* Works until that much time has passed. */
__attribute__((noinline)) void MINE(work)(unsigned int us);
void MINE(work)(unsigned int us)
{
	uint64_t end = now() + us * 1000ULL;

	do {
		MINE(hash)();
		MINE(mix)();
		MINE(fold)();
		MINE(turn)();
	} while (now() < end);
}
