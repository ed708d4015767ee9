// SPDX-License-Identifier: GPL-2.0
/* The calls, their arguments, and programs as text. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "pmus.h"
#include "program.h"

#define BLANK		" \t\n"
#define VALUES(...)	.values = (const uint64_t []){ __VA_ARGS__ },		\
			.nr_values = sizeof((uint64_t []){ __VA_ARGS__ }) / sizeof(uint64_t)
#define BELOW(n)	.kind = KIND_BELOW, VALUES(n)
#define CHOICE(...)	.kind = KIND_CHOICE, VALUES(__VA_ARGS__)
#define MASK(m)		.kind = KIND_MASK, VALUES(m)
#define ARGS(a)		.args = (a), .nr_args = sizeof(a) / sizeof((a)[0])

static const struct arg_spec open_args[] = {
	[OPEN_SLOT]		= { "slot", BELOW(SLOTS) },
	[OPEN_PMU]		= { "pmu", KIND_PMU },
	[OPEN_CONFIG]		= { "config", KIND_NUMBER },
	[OPEN_CONFIG1]		= { "config1", KIND_NUMBER },
	[OPEN_CONFIG2]		= { "config2", KIND_NUMBER },
	[OPEN_PERIOD]		= { "period", CHOICE(0, 1, 1, 2, 7, 100, 1000, 20000, 1000000) },
	[OPEN_SAMPLE_TYPE]	= { "sample_type", MASK(0x1ffffff) },
	[OPEN_READ_FORMAT]	= { "read_format", MASK(0x1f) },
	/* All but the reserved ones; 63 asks for a buffer of all CPUs */
	[OPEN_FLAGS]		= { "flags", MASK(0x8000003fffffffff) },
	[OPEN_WAKEUP]		= { "wakeup", CHOICE(0, 1, 2, 100, 4096) },
	[OPEN_BP_TYPE]		= { "bp_type", BELOW(5) },
	[OPEN_BRANCH]		= { "branch", MASK(0x7ffff) },
	[OPEN_REGS]		= { "regs", MASK(0xff0fff) },
	[OPEN_STACK]		= { "stack", CHOICE(0, 8, 64, 1024, 32768) },
	[OPEN_CLOCKID]		= { "clockid", CHOICE(0, 1, 4, 7, 11) },
	[OPEN_AUX_WATERMARK]	= { "aux_watermark", CHOICE(0, 1, 4096, 8192) },
	[OPEN_AUX_SAMPLE_SIZE]	= { "aux_sample_size", CHOICE(0, 8, 256, 4096) },
	[OPEN_AUX_ACTION]	= { "aux_action", BELOW(8) },
	[OPEN_SIG_DATA]		= { "sig_data", CHOICE(0, 1) },
	[OPEN_PID]		= { "pid", BELOW(NR_PIDS) },
	[OPEN_CPU]		= { "cpu", CHOICE((uint64_t)-1, 0, 1) },
	[OPEN_GROUP]		= { "group", BELOW(NO_SLOT + 1) },
	[OPEN_HOW]		= { "how", MASK(0xb | HOW_AUX_THREADS | HOW_AUX_LEVEL) },
};

static const struct arg_spec ioctl_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "request", BELOW(NR_REQS) },
	{ "value", BELOW(SLOTS + 1) },
};

static const struct arg_spec mmap_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "map", BELOW(SLOTS) },
	{ "pages", CHOICE(0, 1, 2, 4, 8, 16, 3) },
	{ "prot", CHOICE(1, 3, 3) },
};

static const struct arg_spec mmap_aux_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "map", BELOW(SLOTS) },
	{ "control", BELOW(SLOTS) },
	{ "pages", CHOICE(1, 2, 4, 8, 16, 64, 3) },
	{ "prot", CHOICE(1, 3, 3) },
};

static const struct arg_spec munmap_args[] = {
	{ "map", BELOW(SLOTS) },
	{ "part", BELOW(4) },
};

static const struct arg_spec consume_args[] = {
	{ "map", BELOW(SLOTS) },
	{ "how", BELOW(NR_CONSUMES) },
	{ "value", CHOICE(0, 1, 8, 4096, (uint64_t)-1, (uint64_t)-8, 1ull << 63) },
};

static const struct arg_spec read_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "size", CHOICE(0, 8, 16, 64, 4096) },
};

static const struct arg_spec slot_args[] = {
	{ "slot", BELOW(SLOTS) },
};

static const struct arg_spec dup_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "to", BELOW(SLOTS) },
};

static const struct arg_spec signal_args[] = {
	{ "slot", BELOW(SLOTS) },
	{ "real_time", BELOW(2) },
};

static const struct arg_spec task_args[] = {
	{ "calls", BELOW(12) },
};

static const struct arg_spec work_args[] = {
	{ "what", BELOW(NR_WORKS) },
	{ "times", CHOICE(1, 2, 8, 40) },
};

static const struct arg_spec move_args[] = {
	{ "cpus", CHOICE(1, 2, 3) },
};

static const struct arg_spec prctl_args[] = {
	{ "on", BELOW(2) },
};

static const struct arg_spec nmi_at_args[] = {
	{ "points", BELOW(3) },
	{ "every", CHOICE(1, 3, 100) },
};

