// SPDX-License-Identifier: GPL-2.0
/*
 * The encoder of the model of Intel PT (arch/x86/events/intel/trace_model), in user
 * space. Expected: libipt finds in its packets each instruction of random walks
 * through a random program, in order, and reports no error.
 *
 * Usage: pt_packets_test [WALKS [SEED]]
 */
#include <intel-pt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../arch/x86/events/intel/trace_model/trace_model.h"
#include "../tap.h"

#define SLOT		16	/* bytes, of an instruction and what pads it */
#define SLOTS		512
#define STEPS		20000
#define TRACE_SIZE	(STEPS * 64)
#define PATH_SIZE	(STEPS * 4)

int tap_count, tap_failed;

/* The program: pieces that need IP packets of each length between them. */
static const uint64_t bases[] = {
	0x401000, 0x7fff0000, 0x7ffff7a00000, 0xffffffff81000000,
};

#define PIECES		(sizeof(bases) / sizeof(*bases))
#define KERNEL		(PIECES - 1)

enum kind { PLAIN, COND, JUMP, CALL, RET, JUMP_REG, CALL_REG, SYSCALL, KINDS };

static struct {
	enum kind kind;
	unsigned int target;	/* slot of a direct branch */
} program[PIECES][SLOTS];

static uint8_t code[PIECES][SLOTS * SLOT];

static const struct {
	unsigned int length;
	uint8_t bytes[3];
	bool direct;
} forms[KINDS] = {
	[PLAIN]		= { 1, { 0x90 } },
	[COND]		= { 6, { 0x0f, 0x84 }, true },
	[JUMP]		= { 5, { 0xe9 }, true },
	[CALL]		= { 5, { 0xe8 }, true },
	[RET]		= { 1, { 0xc3 } },
	[JUMP_REG]	= { 2, { 0xff, 0xe0 } },
	[CALL_REG]	= { 2, { 0xff, 0xd0 } },
	[SYSCALL]	= { 2, { 0x0f, 0x05 } },
};

/* The walk, and what must be found. */
static struct tm_cpu cpu;
static uint8_t trace[TRACE_SIZE];
static size_t trace_used;
static uint64_t path[PATH_SIZE];
static size_t path_used;
static bool lost[PATH_SIZE + 1];	/* the path up to here may not be found */
static bool in_call;
static unsigned int starts;	/* TIP.PGE */
static uint64_t ip, now, cr3;

/* What the encoder asks for. */

struct tm_config tm_config;

uint64_t tm_pt_now(void)
{
	return now;
}

uint64_t tm_pt_cr3(void)
{
	return cr3;
}

unsigned int tm_core_ratio(void)
{
	return 20;
}

void tm_pt_left(struct tm_cpu *model)
{
	tm_pt_disable_at(model, ip);
}

/* Up to an OVF the path may be lost; in a call, the site is found if its TIP.PGE is. */
static void note_packet(const uint8_t *bytes, unsigned int n)
{
	if ((bytes[0] & 0x1f) == 0x11 && n > 1)
		starts++;
	if (n == 2 && bytes[0] == 0x02 && bytes[1] == 0xf3)
		lost[path_used + (in_call && starts > 0)] = true;
}

void tm_out(struct tm_cpu *model, const void *bytes, unsigned int n)
{
	(void)model;
	if (trace_used + n > TRACE_SIZE)
		abort();
	memcpy(trace + trace_used, bytes, n);
	trace_used += n;
	note_packet(bytes, n);
}

/* Program */

static unsigned int below(unsigned int limit)
{
	return random() % limit;
}

static unsigned int piece_of(uint64_t address)
{
	unsigned int piece;

	for (piece = 0; piece < PIECES; piece++) {
		if (address - bases[piece] < sizeof(code[0]))
			return piece;
	}
	return PIECES;
}

static uint64_t address_of(unsigned int piece, unsigned int slot)
{
	return bases[piece] + slot * SLOT;
}

static uint64_t anywhere(void)
{
	return address_of(below(KERNEL), below(SLOTS));
}

static enum kind any_kind(unsigned int slot)
{
	if (slot == SLOTS - 1)
		return JUMP_REG;
	return below(3) ? below(KINDS) : COND;
}

/*
 * Only a conditional branch may go backwards: packets don't tell how often a loop
 * without any was run until an interrupt.
 */
static unsigned int any_target(enum kind kind, unsigned int slot)
{
	if (kind == COND)
		return below(SLOTS);
	return slot < SLOTS - 1 ? slot + 1 + below(SLOTS - slot - 1) : 0;
}

static void make_slot(unsigned int piece, unsigned int slot)
{
	enum kind kind = piece == KERNEL ? CALL + slot % 2 * (CALL_REG - CALL) :
					   any_kind(slot);
	uint8_t *bytes = &code[piece][slot * SLOT];
	unsigned int target = any_target(kind, slot), length = forms[kind].length;
	int32_t distance = (int)(target - slot) * SLOT - (int)length;

	program[piece][slot].kind = kind;
	program[piece][slot].target = target;
	memset(bytes, 0x90, SLOT);
	memcpy(bytes, forms[kind].bytes, sizeof(forms[kind].bytes));
	if (forms[kind].direct)
		memcpy(bytes + length - 4, &distance, 4);
	else
		memset(bytes + length, 0x90, SLOT - length);
}

