// SPDX-License-Identifier: GPL-2.0
/*
 * Code as of a JIT compiler, with page faults as samples: FUNCTIONS functions, each at an
 * address of its own and with a name in /tmp/perf-PID.map. Each call touches a new page. A
 * function is called when it is made, and again when there are eight times as many: by then
 * its mapping is in the state that perf keeps, and no longer in the ring.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096
#define PAUSE	500	/* us */

/* mov %al, (%rdi); ret */
static const unsigned char code[] = { 0x88, 0x07, 0xc3 };

static void *map(uintptr_t at, size_t size)
{
	void *addr = mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (addr == MAP_FAILED) {
		perror("mmap");
		exit(EXIT_FAILURE);
	}
	return addr;
}

static void (*compile(unsigned int number, FILE *names))(char *)
{
	void *addr = map(0x100000000000ULL + (uintptr_t)number * 2 * PAGE, PAGE);

	memcpy(addr, code, sizeof(code));
	if (mprotect(addr, PAGE, PROT_READ | PROT_EXEC)) {
		perror("mprotect");
		exit(EXIT_FAILURE);
	}
	fprintf(names, "%lx %zx jit_%lx\n", (unsigned long)addr, sizeof(code),
		(unsigned long)addr);
	return (void (*)(char *))addr;
}

int main(int argc, char **argv)
{
	unsigned int number = argc > 1 ? atoi(argv[1]) : 1000, i;
	void (**functions)(char *) = calloc(number, sizeof(*functions));
	char path[64];
	FILE *names;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	names = fopen(path, "w");
	if (!names || !functions) {
		perror(path);
		return EXIT_FAILURE;
	}
	for (i = 0; i < number; i++) {
		char *data = map(0, 4 * PAGE);

		functions[i] = compile(i, names);
		functions[i](data);
		functions[i](data + PAGE);
		functions[i / 8](data + 2 * PAGE);
		functions[i / 8](data + 3 * PAGE);
		munmap(data, 4 * PAGE);
		usleep(PAUSE);
	}
	return fclose(names) != 0;
}
