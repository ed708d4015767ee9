// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a perf.data file with an Intel PT trace from a list of executed instructions, so
 * that the checkers can be tested without hardware or a model of it.
 *
 * usage: synthesize [-p] LIST INSTRUCTIONS PROGRAM... >FILE
 *
 * LIST is step_list's output, INSTRUCTIONS that of "instructions PROGRAM...".
 *
 * With -p, perf can decode the file, too: it has the records that perf wants, a trace for
 * each process, and a time for each indirect branch, which is the number of instructions
 * before it and more.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <intel-pt.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERF_RECORD_AUXTRACE_INFO	70
#define PERF_RECORD_AUXTRACE	71
#define FIRST_PID		1000
#define FIRST_TIME		1000000
#define EVENT_ID		1
#define PSB_PERIOD		512	/* instructions, at least */
#define MAX_PROCESSES		64

/* Of perf's description of an Intel PT recording: util/intel-pt.h there */
#define AUXTRACE_INTEL_PT	1
#define PMU_TYPE		8
#define CONFIG_PASS_THROUGH	(1ULL << 0)
#define CONFIG_TSC		(1ULL << 10)
#define CONFIG_NO_RET_COMPRESSION	(1ULL << 11)
#define CONFIG_BRANCHES		(1ULL << 13)
#define MAX_TNT			47

#define die(fmt, ...) do {						\
	fprintf(stderr, "synthesize: " fmt "\n", ##__VA_ARGS__);	\
	exit(2);							\
} while (0)

struct instruction {
	uint64_t address, next;
	char kind[8];
};

static struct {
	struct instruction *code;
	size_t nr_code;
	struct pt_encoder *encoder;
	uint8_t trace[16 << 20];
	uint64_t tnt, last_ip, clock;
	unsigned int nr_tnt, since_psb;
	char records[20 << 20];
	size_t size;
	bool for_perf;
	uint64_t ends[MAX_PROCESSES];	/* of the processes' traces */
} the;

/* ---- instructions */

static int compare(const void *a, const void *b)
{
	const struct instruction *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_code(const char *path)
{
	FILE *f = fopen(path, "r");
	struct instruction it;
	char next[20];

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fscanf(f, "%lx %19s %7s", &it.address, next, it.kind) == 3) {
		it.next = strtoull(next, NULL, 16);
		the.code = reallocarray(the.code, the.nr_code + 1, sizeof(it));
		the.code[the.nr_code++] = it;
	}
	fclose(f);
	qsort(the.code, the.nr_code, sizeof(it), compare);
}

static const struct instruction *find(uint64_t address)
{
	struct instruction key = { .address = address };
	const struct instruction *found;

	found = bsearch(&key, the.code, the.nr_code, sizeof(key), compare);
	if (!found)
		die("no instruction at %lx", address);
	return found;
}

/* ---- packets */

static void put(struct pt_packet packet)
{
	int status = pt_enc_next(the.encoder, &packet);

	if (status < 0)
		die("encoder: %s", pt_errstr(pt_errcode(status)));
}

static void put_plain(enum pt_packet_type type)
{
	put((struct pt_packet){ .type = type });
}

static void put_tnt(void)
{
	struct pt_packet packet = { .type = the.nr_tnt > 6 ? ppt_tnt_64 : ppt_tnt_8 };

	if (!the.nr_tnt)
		return;
	packet.payload.tnt.bit_size = the.nr_tnt;
	packet.payload.tnt.payload = the.tnt;
	put(packet);
	the.nr_tnt = 0;
	the.tnt = 0;
}

static void put_branch(bool taken)
{
	the.tnt = the.tnt << 1 | taken;
	if (++the.nr_tnt == MAX_TNT)
		put_tnt();
}

static void put_ip(enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet packet = { .type = type };

	put_tnt();
	if (ip >> 16 == the.last_ip >> 16) {
		packet.payload.ip.ipc = pt_ipc_update_16;
		packet.payload.ip.ip = ip & 0xffff;
	} else {
		packet.payload.ip.ipc = pt_ipc_sext_48;
		packet.payload.ip.ip = ip;
	}
	the.last_ip = ip;
	put(packet);
}

static void put_tsc(void)
{
	struct pt_packet packet = { .type = ppt_tsc };

	packet.payload.tsc.tsc = ++the.clock;
	put(packet);
}

static void put_pgd(void)
{
	struct pt_packet packet = { .type = ppt_tip_pgd };

	put_tnt();
	packet.payload.ip.ipc = pt_ipc_suppressed;
	put(packet);
}

/* While tracing is on: @ip is the next instruction. */
static void put_psb(uint64_t ip)
{
	struct pt_packet mode = { .type = ppt_mode };

	put_tnt();
	put_plain(ppt_psb);
	the.last_ip = 0;
	put_tsc();
	mode.payload.mode.leaf = pt_mol_exec;
	mode.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	put(mode);
	if (ip)
		put_ip(ppt_fup, ip);
	put_plain(ppt_psbend);
	the.since_psb = 0;
}

static void begin(uint64_t ip)
{
	put_tsc();
	put_ip(ppt_tip_pge, ip);
}

