// SPDX-License-Identifier: GPL-2.0
/*
 * The encoder of the model of Intel PT, in user space: which packets it writes in each case
 * that the Software Developer's Manual lists in "Packet Generation under Different Enable
 * Conditions" (numbers as 2d are of that table), "Decoder Synchronization (PSB+)" and
 * "Internal Buffer Overflow".
 *
 * Expected: exactly the packets in the table at the end, in that order. The number behind a
 * packet with an address is that of its bytes, the one behind CBR its ratio.
 */
#include <intel-pt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../arch/x86/events/intel/trace_model/trace_model.h"
#include "../tap.h"

#define HERE	0x401000	/* of user code, and of the kernel's */
#define KERNEL	0xffffffff81001000
#define RATIO	20
#define FILLED	600		/* bytes, until the internal buffer overflows */

int tap_count, tap_failed;

struct tm_config tm_config;

static struct tm_cpu cpu;
static uint8_t trace[8192];
static size_t trace_used;
static uint64_t now, cr3;

/* What the encoder asks for. */

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
	return RATIO;
}

void tm_pt_left(struct tm_cpu *model)
{
	tm_pt_disable_at(model, model->pt.ip);
}

void tm_out(struct tm_cpu *model, const void *bytes, unsigned int n)
{
	(void)model;
	if (trace_used + n > sizeof(trace))
		abort();
	memcpy(trace + trace_used, bytes, n);
	trace_used += n;
}

/* The packets, as text */

static const char *packet_name(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_psb:
		return "psb";
	case ppt_psbend:
		return "psbend";
	case ppt_tsc:
		return "tsc";
	case ppt_tma:
		return "tma";
	case ppt_mtc:
		return "mtc";
	case ppt_cbr:
		return "cbr";
	case ppt_mode:
		return packet->payload.mode.leaf == pt_mol_exec ? "mode.exec" : "mode.tsx";
	case ppt_pip:
		return "pip";
	case ppt_fup:
		return "fup";
	case ppt_tip:
		return "tip";
	case ppt_tip_pge:
		return "tip.pge";
	case ppt_tip_pgd:
		return "tip.pgd";
	case ppt_tnt_8:
		return "tnt";
	case ppt_tnt_64:
		return "tnt64";
	case ppt_ovf:
		return "ovf";
	case ppt_stop:
		return "stop";
	default:
		return "other";
	}
}

static int packet_number(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_cbr:
		return packet->payload.cbr.ratio;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		return packet->size - 1;
	default:
		return -1;
	}
}

static void add(char *text, size_t size, const struct pt_packet *packet)
{
	int number = packet_number(packet);
	size_t used = strlen(text);

	used += snprintf(text + used, size - used, "%s%s", used ? " " : "",
			 packet_name(packet));
	if (number >= 0 && used < size)
		snprintf(text + used, size - used, "%d", number);
}

static void read_packets(char *text, size_t size)
{
	struct pt_packet_decoder *decoder;
	struct pt_packet packet;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + trace_used;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		abort();
	text[0] = 0;
	pt_pkt_sync_set(decoder, 0);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) > 0)
		add(text, size, &packet);
	pt_pkt_free_decoder(decoder);
}

/* What happens */

static void forget(void)
{
	trace_used = 0;
}

static void outside(void)
{
	tm_pt_start(&cpu);
}

static void inside(void)
{
	tm_pt_start_at(&cpu, KERNEL, TM_MODE_64);
}

static void inside_and_stop(void)
{
	inside();
	forget();
	tm_pt_stop(&cpu);
}

static void enter_twice(void)
{
	outside();
	forget();
	tm_pt_enable(&cpu, HERE, TM_MODE_64);
	tm_pt_disable(&cpu);
	now += 200;
	tm_pt_enable(&cpu, HERE, TM_MODE_64);
	tm_pt_disable(&cpu);
}

