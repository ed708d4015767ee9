// SPDX-License-Identifier: GPL-2.0
/*
 * The load's programs: alpha and beta, which are static and have the same addresses, and
 * gamma, which is linked dynamically and loads libraries.
 *
 * usage: alpha TRUTH ROLE MICROSECONDS
 *
 * The roles are the functions below whose names begin with play_.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "record.h"
#include "work.h"

#define THREADS	3

static char **args;
static unsigned int us;

static const char *beside(const char *name)
{
	static char path[TRUTH_PATH];
	const char *slash = strrchr(args[0], '/');

	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - args[0]), args[0], name);
	return path;
}

/* ---- the beginning of an image */

#ifdef STATIC

/* The time of the first instruction; until then, the old program runs. */
static struct timespec first_time;

__attribute__((naked)) void first_instruction(void);
void first_instruction(void)
{
	asm("push %%rdx\n\t"
	    "mov %0, %%eax\n\t"
	    "mov %1, %%edi\n\t"
	    "lea %2, %%rsi\n\t"
	    "syscall\n\t"
	    "pop %%rdx\n\t"
	    "jmp _start"
	    : : "i" (SYS_clock_gettime), "i" (CLOCK_MONOTONIC), "m" (first_time));
}

static void record_image(void)
{
	uint64_t first = first_time.tv_sec * 1000000000ULL + first_time.tv_nsec;

	truth_write(TRUTH_IMAGE, (struct truth_entry){
		.before = first,
		.object = truth_object(args[0]),
	});
	truth_write(TRUTH_IMAGE, (struct truth_entry){
		.before = first,
		.object = truth_object("[vdso]"),
		.base = getauxval(AT_SYSINFO_EHDR),
	});
}

#else

static int record_object(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t *first = data;
	const char *path = info->dlpi_name;
	char resolved[PATH_MAX];

	(void)size;
	if (!*path)
		path = *first ? NULL : args[0];
	if (!path || strstr(path, "vdso"))
		path = "[vdso]";
	else if (realpath(path, resolved))
		path = resolved;
	truth_write(TRUTH_IMAGE, (struct truth_entry){
		.before = now(),
		.object = truth_object(path),
		.base = path[0] == '[' ? getauxval(AT_SYSINFO_EHDR) : info->dlpi_addr,
	});
	*first = 1;
	return 0;
}

static void record_image(void)
{
	uint64_t first = 0;

	dl_iterate_phdr(record_object, &first);
}

#endif

/* ---- roles */

static void play_work(void)
{
	MINE(work)(us);
}

/* Has its file's name first, then others. */
static void play_comm(void)
{
	char name[16];
	int i;

	for (i = 0; i < 3; i++) {
		MINE(work)(us / 4);
		snprintf(name, sizeof(name), STRING(WHO) "-%d", i);
		set_comm(name);
	}
	MINE(work)(us / 4);
}

/* Children that never exec; the parent exits first, and the child before the grandchild. */
static void play_fork(void)
{
	MINE(work)(us / 4);
	if (recorded_fork())
		return;
	set_comm(STRING(WHO) "-child");
	MINE(work)(us / 2);
	if (recorded_fork())
		return;
	MINE(work)(us);
}

static void *thread(void *arg)
{
	struct truth_entry *entry = arg;
	char name[16];

	truth_write(TRUTH_THREAD, *entry);
	MINE(work)(us / THREADS);
	snprintf(name, sizeof(name), STRING(WHO) "-t%d", (int)entry->base);
	set_comm(name);
	MINE(work)(us / THREADS);
	return NULL;
}

/* The first thread ends before the others. */
static void play_thread(void)
{
	struct truth_entry entry[THREADS] = { 0 };
	pthread_t id[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		entry[i].before = now();
		entry[i].parent = syscall(SYS_gettid);
		entry[i].base = i;
		if (pthread_create(&id[i], NULL, thread, &entry[i]))
			die("pthread_create");
	}
	MINE(work)(us / THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
}

/* Execs the other program, as often as there are arguments left. */
static void play_exec(void)
{
	const char *other = strcmp(STRING(WHO), "alpha") ? "alpha" : "beta";
	unsigned int left = atoi(args[4]);
	char digits[12];

	MINE(work)(us / 4);
	if (!left)
		return;
	args[0] = (char *)beside(other);
	snprintf(digits, sizeof(digits), "%u", left - 1);
	args[4] = digits;
	recorded_exec(args);
}

/* Lives for seconds, with some work now and then. */
static void play_stay(void)
{
	struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	uint64_t end = now() + us * 1000ULL;

	while (now() < end) {
		MINE(work)(1000);
		nanosleep(&pause, NULL);
	}
}

#ifdef STATIC

static void play_library(void) { die("library"); }

#else

static void use_library(const char *name)
{
	struct truth_entry entry = { .before = now() };
	void *handle = dlopen(beside(name), RTLD_NOW | RTLD_LOCAL);
	void (*work)(unsigned int);
	struct link_map *map;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
		die(dlerror());
	work = dlsym(handle, "entry");
	entry.base = map->l_addr;
	entry.object = truth_object(beside(name));
	truth_write(TRUTH_MAP, entry);
	work(us / 4);
	entry.before = now();
	entry.after = 0;
	dlclose(handle);
	truth_write(TRUTH_UNMAP, entry);
}

static void play_library(void)
{
	use_library("libone.so");
	use_library("libtwo.so");
	if (!recorded_fork())
		use_library("libone.so");
	use_library("libtwo.so");
}

#endif

static const struct {
	const char *name;
	void (*play)(void);
} roles[] = {
	{ "work", play_work },
	{ "comm", play_comm },
	{ "fork", play_fork },
	{ "thread", play_thread },
	{ "exec", play_exec },
	{ "stay", play_stay },
	{ "library", play_library },
};

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 4) {
		fprintf(stderr, "usage: %s TRUTH ROLE MICROSECONDS\n", argv[0]);
		return EXIT_FAILURE;
	}
	args = argv;
	us = atoi(argv[3]);
	truth_open(argv[1]);
	record_image();

	for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(argv[2], roles[i].name)) {
			roles[i].play();
			/* Skip the libraries' destructors, which belong to no role. */
			_exit(EXIT_SUCCESS);
		}
	}
	die(argv[2]);
}