static void make_program(void)
{
	unsigned int piece, slot;

	for (piece = 0; piece < PIECES; piece++) {
		for (slot = 0; slot < SLOTS; slot++)
			make_slot(piece, slot);
	}
}

/* Walk */

static uint64_t calls[1000];
static unsigned int nr_calls;

static void expect(uint64_t address)
{
	if (path_used == PATH_SIZE)
		abort();
	path[path_used++] = address;
}

static uint64_t return_target(void)
{
	/* Now and then one that no call left. */
	if (!nr_calls || !below(16))
		return anywhere();
	return calls[--nr_calls];
}

static void call(uint64_t ret)
{
	if (nr_calls < sizeof(calls) / sizeof(*calls))
		calls[nr_calls++] = ret;
	tm_pt_call(&cpu, ret);
}

/* Sometimes the branch leads out of what is traced. */
static bool filtered_out(uint64_t to)
{
	if (below(40))
		return false;
	tm_pt_disable_to(&cpu, to);
	return true;
}

static void come_back(void)
{
	ip = below(2) ? ip : anywhere();
	if (!below(4)) {
		cr3 = (uint64_t)below(1 << 20) << 12;
		if ((cpu.ctl & RTIT_CTL_OS) && below(2))
			tm_pt_mov_cr3(&cpu);
	}
	if (!below(100))
		tm_pt_frequency(&cpu);
	now += below(1000);
	tm_pt_enable(&cpu, ip, TM_MODE_64);
}

static void conditional(uint64_t next, uint64_t target)
{
	bool taken = below(2);

	ip = taken ? target : next;
	if (!below(50))
		tm_pt_overflow(&cpu, ip);
	else
		tm_pt_cond(&cpu, taken, ip);
}

static void direct(uint64_t target)
{
	ip = target;
	if (filtered_out(target))
		come_back();
	else
		tm_pt_direct(&cpu, target);
}

static void indirect(uint64_t target)
{
	ip = target;
	if (filtered_out(target))
		come_back();
	else
		tm_pt_indirect(&cpu, target);
}

static void far_transfer(uint64_t next)
{
	ip = next;
	tm_pt_disable(&cpu);
	come_back();
}

static void execute(void)
{
	unsigned int piece = piece_of(ip), slot = (ip - bases[piece]) / SLOT;
	uint64_t target = address_of(piece, program[piece][slot].target);
	bool padding = (ip - bases[piece]) % SLOT;
	enum kind kind = padding ? PLAIN : program[piece][slot].kind;
	uint64_t next = ip + forms[kind].length;

	expect(ip);
	switch (kind) {
	case COND:
		conditional(next, target);
		break;
	case CALL:
		call(next);
		direct(target);
		break;
	case JUMP:
		direct(target);
		break;
	case CALL_REG:
		call(next);
		indirect(anywhere());
		break;
	case JUMP_REG:
		indirect(anywhere());
		break;
	case RET:
		ip = return_target();
		tm_pt_ret(&cpu, ip);
		break;
	case SYSCALL:
		far_transfer(next);
		break;
	default:
		ip = next;
	}
}

/* A function of the kernel: its call, or its entry alone. */
static void kernel_call(void)
{
	unsigned int slot = below(SLOTS), target = program[KERNEL][slot].target;
	uint64_t site = address_of(KERNEL, slot);
	uint64_t callee = address_of(KERNEL, target);
	enum kind kind = program[KERNEL][slot].kind;

	if (!below(4)) {
		tm_pt_seen(&cpu, callee);
		return;
	}
	in_call = true;
	starts = 0;
	tm_pt_call_seen(&cpu, site, callee, kind == CALL_REG, site + forms[kind].length);
	in_call = false;
	expect(site);
}

static void interrupt(void)
{
	unsigned int n = below(4);

	tm_pt_disable_at(&cpu, ip);
	while (n--)
		kernel_call();
	come_back();
}

/* TraceEn is set before this code, or by it: then it is traced at once. */
static void start(void)
{
	now += below(100000);
	if (below(2)) {
		tm_pt_start(&cpu);
		come_back();
	} else {
		tm_pt_start_at(&cpu, ip, TM_MODE_64);
	}
}

/* Software may write 0 to PacketByteCnt meanwhile. */
static void restart(void)
{
	tm_pt_stop(&cpu);
	if (!below(4))
		cpu.pt.since_psb = 0;
	start();
}

static void walk(void)
{
	unsigned int step;

	for (step = 0; step < STEPS; step++) {
		now += below(step & 1024 ? 10 : 1000);
		execute();
		if (!below(100))
			interrupt();
		if (!below(2000))
			restart();
	}
}