static void other_mode(void)
{
	outside();
	tm_pt_enable(&cpu, HERE, TM_MODE_64);
	tm_pt_disable(&cpu);
	forget();
	tm_pt_enable(&cpu, HERE, TM_MODE_32);
}

static void period_in_code(void)
{
	inside();
	forget();
	cpu.pt.since_psb = 2047;
	tm_pt_indirect(&cpu, HERE);
}

static void period_outside(void)
{
	inside();
	cpu.pt.since_psb = 2047;
	forget();
	tm_pt_disable_to(&cpu, HERE);
}

static void period_of_starts(void)
{
	cpu.pt.since_psb = 2047;
	outside();
}

/* As many outcomes as a packet has, and some that wait for the next one */
static void conditional(void)
{
	int i, nr = tm_config.long_tnt ? 47 : 6;

	inside();
	forget();
	for (i = 0; i < nr + 5; i++)
		tm_pt_cond(&cpu, true, HERE);
}

static void mov_cr3(void)
{
	outside();
	forget();
	cr3 = 0x5000;
	tm_pt_mov_cr3(&cpu);
}

static void frequency(void)
{
	outside();
	forget();
	tm_pt_frequency(&cpu);
}

/* Fill the internal buffer, up to the overflow. */
static void fill(void)
{
	tm_config.overflow = FILLED;
	inside();
	while (!cpu.pt.overflow)
		tm_pt_indirect(&cpu, cpu.pt.ip ^ 0x10);
	forget();
	tm_pt_cond(&cpu, true, HERE);
}

static void overflow_in_code(void)
{
	fill();
	while (cpu.pt.overflow)
		tm_pt_indirect(&cpu, cpu.pt.ip ^ 0x10);
	tm_pt_indirect(&cpu, cpu.pt.ip ^ 0x10);
}

static void overflow_outside(void)
{
	fill();
	tm_pt_disable_at(&cpu, cpu.pt.ip);
	tm_pt_enable(&cpu, HERE, TM_MODE_32);
}

static void overflow_and_stop(void)
{
	fill();
	tm_pt_stop(&cpu);
}

static void overflow_and_tracestop(void)
{
	fill();
	tm_pt_disable_to(&cpu, HERE);
	tm_pt_tracestop(&cpu);
}

/* TSC, MTC; without them; the kernel, too; without branches */
#define USER	(RTIT_CTL_USR | RTIT_CTL_BRANCH_EN | RTIT_CTL_TSC_EN | RTIT_CTL_MTC_EN)
#define SILENT	(RTIT_CTL_USR | RTIT_CTL_BRANCH_EN)
#define BOTH	(USER | RTIT_CTL_OS)
#define NO_CODE	(RTIT_CTL_USR | RTIT_CTL_OS | RTIT_CTL_TSC_EN)

#define ANY	0		/* PacketByteCnt */

