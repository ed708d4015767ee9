// SPDX-License-Identifier: GPL-2.0
/*
 * Records the branches of a program with events of Intel BTS of two CPUs, which perf record
 * doesn't do, as BTS has no times: the windows follow the program, or with --threads its
 * threads. It begins on CPU 0.
 *
 * usage: bts_cpus [--threads] RESUME[,RESUME...] PAUSE PROGRAM [ARGUMENT]...
 *
 * RESUME and PAUSE are addresses of instructions, in hexadecimal. Prints a line "process N"
 * for each process, in the order of their numbers, and in it a line "cpu N" for each CPU, and
 * the branches "FROM TO" between addresses below 256 MiB. With --threads, all is of one
 * process.
 *
 * Exit status: 0; 1 if the data is damaged or a part of it was lost; 2 if it can't be
 * recorded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* include/uapi/linux/perf_event.h with the series */
#define AUX_THREADS		(1UL << 29)
#define AUX_LEVEL		(1UL << 30)
#define AUX_ACTION		(offsetof(struct perf_event_attr, aux_sample_size) + 4)
#define AUX_START_PAUSED	1
#define AUX_PAUSE		2
#define AUX_RESUME		4

#define CPUS			2
#define PAGE			4096UL
#define DATA_SIZE		(64 * PAGE)
#define AREA_SIZE		(256 * PAGE)
#define MAX_PROCESSES		16

#define die(fmt, ...) do {						\
	fprintf(stderr, "bts_cpus: " fmt "\n", ##__VA_ARGS__);		\
	exit(2);							\
} while (0)

#define damaged(fmt, ...) do {						\
	fprintf(stderr, "FAULT: " fmt "\n", ##__VA_ARGS__);		\
	exit(1);							\
} while (0)

/* Intel SDM, volume 3, "Debug Store (DS) Mechanism" */
struct branch {
	uint64_t from;
	uint64_t to;
	uint64_t flags;
};

struct aux_record {
	struct perf_event_header header;
	uint64_t offset;
	uint64_t size;
	uint64_t flags;
	uint32_t pid, tid;	/* of attr.sample_type */
};

static struct cpu {
	int fd;
	struct perf_event_mmap_page *page;
	const char *data, *area;
} cpus[CPUS];

static uint32_t processes[MAX_PROCESSES];
static unsigned int nr_processes;
static bool of_threads;

/* --- Events --- */

static int open_event(struct perf_event_attr *attr, uint32_t action, pid_t pid, int cpu, int group,
		      unsigned long flags)
{
	int fd;

	memcpy((char *)attr + AUX_ACTION, &action, sizeof(action));
	attr->size = sizeof(*attr);
	attr->exclude_kernel = 1;
	attr->inherit = !of_threads;
	fd = syscall(__NR_perf_event_open, attr, of_threads ? -1 : pid, cpu, group,
		     flags | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	return fd;
}

static int type_of_bts(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/intel_bts/type", "r");
	int type;

	if (!f || fscanf(f, "%d", &type) != 1)
		die("no PMU intel_bts");
	fclose(f);
	return type;
}

static void open_gates(const char *addresses, uint32_t action, pid_t pid, int cpu)
{
	const char *next = addresses;
	char *end;

	do {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_X,
			.bp_addr = strtoul(next, &end, 16),
			.bp_len = sizeof(long),
			.sample_period = 1,
		};

		if (end == next)
			die("no address: %s", addresses);
		open_event(&attr, action, pid, cpu, cpus[cpu].fd, 0);
		next = end + 1;
	} while (*end == ',');
}

static void open_cpu(int cpu, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = type_of_bts(),
		.sample_type = PERF_SAMPLE_TID,
		.sample_id_all = 1,
		.disabled = 1,
		.enable_on_exec = !of_threads,
	};
	struct cpu *to = &cpus[cpu];
	int first = cpu ? cpus[0].fd : -1;

	to->fd = open_event(&attr, AUX_START_PAUSED, pid, cpu, first,
			    of_threads ? AUX_THREADS : cpu ? AUX_LEVEL : 0);
	to->page = mmap(NULL, PAGE + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, to->fd, 0);
	if (to->page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	to->data = (const char *)to->page + PAGE;
	to->page->aux_offset = PAGE + DATA_SIZE;
	to->page->aux_size = AREA_SIZE;
	to->area = mmap(NULL, AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, to->fd,
			to->page->aux_offset);
	if (to->area == MAP_FAILED)
		die("mmap of the AUX area: %s", strerror(errno));
}

