// SPDX-License-Identifier: GPL-2.0
/*
 * A JIT compiler's code, for page faults as samples: FUNCTIONS of them, each at an address
 * of its own and with a name in /tmp/perf-PID.map, each of which touches a new page.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096
#define CALLS	16

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
	/* Two at the same addresses, every now and then: the second hides the first */
	void *addr = map(0x100000000000ULL + (uintptr_t)(number / 3 * 2) * PAGE, PAGE);

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
	unsigned int functions = argc > 1 ? atoi(argv[1]) : 1000, i, call;
	char path[64];
	FILE *names;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	names = fopen(path, "w");
	if (!names) {
		perror(path);
		return EXIT_FAILURE;
	}
	for (i = 0; i < functions; i++) {
		void (*function)(char *) = compile(i, names);
		char *data = map(0, CALLS * PAGE);

		for (call = 0; call < CALLS; call++)
			function(data + call * PAGE);
		munmap(data, CALLS * PAGE);
	}
	return fclose(names) != 0;
}