static const struct {
	const char	*name;
	void		(*happens)(void);
	uint64_t	ctl;
	uint32_t	count;	/* PacketByteCnt */
	bool		fixed, tsx, whole_ip, long_tnt;
	const char	*packets;
} cases[] = {
	{ "2b: TraceEn, PacketByteCnt 0, in other code", outside, USER, 0, .packets =
	  "psb tsc tma cbr20 psbend" },
	{ "2b: without time", outside, SILENT, 0, .packets = "psb cbr20 psbend" },
	{ "2a: TraceEn, PacketByteCnt >0, in other code", outside, USER, 99, .packets =
	  "tsc tma cbr20" },
	{ "2a: without time", outside, SILENT, 99, .packets = "cbr20" },
	{ "2e: TraceEn, PacketByteCnt 0, in traced code", inside, BOTH, 0, .packets =
	  "psb tsc tma mode.exec fup6 pip cbr20 psbend tip.pge6" },
	{ "2d: TraceEn, PacketByteCnt >0, in traced code", inside, BOTH, 99, .packets =
	  "tsc tma cbr20 mode.exec tip.pge6" },
	{ "TraceEn, without PacketByteCnt", inside, BOTH, 99, .fixed = true, .packets =
	  "psb tsc tma mode.exec fup6 pip cbr20 psbend tip.pge6" },
	{ "TraceEn, with MODE.TSX", inside, BOTH, 0, .tsx = true, .packets =
	  "psb tsc tma mode.tsx mode.exec fup6 pip cbr20 psbend tip.pge6" },
	{ "MODE.TSX needs ContextEn", outside, USER, 0, .tsx = true, .packets =
	  "psb tsc tma cbr20 psbend" },
	{ "TraceEn, BranchEn 0", inside, NO_CODE, 0, .tsx = true, .packets =
	  "psb tsc pip cbr20 psbend" },
	{ "3b: TraceEn cleared in traced code", inside_and_stop, BOTH, ANY, .packets =
	  "fup2 tip.pgd0" },
	{ "10b: user code begins: MODE.Exec once after PSB, no TSC", enter_twice, USER, 0,
	  .packets = "mode.exec tip.pge4 tip.pgd0 mtc tip.pge2 tip.pgd0" },
	{ "10b: code of another mode", other_mode, USER, 0, .packets =
	  "mode.exec tip.pge2" },
	{ "addresses that aren't compressed", enter_twice, SILENT, 99, .whole_ip = true, .packets =
	  "mode.exec tip.pge8 tip.pgd0 tip.pge8 tip.pgd0" },
	{ "7d: TNT is full", conditional, SILENT, 99, .packets = "tnt" },
	{ "7d: TNT is full, 47 outcomes", conditional, SILENT, 99, .long_tnt = true, .packets =
	  "tnt64" },
	{ "PSB period, PacketEn 1", period_in_code, BOTH, 99, .packets =
	  "tip6 psb tsc tma mode.exec fup4 pip cbr20 psbend" },
	{ "PSB period, PacketEn 0", period_outside, USER, 99, .packets =
	  "tip.pgd6 psb tsc tma cbr20 psbend" },
	{ "PSB period, where each start adds to it", period_of_starts, USER, ANY, .packets =
	  "tsc tma cbr20 psb tsc tma cbr20 psbend" },
	{ "5f: MOV to CR3", mov_cr3, BOTH, 99, .packets = "pip" },
	{ "frequency changes", frequency, USER, 99, .packets = "tsc tma cbr20" },
	{ "overflow: resolves in traced code", overflow_in_code, BOTH, 99, .packets =
	  "ovf fup6 tip2" },
	{ "overflow: resolves where tracing begins", overflow_outside, BOTH, 99, .packets =
	  "ovf pip mode.exec tip.pge6" },
	{ "overflow: TraceEn cleared", overflow_and_stop, BOTH, 99, .packets = "ovf" },
	{ "overflow: TraceStop", overflow_and_tracestop, BOTH, 99, .packets = "ovf stop" },
};

int main(void)
{
	char packets[500];
	unsigned int i;

	printf("TAP version 13\n");
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(&cpu, 0, sizeof(cpu));
		cpu.ctl = cases[i].ctl;
		cpu.status = RTIT_STATUS_TRIGGEREN;
		cpu.pt.since_psb = cases[i].count;
		tm_config = (struct tm_config){
			.cyc = !cases[i].fixed, .tsx = cases[i].tsx, .whole_ip = cases[i].whole_ip,
			.long_tnt = cases[i].long_tnt,
		};
		now = 1000;
		cr3 = 0x1000;
		forget();
		cases[i].happens();
		read_packets(packets, sizeof(packets));
		if (strcmp(packets, cases[i].packets))
			printf("# expected: %s\n# found:    %s\n", cases[i].packets, packets);
		tap_result(!strcmp(packets, cases[i].packets), "%s", cases[i].name);
	}
	printf("1..%d\n", tap_count);

	return tap_failed ? 1 : 0;
}
