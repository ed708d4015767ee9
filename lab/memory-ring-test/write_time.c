// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the milliseconds that write() takes for BYTES bytes into a new file: the least
 * time for a dump of that size.
 *
 * usage: write_time FILE BYTES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	(1 << 20)

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	long long left = argc == 3 ? atoll(argv[2]) : 0;
	char *block = malloc(BLOCK);
	double start;
	int fd;

	if (left <= 0 || !block) {
		fprintf(stderr, "usage: %s FILE BYTES\n", argv[0]);
		return EXIT_FAILURE;
	}
	memset(block, 1, BLOCK);
	start = now_ms();
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	while (left > 0) {
		ssize_t size = write(fd, block, left < BLOCK ? left : BLOCK);

		if (size <= 0) {
			perror(argv[1]);
			return EXIT_FAILURE;
		}
		left -= size;
	}
	printf("%.2f\n", now_ms() - start);
	return EXIT_SUCCESS;
}
