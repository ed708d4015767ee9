// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function for each byte that it reads from a FIFO. When the function has
 * returned, it answers with a byte on another FIFO. Exits at the end of the first FIFO,
 * or when it reads 'q'.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long calls;

__attribute__((noinline)) void on_demand(void)
{
	for (int i = 0; i < 100; i++)
		calls += i & 1;
}

int main(int argc, char **argv)
{
	int in = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	int out = argc == 3 ? open(argv[2], O_WRONLY) : -1;
	char c;

	if (in < 0 || out < 0) {
		fprintf(stderr, "usage: %s FIFO FIFO\n", argv[0]);
		return EXIT_FAILURE;
	}

	while (read(in, &c, 1) == 1 && c != 'q') {
		on_demand();
		if (write(out, &c, 1) != 1)
			return EXIT_FAILURE;
	}

	return EXIT_SUCCESS;
}