/* Before what comes next, but behind the conditional branches before it */
static void put_time(void)
{
	put_tnt();
	put_tsc();
}

/* Writes the packets of @it if the instruction at @next follows. */
static void trace(const struct instruction *it, uint64_t next)
{
	bool falls_through = next == it->next;

	if (!strcmp(it->kind, "cond")) {
		put_branch(!falls_through);
	} else if (!strcmp(it->kind, "far")) {
		/*
		 * As processors start a trace: PSB+ has the address, and TIP.PGE has it
		 * again, in full.
		 */
		put_pgd();
		put_psb(next);
		the.last_ip = 0;
		begin(next);
	} else if (!strcmp(it->kind, "ret") || it->kind[0] == 'i') {
		if (the.for_perf)
			put_time();
		put_ip(ppt_tip, next);
		if (the.since_psb > PSB_PERIOD)
			put_psb(next);
	} else if (!strcmp(it->kind, "plain") && !falls_through) {
		/* A fault or another signal, before the following instruction */
		put_ip(ppt_fup, it->next);
		put_pgd();
		begin(next);
	}
}

/* ---- records */

static void append(const void *bytes, size_t size)
{
	if (size > sizeof(the.records) - the.size)
		die("too many records");
	memcpy(the.records + the.size, bytes, size);
	the.size += size;
}

struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t identifier;
};

static struct sample_id id_of(unsigned int process)
{
	return (struct sample_id) {
		.pid = FIRST_PID + process,
		.tid = FIRST_PID + process,
		.time = the.for_perf,
		.identifier = EVENT_ID,
	};
}

static void append_aux(unsigned int process, uint64_t from, uint64_t to)
{
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
		struct sample_id id;
	} record = {
		.header = { .type = PERF_RECORD_AUX, .size = sizeof(record) },
		.offset = from,
		.size = to - from,
		.id = id_of(process),
	};

	append(&record, sizeof(record));
}

static void append_mapping(const Elf64_Phdr *segment, const char *path)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t address, size, file_offset;
		uint8_t build_id[24];
		uint32_t prot, flags;
		char path[256];
		struct sample_id id;
	} record = {
		.header = {
			.type = PERF_RECORD_MMAP2,
			.misc = PERF_RECORD_MISC_USER,
			.size = sizeof(record),
		},
		.address = segment->p_vaddr,
		.size = segment->p_memsz,
		.file_offset = segment->p_offset,
		.id = id_of(1),
	};

	if (the.for_perf)
		record.pid = record.tid = FIRST_PID + 1;

	if (!realpath(path, record.path))
		die("%s: %s", path, strerror(errno));
	append(&record, sizeof(record));
}

static void append_program(const char *path)
{
	FILE *f = fopen(path, "rb");
	Elf64_Ehdr elf;
	Elf64_Phdr segment;

	if (!f || fread(&elf, sizeof(elf), 1, f) != 1)
		die("%s: %s", path, strerror(errno));
	fseek(f, elf.e_phoff, SEEK_SET);
	for (unsigned int i = 0; i < elf.e_phnum; i++) {
		if (fread(&segment, sizeof(segment), 1, f) != 1)
			die("%s: truncated", path);
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			append_mapping(&segment, path);
	}
	fclose(f);
}

/* A process, which perf has to know of. Others begin as copies of the first. */
static void append_process(unsigned int process, const char *path)
{
	const char *name = strrchr(path, '/');
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[16];
		struct sample_id id;
	} comm = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(comm) },
		.pid = FIRST_PID + process,
		.tid = FIRST_PID + process,
		.id = id_of(process),
	};
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		struct sample_id id;
	} fork = {
		.header = { .type = PERF_RECORD_FORK, .size = sizeof(fork) },
		.pid = FIRST_PID + process,
		.tid = FIRST_PID + process,
		.ppid = FIRST_PID + 1,
		.ptid = FIRST_PID + 1,
		.time = 1,
		.id = id_of(process),
	};

	snprintf(comm.name, sizeof(comm.name), "%s", name ? name + 1 : path);
	if (process > 1)
		append(&fork, sizeof(fork));
	else
		append(&comm, sizeof(comm));
}

/* Times are those of the trace, without any conversion. */
static void append_info(void)
{
	struct {
		struct perf_event_header header;
		uint32_t type, reserved;
		uint64_t pmu_type, time_shift, time_mult, time_zero, user_time_zero, tsc_bit,
			 no_ret_compression_bit, sched_switch, snapshot, per_cpu;
	} record = {
		.header = { .type = PERF_RECORD_AUXTRACE_INFO, .size = sizeof(record) },
		.type = AUXTRACE_INTEL_PT,
		.pmu_type = PMU_TYPE,
		.time_mult = 1,
		.user_time_zero = 1,
		.tsc_bit = CONFIG_TSC,
		.no_ret_compression_bit = CONFIG_NO_RET_COMPRESSION,
	};

	append(&record, sizeof(record));
}

