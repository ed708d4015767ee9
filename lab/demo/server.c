// SPDX-License-Identifier: GPL-2.0
/*
 * A server whose requests are short, but for one in a thousand. It says how many took
 * longer than LIMIT ms: at least by the time in request(), at most by the time around it.
 *
 * usage: server LIMIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUESTS	3000
#define MS		1000000ULL

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/* Returns how long it took, in ns. */
__attribute__((noinline)) unsigned long long request(unsigned long long ns)
{
	unsigned long long began = now(), took;

	do
		took = now() - began;
	while (took < ns);

	return took;
}

int main(int argc, char **argv)
{
	unsigned long long limit = argc > 1 ? strtoull(argv[1], NULL, 10) * MS : 0;
	unsigned int at_least = 0, at_most = 0;

	for (unsigned int i = 1; i <= REQUESTS; i++) {
		unsigned long long began = now();
		unsigned long long took = request(i % 1000 ? 20000 : 3 * limit);

		at_least += took > limit;
		at_most += now() - began > limit;
	}
	printf("%d requests, slow: %u to %u\n", REQUESTS, at_least, at_most);

	return EXIT_SUCCESS;
}