static uint64_t any_control(void)
{
	uint64_t ctl = RTIT_CTL_TRACEEN | RTIT_CTL_USR | RTIT_CTL_BRANCH_EN;

	ctl |= below(2) ? RTIT_CTL_OS : 0;
	ctl |= below(4) ? RTIT_CTL_TSC_EN : 0;
	ctl |= below(2) ? RTIT_CTL_DISRETC : 0;
	ctl |= (uint64_t)below(3) << RTIT_CTL_PSB_FREQ_OFFSET;
	if (below(2))
		ctl |= RTIT_CTL_MTC_EN |
		       (uint64_t)below(10) << RTIT_CTL_MTC_RANGE_OFFSET;
	if (below(2))
		ctl |= RTIT_CTL_CYCLEACC |
		       (uint64_t)below(8) << RTIT_CTL_CYC_THRESH_OFFSET;
	return ctl;
}

static void make_trace(void)
{
	memset(&cpu, 0, sizeof(cpu));
	trace_used = 0;
	path_used = 0;
	memset(lost, 0, sizeof(lost));
	nr_calls = 0;
	ip = anywhere();
	tm_config.cyc = below(4);
	tm_config.tsx = below(2);
	tm_config.long_tnt = below(2);
	tm_config.whole_ip = !below(4);
	tm_config.overflow = below(2) ? 0 : 100 + below(1000);
	cpu.ctl = any_control();
	cpu.status = RTIT_STATUS_TRIGGEREN;
	start();
	walk();
	tm_pt_stop(&cpu);
}

/* Check */

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid,
		     uint64_t address, void *context)
{
	unsigned int piece = piece_of(address);
	uint64_t offset;

	(void)asid;
	(void)context;
	if (piece == PIECES)
		return -pte_nomap;
	offset = address - bases[piece];
	if (size > sizeof(code[0]) - offset)
		size = sizeof(code[0]) - offset;
	memcpy(buffer, &code[piece][offset], size);
	return size;
}

static struct pt_insn_decoder *start_decoder(void)
{
	struct pt_insn_decoder *decoder;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + trace_used;
	config.mtc_freq = (cpu.ctl & RTIT_CTL_MTC_RANGE) >> RTIT_CTL_MTC_RANGE_OFFSET;
	config.cpuid_0x15_eax = TM_ART_DEN;
	config.cpuid_0x15_ebx = TM_ART_NUM;
	config.nom_freq = tm_core_ratio();
	/* PSB+ before a TIP.PGE may have its FUP, as most processors write it. */
	config.errata.bdm70 = 1;
	decoder = pt_insn_alloc_decoder(&config);
	if (!decoder)
		abort();
	pt_image_set_callback(pt_insn_get_image(decoder), read_code, NULL);
	return decoder;
}

/* All events up to the next instruction, or the end; or an error. */
static int take_events(struct pt_insn_decoder *decoder, int status, size_t *seen)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending)) {
		status = pt_insn_event(decoder, &event, sizeof(event));
		if (status < 0 || event.type != ptev_overflow)
			continue;
		while (*seen < path_used && !lost[*seen])
			++*seen;
		lost[*seen] = false;
	}
	return status;
}

static int complain(struct pt_insn_decoder *decoder, size_t seen, const char *what)
{
	uint64_t offset = 0;

	pt_insn_get_offset(decoder, &offset);
	printf("# %s after %zu of %zu instructions, at %llx of %zx bytes of trace\n",
	       what, seen, path_used, (unsigned long long)offset, trace_used);
	return -1;
}

static int compare(struct pt_insn_decoder *decoder)
{
	struct pt_insn insn;
	size_t seen = 0;
	int status = take_events(decoder, pt_insn_sync_forward(decoder), &seen);

	while (status >= 0 && !(status & pts_eos)) {
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status == -pte_eos || (status < 0 && insn.iclass == ptic_error))
			break;
		if (seen == path_used || path[seen] != insn.ip) {
			printf("# libipt is at %llx, the program at %llx\n",
			       (unsigned long long)insn.ip,
			       (unsigned long long)path[seen]);
			return complain(decoder, seen, "lost");
		}
		seen++;
		status = take_events(decoder, status, &seen);
	}
	if (status < 0 && status != -pte_eos)
		return complain(decoder, seen, pt_errstr(pt_errcode(status)));
	if (seen != path_used)
		return complain(decoder, seen, "ends");
	return 0;
}

static int check(void)
{
	struct pt_insn_decoder *decoder = start_decoder();
	int ret = compare(decoder);

	pt_insn_free_decoder(decoder);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned int walks = argc > 1 ? atoi(argv[1]) : 100;
	unsigned int seed = argc > 2 ? atoi(argv[2]) : 1;
	size_t bytes = 0, instructions = 0;
	unsigned int i, bad = 0;

	printf("TAP version 13\n");
	for (i = 0; i < walks; i++) {
		srandom(seed + i);
		make_program();
		make_trace();
		bytes += trace_used;
		instructions += path_used;
		if (check()) {
			printf("# seed %u, RTIT_CTL %llx\n", seed + i,
			       (unsigned long long)cpu.ctl);
			bad++;
		}
	}
	printf("# %zu instructions, %zu bytes of trace\n", instructions, bytes);
	tap_result(!bad, "libipt follows %u walks of %u steps", walks, STEPS);
	printf("1..%d\n", tap_count);

	return tap_failed ? 1 : 0;
}