static void append_auxtrace(uint64_t size)
{
	struct {
		struct perf_event_header header;
		uint64_t size, offset, reference;
		uint32_t idx, tid, cpu, reserved;
	} record = {
		.header = { .type = PERF_RECORD_AUXTRACE, .size = sizeof(record) },
		.size = size,
		.tid = -1,
	};

	append(&record, sizeof(record));
}

/* With the trace, of each process that has one */
static void append_traces(unsigned int processes)
{
	for (uint64_t i = 1, from = 0; i <= processes; from = the.ends[i++]) {
		struct {
			struct perf_event_header header;
			uint64_t size, offset, reference;
			uint32_t idx, tid, cpu, reserved;
		} record = {
			.header = { .type = PERF_RECORD_AUXTRACE, .size = sizeof(record) },
			.size = the.ends[i] - from,
			.reference = FIRST_TIME,
			.idx = i,
			.tid = FIRST_PID + i,
			.cpu = -1,
		};

		append(&record, sizeof(record));
		append(the.trace + from, record.size);
	}
}

/* The attribute, and the place of its event's identifiers */
struct attr_entry {
	struct perf_event_attr attr;
	uint64_t ids_offset, ids_size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	uint64_t attrs_offset, attrs_size, data_offset, data_size;
	uint64_t event_types[2], features[4];
};

static void write_file(uint64_t trace_size)
{
	const uint64_t id = EVENT_ID;
	struct attr_entry entry = {
		.attr = {
			.size = sizeof(entry.attr),
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
				       PERF_SAMPLE_IDENTIFIER,
			.sample_id_all = 1,
		},
		.ids_offset = sizeof(struct file_header) + sizeof(entry),
		.ids_size = sizeof(id),
	};
	struct file_header header = {
		.magic = "PERFILE2",
		.size = sizeof(header),
		.attr_size = sizeof(entry),
		.attrs_offset = sizeof(header),
		.attrs_size = sizeof(entry),
		.data_offset = sizeof(header) + sizeof(entry) + sizeof(id),
		.data_size = the.size + trace_size,
	};

	if (the.for_perf) {
		entry.attr.type = PMU_TYPE;
		entry.attr.config = CONFIG_PASS_THROUGH | CONFIG_TSC | CONFIG_BRANCHES;
		entry.attr.exclude_kernel = 1;
	}
	fwrite(&header, sizeof(header), 1, stdout);
	fwrite(&entry, sizeof(entry), 1, stdout);
	fwrite(&id, sizeof(id), 1, stdout);
	fwrite(the.records, the.size, 1, stdout);
	fwrite(the.trace, trace_size, 1, stdout);
	if (fflush(stdout))
		die("%s", strerror(errno));
}

/* ---- the list */

static uint64_t position(void)
{
	uint64_t offset = 0;

	pt_enc_get_offset(the.encoder, &offset);
	return offset;
}

/* Returns where its trace ends, which began at @from. */
static uint64_t end_process(unsigned int process, uint64_t from)
{
	uint64_t end;

	if (the.for_perf)
		put_time();
	put_pgd();
	end = position();
	append_aux(process, from, end);
	if (process >= MAX_PROCESSES)
		die("too many processes");
	the.ends[process] = end;
	return end;
}

/* Returns the number of processes. */
static unsigned int trace_list(const char *path)
{
	const struct instruction *last = NULL;
	unsigned int processes = 0;
	FILE *f = fopen(path, "r");
	uint64_t from = 0;
	char line[64];

	if (!f)
		die("%s: %s", path, strerror(errno));
	put_psb(0);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "process", 7)) {
			const struct instruction *it = find(strtoull(line, NULL, 16));

			if (last)
				trace(last, it->address);
			else
				begin(it->address);
			the.since_psb++;
			the.clock += the.for_perf;
			last = it;
			continue;
		}
		if (processes++) {
			from = end_process(processes - 1, from);
			if (the.for_perf)
				put_psb(0);
		}
		last = NULL;
	}
	end_process(processes, from);
	fclose(f);
	return processes;
}

int main(int argc, char **argv)
{
	struct pt_config config;
	unsigned int processes;

	the.for_perf = argc > 1 && !strcmp(argv[1], "-p");
	the.clock = the.for_perf ? FIRST_TIME : 0;
	argc -= the.for_perf;
	argv += the.for_perf;
	if (argc < 4)
		die("usage: synthesize [-p] LIST INSTRUCTIONS PROGRAM...");

	pt_config_init(&config);
	config.begin = the.trace;
	config.end = the.trace + sizeof(the.trace);
	the.encoder = pt_alloc_encoder(&config);
	if (!the.encoder)
		die("out of memory");
	pt_enc_sync_set(the.encoder, 0);

	if (the.for_perf) {
		append_info();
		append_process(1, argv[3]);
	}
	for (int i = 3; i < argc; i++)
		append_program(argv[i]);
	read_code(argv[2]);
	processes = trace_list(argv[1]);
	for (unsigned int i = 2; the.for_perf && i <= processes; i++)
		append_process(i, argv[3]);
	if (the.for_perf) {
		append_traces(processes);
		write_file(0);
	} else {
		append_auxtrace(position());
		write_file(position());
	}
	return 0;
}