/* --- The program --- */

static void run_on_first_cpu(char **argv, const int *ready)
{
	cpu_set_t set;
	char byte;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || read(ready[0], &byte, 1) != 1)
		_exit(2);
	close(ready[0]);
	close(ready[1]);
	execv(argv[0], argv);
	_exit(2);
}

static void record(const char *resumes, const char *pauses, char **argv)
{
	int ready[2], status, cpu;
	pid_t pid;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		run_on_first_cpu(argv, ready);
	for (cpu = 0; cpu < CPUS; cpu++) {
		open_cpu(cpu, pid);
		open_gates(resumes, AUX_RESUME, pid, cpu);
		open_gates(pauses, AUX_PAUSE, pid, cpu);
	}
	for (cpu = 0; cpu < CPUS && of_threads; cpu++)
		ioctl(cpus[cpu].fd, PERF_EVENT_IOC_ENABLE, 0);
	if (write(ready[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		die("%s failed", argv[0]);
	for (cpu = 0; cpu < CPUS; cpu++)
		ioctl(cpus[cpu].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* --- The list --- */

/* Nothing is read before the end, so the buffer begins at 0 and hasn't wrapped. */
static const struct aux_record *next_record(const struct cpu *cpu, uint64_t *at)
{
	while (*at < cpu->page->data_head) {
		const struct aux_record *record = (const void *)(cpu->data + *at);

		*at += record->header.size;
		if (record->header.type == PERF_RECORD_LOST)
			damaged("lost records");
		if (record->header.type != PERF_RECORD_AUX)
			continue;
		if (record->flags & PERF_AUX_FLAG_TRUNCATED)
			damaged("truncated at offset 0x%" PRIx64, record->offset);
		return record;
	}
	return NULL;
}

static uint32_t owner(const struct aux_record *record)
{
	return of_threads ? 1 : record->tid;
}

/* In the order of their numbers */
static void add_process(uint32_t tid)
{
	unsigned int i = nr_processes;

	for (unsigned int j = 0; j < nr_processes; j++)
		if (processes[j] == tid)
			return;
	if (nr_processes++ == MAX_PROCESSES)
		die("more than %d processes", MAX_PROCESSES);
	for (; i && processes[i - 1] > tid; i--)
		processes[i] = processes[i - 1];
	processes[i] = tid;
}

static void list_record(const struct cpu *cpu, const struct aux_record *record)
{
	const struct branch *branch = (const void *)(cpu->area + record->offset);
	const struct branch *end = (const void *)(cpu->area + record->offset + record->size);

	if (record->size % sizeof(*branch))
		damaged("a part of a branch");
	for (; branch < end; branch++)
		if (!(branch->from >> 28) && !(branch->to >> 28))
			printf("%" PRIx64 " %" PRIx64 "\n", branch->from, branch->to);
}

static void list_process(uint32_t process)
{
	const struct aux_record *record;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		printf("cpu %d\n", cpu);
		for (uint64_t at = 0; (record = next_record(&cpus[cpu], &at)); )
			if (owner(record) == process)
				list_record(&cpus[cpu], record);
	}
}

static void list(void)
{
	const struct aux_record *record;

	for (int cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t at = 0; (record = next_record(&cpus[cpu], &at)); )
			add_process(owner(record));
	for (unsigned int i = 0; i < nr_processes; i++) {
		printf("process %u\n", i + 1);
		list_process(processes[i]);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--threads")) {
		of_threads = true;
		argc--;
		argv++;
	}
	if (argc < 4)
		die("usage: bts_cpus [--threads] RESUME[,RESUME...] PAUSE PROGRAM [ARGUMENT]...");

	record(argv[1], argv[2], argv + 3);
	list();
	return 0;
}