const struct op_spec op_specs[NR_OPS] = {
	[OP_OPEN]	= { "open", 24, ARGS(open_args) },
	[OP_IOCTL]	= { "ioctl", 24, ARGS(ioctl_args) },
	[OP_MMAP]	= { "mmap", 10, ARGS(mmap_args) },
	[OP_MMAP_AUX]	= { "mmap_aux", 6, ARGS(mmap_aux_args) },
	[OP_MUNMAP]	= { "munmap", 6, ARGS(munmap_args) },
	[OP_CONSUME]	= { "consume", 4, ARGS(consume_args) },
	[OP_READ]	= { "read", 4, ARGS(read_args) },
	[OP_POLL]	= { "poll", 2, ARGS(slot_args) },
	[OP_CLOSE]	= { "close", 6, ARGS(slot_args) },
	[OP_DUP]	= { "dup", 1, ARGS(dup_args) },
	[OP_SIGNAL]	= { "signal", 1, ARGS(signal_args) },
	[OP_FORK]	= { "fork", 4, ARGS(task_args) },
	[OP_THREAD]	= { "thread", 4, ARGS(task_args) },
	[OP_EXEC]	= { "exec", 1 },
	[OP_WAIT]	= { "wait", 1 },
	[OP_WORK]	= { "work", 16, ARGS(work_args) },
	[OP_MOVE]	= { "move", 2, ARGS(move_args) },
	[OP_PRCTL]	= { "prctl", 2, ARGS(prctl_args) },
	[OP_NMI_AT]	= { "nmi_at", 1, ARGS(nmi_at_args) },
};

const char * const variant_names[NR_VARIANTS] = {
	[REQ_ENABLE]		= "enable",
	[REQ_DISABLE]		= "disable",
	[REQ_REFRESH]		= "refresh",
	[REQ_RESET]		= "reset",
	[REQ_PERIOD]		= "period",
	[REQ_SET_OUTPUT]	= "set_output",
	[REQ_SET_FILTER]	= "set_filter",
	[REQ_ID]		= "id",
	[REQ_SET_BPF]		= "set_bpf",
	[REQ_PAUSE_OUTPUT]	= "pause_output",
	[REQ_QUERY_BPF]		= "query_bpf",
	[REQ_MODIFY_ATTRIBUTES]	= "modify_attributes",
	[REQ_PAUSE_AUX]		= "pause_aux",
	[REQ_KEEP_AUX]		= "keep_aux",
	[REQ_AUX_WINDOWS]	= "aux_windows",
	[OPEN_WITH_LEVEL]	= "aux_level",
	[OPEN_WITH_THREADS]	= "aux_threads",
};

unsigned int variant_of(const struct call *call)
{
	if (call->op == OP_IOCTL)
		return call->arg[1];
	if (call->op == OP_OPEN && call->arg[OPEN_HOW] & HOW_AUX_LEVEL)
		return OPEN_WITH_LEVEL;
	if (call->op == OP_OPEN && call->arg[OPEN_HOW] & HOW_AUX_THREADS)
		return OPEN_WITH_THREADS;

	return NR_VARIANTS;
}

static void append(char *text, size_t size, size_t *length, const char *format, ...)
{
	va_list arguments;

	if (*length >= size)
		return;
	va_start(arguments, format);
	*length += vsnprintf(text + *length, size - *length, format, arguments);
	va_end(arguments);
}

size_t program_print(const struct program *program, char *text, size_t size)
{
	size_t length = 0;
	unsigned int i, j;

	append(text, size, &length, "program %lu uid %u\n", program->number, program->uid);
	for (i = 0; i < program->nr; i++) {
		const struct call *call = &program->call[i];
		const struct op_spec *spec = &op_specs[call->op];

		append(text, size, &length, "%s", spec->name);
		for (j = 0; j < spec->nr_args; j++) {
			if (spec->args[j].kind == KIND_PMU)
				append(text, size, &length, " %s=%s", spec->args[j].name,
				       pmus[call->arg[j]].name);
			else if (call->arg[j])
				append(text, size, &length, " %s=%#llx", spec->args[j].name,
				       (unsigned long long)call->arg[j]);
		}
		append(text, size, &length, "\n");
	}
	append(text, size, &length, "end\n");

	return length < size ? length : 0;
}

static int read_arg(struct call *call, char *word)
{
	const struct op_spec *spec = &op_specs[call->op];
	char *value = strchr(word, '=');
	char *rest = "";
	unsigned int i;
	int pmu;

	if (!value)
		return -1;
	*value++ = '\0';
	for (i = 0; i < spec->nr_args && strcmp(spec->args[i].name, word); i++)
		;
	if (i == spec->nr_args)
		return -1;
	if (spec->args[i].kind == KIND_PMU) {
		pmu = pmus_find(value);
		if (pmu < 0) {
			fprintf(stderr, "no PMU %s here\n", value);
			return -1;
		}
		call->arg[i] = pmu;
	} else {
		call->arg[i] = strtoull(value, &rest, 0);
	}

	return *rest ? -1 : 0;
}

static int read_call(struct program *program, char *line)
{
	struct call *call = &program->call[program->nr];
	char *word = strtok(line, BLANK);
	unsigned int op;

	if (program->nr == MAX_CALLS)
		return -1;
	for (op = 0; op < NR_OPS && strcmp(op_specs[op].name, word); op++)
		;
	if (op == NR_OPS)
		return -1;
	*call = (struct call){ .op = op };
	while ((word = strtok(NULL, BLANK))) {
		if (read_arg(call, word))
			return -1;
	}
	program->nr++;

	return 0;
}

int program_read(FILE *file, struct program *program)
{
	bool begun = false;
	char line[1024];

	while (fgets(line, sizeof(line), file)) {
		if (!strcmp(line, "\n"))
			continue;
		if (!begun) {
			*program = (struct program){};
			if (sscanf(line, "program %lu uid %u", &program->number,
				   &program->uid) != 2)
				return -1;
			begun = true;
		} else if (!strcmp(line, "end\n")) {
			return 1;
		} else if (read_call(program, line)) {
			return -1;
		}
	}

	return begun ? -1 : 0;
}
